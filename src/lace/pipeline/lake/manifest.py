"""One version of a lake, as its manifest says it: plain JSON that any program can follow.

    {"format": "lace-lake/1", "version": 7, "operation": "ingest", "batch": "…", "attempt": "…",
     "at": seconds since 1970, "counts": {…}, "streams": {stream: last batch}, "batches": {batch: version},
     "files": {"records": [{"path": "data/records/….parquet", "rows": …, "bytes": …, "low": …, "high": …,
                            "footer": …}]},
     "check": B64A of the BLAKE3 of all else}

Rules of this file:
1. A manifest names every live file, so that a reader needs one manifest.
2. `check` tells a damaged manifest from another; a reader that does not care may leave it alone.
3. `batches` remembers the last commits only; what a stream has committed is remembered for good.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lace.pipeline.lake.faults import BadManifest, NewerLake, NotALake
from lace.pipeline.tables import LAKE_FORMAT, TABLES
from lace.text import digest, encode

FORMAT: Final = "lace-lake/"
COMMITS: Final = "commits"
DATA: Final = "data"
REMEMBERED: Final = 256
"""How many batches a manifest remembers: a writer that tries again does so within as many commits."""

_DIGITS: Final = 20


@dataclass(frozen=True, slots=True)
class DataFile:
    """One Parquet file of a table."""

    table: str
    path: str
    """Inside the lake's folder."""
    rows: int
    bytes: int
    low: str
    """The key of its first row: the payload as B64A in tables of records and facts, else the source."""
    high: str
    footer: str = ""
    """B64A of the BLAKE3 of Parquet's own footer, which has no check of its own; empty where nobody knows."""

    def overlaps(self, low: str, high: str) -> bool:
        """Tell whether rows with keys from low to high, both included, can be in it."""
        return self.low <= high and low <= self.high


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit does to the version it stands on."""

    operation: str
    batch: str
    """Names the work: a batch is committed once, however often it is tried."""
    added: tuple[DataFile, ...] = ()
    removed: tuple[DataFile, ...] = ()
    stream: tuple[str, int] | None = None
    """For streaming: the stream, and the number of this batch in it."""
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """A version as written."""

    version: int
    operation: str
    batch: str
    attempt: str
    at: float
    counts: Mapping[str, int]
    streams: Mapping[str, int]
    batches: Mapping[str, int]
    files: Mapping[str, tuple[DataFile, ...]]


def manifest_path(version: int) -> str:
    """Return where the manifest of a version lies.

    >>> manifest_path(7)
    'commits/00000000000000000007.json'
    """
    return f"{COMMITS}/{version:0{_DIGITS}}.json"


def manifest_version(path: str) -> int | None:
    """Return the version whose manifest lies there; None for other files."""
    name = path.rpartition("/")[2]
    digits = name.removesuffix(".json")
    return int(digits) if name != digits and len(digits) == _DIGITS and digits.isdecimal() else None


def format_number(text: object) -> int | None:
    """Return the number of a format of ours.

    >>> format_number("lace-lake/12"), format_number("delta/1")
    (12, None)
    """
    if not isinstance(text, str) or not text.startswith(FORMAT):
        return None
    number = text.removeprefix(FORMAT)
    return int(number) if number.isdecimal() and len(number) < 10 else None


def check_format(found: object, where: str) -> None:
    """Refuse formats that are not ours, and those that are not ours yet."""
    number = format_number(found)
    if number is None:
        raise NotALake(where=where, reason="its lake.json is of another kind")
    if number > LAKE_FORMAT:
        raise NewerLake(where=where, found=found, known=f"{FORMAT}{LAKE_FORMAT}")


def write_manifest(manifest: Manifest) -> bytes:
    """Write a manifest's bytes."""
    content: dict[str, Any] = {
        "format": f"{FORMAT}{LAKE_FORMAT}",
        "version": manifest.version,
        "operation": manifest.operation,
        "batch": manifest.batch,
        "attempt": manifest.attempt,
        "at": manifest.at,
        "counts": dict(manifest.counts),
        "streams": dict(manifest.streams),
        "batches": dict(manifest.batches),
        "files": {
            table: [
                {
                    "path": f.path,
                    "rows": f.rows,
                    "bytes": f.bytes,
                    "low": f.low,
                    "high": f.high,
                    "footer": f.footer,
                }
                for f in manifest.files.get(table, ())
            ]
            for table in TABLES
        },
    }
    content["check"] = _check(content)
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def parse_manifest(data: bytes, version: int, where: str) -> Manifest:
    """Read a manifest's bytes."""

    def bad(reason: str) -> BadManifest:
        return BadManifest(version=version, where=where, path=manifest_path(version), reason=reason)

    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise bad("it is no JSON") from error
    if not isinstance(content, dict):
        raise bad("it is no manifest")
    number = format_number(content.get("format"))
    if number is not None and number > LAKE_FORMAT:
        check_format(content["format"], where)
    check = content.pop("check", None)
    if check != _check(content):
        raise bad("its check does not agree with its content")
    # From here on it is what a writer of this format wrote, whole.
    if number is None or content.get("version") != version:
        raise bad(f"it is the manifest of version {content.get('version')}")
    try:
        return _read(content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise bad("it does not say what a manifest says") from error


def _read(content: dict[str, Any]) -> Manifest:
    files = {
        table: tuple(DataFile(table, **each) for each in listed) for table, listed in content["files"].items()
    }
    for file in (file for listed in files.values() for file in listed):
        if not file.path.startswith(f"{DATA}/{TABLES[file.table].name}/") or ".." in file.path:
            raise ValueError(file.path)
    return Manifest(
        content["version"],
        content["operation"],
        content["batch"],
        content["attempt"],
        content["at"],
        content["counts"],
        content["streams"],
        content["batches"],
        files,
    )


def _check(content: dict[str, Any]) -> str:
    return encode(digest(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()))
