"""PySpark over many records: a lake of Parquet tables, ingest, and rules at the size of a cluster.

Names are loaded when they are first used (PEP 562): to import this costs nothing, works without the spark
extra, and loads neither pyspark nor pyarrow. What needs them says so, as NoSpark, where they are missing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lace.pipeline.java import NoJava
from lace.pipeline.lake.faults import (
    BadDataFile,
    BadManifest,
    LakeExists,
    LakeFault,
    LakeFull,
    LakeReadOnly,
    LostData,
    NewerLake,
    NoAtomicCreate,
    NoSuchVersion,
    NotALake,
    Overtaken,
)
from lace.pipeline.spark import (
    CannotStart,
    MasterUnreachable,
    NoSpark,
    OtherSession,
    start_session,
)

if TYPE_CHECKING:
    from lace.pipeline.lake.lake import Lake, create_lake, open_lake
    from lace.pipeline.lake.manifest import Change, DataFile
    from lace.pipeline.lake.snapshot import Snapshot
    from lace.pipeline.progress import SparkWork, watch
    from lace.pipeline.report import ComponentRun, RunReport, StageTime
    from lace.pipeline.store import LakeIsRead, LakeStore
    from lace.pipeline.tables import TABLES, spark_schema

__all__ = [
    "TABLES",
    "BadDataFile", "BadManifest", "CannotStart", "Change", "ComponentRun", "DataFile", "Lake",
    "LakeExists", "LakeFault", "LakeFull", "LakeIsRead", "LakeReadOnly", "LakeStore", "LostData",
    "MasterUnreachable", "NewerLake", "NoAtomicCreate", "NoJava", "NoSpark", "NoSuchVersion", "NotALake",
    "OtherSession", "Overtaken", "RunReport", "Snapshot", "SparkWork", "StageTime",
    "create_lake", "open_lake", "spark_schema", "start_session", "watch",
]  # fmt: skip

_ROOMS = {
    "lace.pipeline.lake.lake": ("Lake", "create_lake", "open_lake"),
    "lace.pipeline.lake.manifest": ("Change", "DataFile"),
    "lace.pipeline.lake.snapshot": ("Snapshot",),
    "lace.pipeline.progress": ("SparkWork", "watch"),
    "lace.pipeline.report": ("ComponentRun", "RunReport", "StageTime"),
    "lace.pipeline.store": ("LakeIsRead", "LakeStore"),
    "lace.pipeline.tables": ("TABLES", "spark_schema"),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}
_GUESTS = ("pyspark", "pyarrow", "pandas")


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(import_module(_ROOM_OF[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _GUESTS:
            raise NoSpark(missing=error.name) from error
        raise
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
