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
    LaceInstead,
    LakeExists,
    LakeFault,
    LakeFull,
    LakeNotUtf8,
    LakeReadOnly,
    LostData,
    LostLakeFile,
    NewerLake,
    NoAtomicCreate,
    NoHdfs,
    NoSuchVersion,
    NotALake,
    Overtaken,
    VersionRemoved,
)
from lace.pipeline.spark import (
    CannotStart,
    MasterUnreachable,
    NoSpark,
    OtherSession,
    SessionStopped,
    check_running,
    running_session,
    ship_code,
    start_session,
)

if TYPE_CHECKING:
    from lace.pipeline.datasource import BadReadOption, OnlyRead, register_format
    from lace.pipeline.exchange.agree import LakeParty, SameLake, check_apart
    from lace.pipeline.exchange.converge import ConvergeProgress, converge
    from lace.pipeline.exchange.decide import LAKE_LIMITS, SMALL_ROWS, Given, Here, PlanSide, Said
    from lace.pipeline.exchange.keep import Kept, keep_summary
    from lace.pipeline.exchange.on_spark import OnSpark
    from lace.pipeline.exchange.outcome import ConvergeReport, ConvergeSide, LoopRun
    from lace.pipeline.exchange.rehearse import RecordFrame, Rehearsing, Shares
    from lace.pipeline.exchange.summary import BadSummary, Partition, Subject, Summary, read_summary
    from lace.pipeline.guests import Frame, Session
    from lace.pipeline.intake.follow import (
        FollowedAlready,
        FollowReport,
        NothingToFollow,
        NotOverConnect,
        follow,
    )
    from lace.pipeline.intake.outcome import IngestProgress, IngestReport
    from lace.pipeline.intake.run import ingest
    from lace.pipeline.intake.sources import CannotIngest, SourceChanged
    from lace.pipeline.lake.erase import Erased, allow, erase
    from lace.pipeline.lake.fsck import Finding, Health, fsck
    from lace.pipeline.lake.lake import Lake, create_lake, open_lake
    from lace.pipeline.lake.manifest import Change, DataFile
    from lace.pipeline.lake.optimize import Optimized, optimize
    from lace.pipeline.lake.snapshot import Snapshot
    from lace.pipeline.lake.vacuum import Vacuumed, vacuum
    from lace.pipeline.peer import (
        MOST_RESIDENT,
        InboxTaken,
        LakePeer,
        NoInbox,
        TooManyResident,
        check_resident,
        count_waiting,
        inbox_folder,
    )
    from lace.pipeline.progress import SparkWork, watch
    from lace.pipeline.report import Chart, ComponentRun, RunReport, StageTime
    from lace.pipeline.rules import (
        LakeFacts,
        RecordFactsAreTheLakes,
        component_runs,
        fact_frames,
        fact_sizes,
        rules_report,
    )
    from lace.pipeline.store import LakeIsRead, LakeStore
    from lace.pipeline.tables import TABLES, spark_schema
    from lace.pipeline.tasks import Cancelled, TasksFailed

__all__ = [
    "LAKE_LIMITS", "MOST_RESIDENT", "SMALL_ROWS", "TABLES",
    "BadDataFile", "BadManifest", "BadReadOption", "BadSummary", "Cancelled", "CannotIngest", "CannotStart",
    "Change", "Chart", "ComponentRun", "ConvergeProgress", "ConvergeReport", "ConvergeSide", "DataFile",
    "Erased", "Finding", "FollowReport", "FollowedAlready", "Frame", "Given", "Health", "Here", "InboxTaken",
    "IngestProgress", "IngestReport", "Kept", "LaceInstead", "Lake", "LakeExists", "LakeFacts", "LakeFault",
    "LakeFull", "LakeIsRead", "LakeNotUtf8", "LakeParty", "LakePeer", "LakeReadOnly", "LakeStore", "LoopRun",
    "LostData", "LostLakeFile", "MasterUnreachable", "NewerLake", "NoAtomicCreate", "NoHdfs", "NoInbox",
    "NoJava", "NoSpark", "NoSuchVersion", "NotALake", "NotOverConnect", "NothingToFollow", "OnSpark",
    "OnlyRead", "Optimized", "OtherSession", "Overtaken", "Partition", "PlanSide", "RecordFactsAreTheLakes",
    "RecordFrame", "Rehearsing", "RunReport", "Said", "SameLake", "Session", "SessionStopped", "Shares",
    "Snapshot", "SourceChanged", "SparkWork", "StageTime", "Subject", "Summary", "TasksFailed",
    "TooManyResident", "Vacuumed", "VersionRemoved",
    "allow", "check_apart", "check_resident", "check_running", "component_runs", "converge", "count_waiting",
    "create_lake", "erase", "fact_frames", "fact_sizes", "follow", "fsck", "inbox_folder", "ingest",
    "keep_summary", "open_lake", "optimize", "read_summary", "register_format", "rules_report",
    "running_session", "ship_code", "spark_schema", "start_session", "vacuum", "watch",
]  # fmt: skip

_ROOMS = {
    "lace.pipeline.exchange.agree": ("LakeParty", "SameLake", "check_apart"),
    "lace.pipeline.exchange.converge": ("ConvergeProgress", "converge"),
    "lace.pipeline.exchange.decide": ("LAKE_LIMITS", "SMALL_ROWS", "Given", "Here", "PlanSide", "Said"),
    "lace.pipeline.exchange.keep": ("Kept", "keep_summary"),
    "lace.pipeline.exchange.on_spark": ("OnSpark",),
    "lace.pipeline.exchange.rehearse": ("RecordFrame", "Rehearsing", "Shares"),
    "lace.pipeline.exchange.outcome": ("ConvergeReport", "ConvergeSide", "LoopRun"),
    "lace.pipeline.exchange.summary": (
        "BadSummary",
        "Partition",
        "Subject",
        "Summary",
        "read_summary",
    ),
    "lace.pipeline.guests": ("Frame", "Session"),
    "lace.pipeline.datasource": ("BadReadOption", "OnlyRead", "register_format"),
    "lace.pipeline.intake.follow": (
        "FollowReport",
        "FollowedAlready",
        "NothingToFollow",
        "NotOverConnect",
        "follow",
    ),
    "lace.pipeline.intake.outcome": ("IngestProgress", "IngestReport"),
    "lace.pipeline.intake.run": ("ingest",),
    "lace.pipeline.intake.sources": ("CannotIngest", "SourceChanged"),
    "lace.pipeline.lake.erase": ("Erased", "allow", "erase"),
    "lace.pipeline.lake.fsck": ("Finding", "Health", "fsck"),
    "lace.pipeline.lake.lake": ("Lake", "create_lake", "open_lake"),
    "lace.pipeline.lake.manifest": ("Change", "DataFile"),
    "lace.pipeline.lake.optimize": ("Optimized", "optimize"),
    "lace.pipeline.lake.snapshot": ("Snapshot",),
    "lace.pipeline.lake.vacuum": ("Vacuumed", "vacuum"),
    "lace.pipeline.peer": (
        "MOST_RESIDENT",
        "InboxTaken",
        "LakePeer",
        "NoInbox",
        "TooManyResident",
        "check_resident",
        "count_waiting",
        "inbox_folder",
    ),
    "lace.pipeline.progress": ("SparkWork", "watch"),
    "lace.pipeline.report": ("Chart", "ComponentRun", "RunReport", "StageTime"),
    "lace.pipeline.rules": (
        "LakeFacts",
        "RecordFactsAreTheLakes",
        "component_runs",
        "fact_frames",
        "fact_sizes",
        "rules_report",
    ),
    "lace.pipeline.store": ("LakeIsRead", "LakeStore"),
    "lace.pipeline.tables": ("TABLES", "spark_schema"),
    "lace.pipeline.tasks": ("Cancelled", "TasksFailed"),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}
_GUESTS = ("pyspark", "pyarrow", "pandas")

if not TYPE_CHECKING:  # else a type checker would take any name for one of ours

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
