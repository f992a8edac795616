"""What is kept of a send set: its key, what it rests on, and its partitions.

Rules of this file:
1. A summary is derived. Whatever is wrong with it is a reason to make it anew, never to stop.
2. A fingerprint is made of ids alone, so that two sides with the same records have the same; the roots are
   those of 050, and hold the name of their source.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lace.errors import Corrupt
from lace.facts import Fact, Predicate, write_fact_line
from lace.interlace import Schema
from lace.pipeline.exchange.ranges import PREFIX_CHARS, read_rows
from lace.pipeline.lake.faults import BadDataFile
from lace.pipeline.lake.manifest import DataFile
from lace.pipeline.lake.snapshot import Snapshot
from lace.pipeline.rows import batch_of_rows
from lace.pipeline.tables import RECORD_TABLES
from lace.policy import Exposure, Restriction
from lace.text import digest, encode

KEY_CHARS: Final = 16
FINGERPRINT_BYTES: Final = 16
_END: Final = "\x7f"
"""After every place of a key."""


class BadSummary(Corrupt):
    """A summary that is not what was committed."""

    code = "lake/bad-summary"
    text = "a summary of {where} is damaged ({reason}); nothing is lost, it is derived from the records"


class Partition(NamedTuple):
    """What is known of the records under one prefix."""

    records: int
    root: bytes
    fingerprint: bytes


Partitions = dict[str, Partition]
"""By prefix of two characters; those without records are left out."""


def fingerprint(payloads: Iterable[bytes]) -> bytes:
    """Return what tells one set of records from another; their payloads come in order.

    >>> len(fingerprint([b"x"])), fingerprint([]) == fingerprint([b"x"])
    (16, False)
    """
    return digest(b"".join(payloads))[:FINGERPRINT_BYTES]


def fingerprints_of(places: pa.Array, payloads: pa.Array) -> dict[str, tuple[int, bytes]]:
    """Return for each prefix how many records there are and their fingerprint; rows come in order.

    >>> places = pa.array(["k" * 16 + "xy"] * 2)
    >>> fingerprints_of(places, pa.array([b"a", b"b"])) == {"xy": (2, fingerprint([b"a", b"b"]))}
    True
    """
    if not len(places):
        return {}
    runs = pc.run_end_encode(places)
    ends = pa.concat_arrays([pa.array([0], pa.int32()), runs.run_ends])
    joined = pc.binary_join(pa.ListArray.from_arrays(ends, payloads), b"").to_pylist()
    counts = pc.subtract(ends.slice(1), ends.slice(0, len(ends) - 1)).to_pylist()
    return {
        place[KEY_CHARS:]: (count, digest(each)[:FINGERPRINT_BYTES])
        for place, count, each in zip(runs.values.to_pylist(), counts, joined, strict=True)
    }


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose send set it is, under which plan: everything that it depends on beside facts."""

    plan: str
    side: int
    viewer: str
    source: str
    schema: Schema
    formats: frozenset[str]
    exposure: Exposure
    restrictions: tuple[Restriction, ...]

    @property
    def fields(self) -> str:
        """The schema as text: a JSON list of names, or a star for all of them."""
        return "*" if self.schema is None else json.dumps(sorted(self.schema))

    @property
    def key(self) -> str:
        """What the summary is called."""
        modules = [str(each.program.id) for each in self.exposure.in_scope(self.viewer)]
        narrowed = [[each.gate, str(each.program.id)] for each in self.restrictions if each.gate == "send"]
        trusted = self.exposure.is_trusted(self.viewer)
        said = [
            self.plan, self.side, self.viewer, self.source, self.fields, sorted(self.formats),
            modules, self.exposure.compose.value, trusted, narrowed,
        ]  # fmt: skip
        return encode(digest(json.dumps(said).encode()))[:KEY_CHARS]


def basis_of(
    snapshot: Snapshot, runtime: Iterable[Fact], reads: Iterable[Predicate], heard: str | None
) -> str:
    """Name the facts that a send set rests on: files, runtime facts that are read, and what was heard."""
    read = {predicate.name for predicate in reads}
    said = [
        sorted(file.path for table in RECORD_TABLES for file in snapshot.of(table)),
        sorted(write_fact_line(fact) for fact in runtime if fact[0] in read),
        heard,
    ]
    return encode(digest(json.dumps(said).encode()))


@dataclass(frozen=True, slots=True)
class Summary:
    """A send set as one version of a lake keeps it."""

    key: str
    basis: str
    partitions: Partitions
    files: tuple[DataFile, ...]
    """Of its advertisements."""
    others: tuple[DataFile, ...] = ()
    """Of its partitions, and of what is said about it."""

    @property
    def records(self) -> int:
        """How many records are in it."""
        return sum(each.records for each in self.partitions.values())

    def fingerprints(self) -> dict[str, bytes]:
        """Return what tells its partitions from another side's."""
        return {prefix: each.fingerprint for prefix, each in self.partitions.items()}


def check_of(partitions: Mapping[str, Partition]) -> bytes:
    """Return one hash over partitions."""
    return digest(repr(sorted((prefix, *each) for prefix, each in partitions.items())).encode())


def token_of(summary: Summary, source: str) -> str:
    """Name what a side was told: the same token is the same advertisements."""
    return encode(digest(repr((source, sorted(summary.fingerprints().items()))).encode()))


def files_of(snapshot: Snapshot, key: str) -> tuple[list[DataFile], list[DataFile]]:
    """Return the files of a summary: of its advertisements, and of all else."""
    tables = [
        [f for f in snapshot.of(t) if f.overlaps(key, key + _END)] for t in ("advertisements", "partitions")
    ]
    return tables[0], tables[1] + [f for f in snapshot.of("summaries") if f.low == key]


def read_summary(snapshot: Snapshot, key: str) -> Summary | None:
    """Return what a version keeps under a key; None where there is nothing."""
    files, others = files_of(snapshot, key)
    if not files and not others:
        return None

    def bad(reason: str) -> BadSummary:
        return BadSummary(where=snapshot.folder.url, reason=reason, key=key)

    try:
        found = [row for file in others if file.table == "summaries" for row in _heads(snapshot, file, key)]
        rows = [
            (place[KEY_CHARS:], Partition(*row))
            for batch in read_rows(
                snapshot.folder,
                [file for file in others if file.table == "partitions"],
                key,
                key + _END,
                ["place", "count", "root", "fingerprint"],
            )
            for place, *row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        ]
    except BadDataFile as error:
        raise bad(error.fields["reason"]) from error
    partitions = dict(rows)
    if len(found) != 1 or len(partitions) != len(rows):
        raise bad("it is there more than once, or in part")
    head = found[0]
    if head["check"] != check_of(partitions) or any(len(prefix) != PREFIX_CHARS for prefix in partitions):
        raise bad("its partitions are other ones")
    if sum(file.rows for file in files) != head["records"]:
        raise bad("its advertisements are others than its partitions count")
    for file in files:
        if snapshot.folder.size(file.path) != file.bytes:
            raise bad(f"{file.path} is not what was written")
    return Summary(key, head["basis"], partitions, tuple(files), tuple(others))


def _heads(snapshot: Snapshot, file: DataFile, key: str) -> list[dict[str, Any]]:
    columns = ["key", "basis", "records", "check"]
    return [
        row for batch in read_rows(snapshot.folder, [file], key, key, columns) for row in batch.to_pylist()
    ]


def rows_of_partitions(key: str, partitions: Partitions) -> pa.RecordBatch:
    """Return partitions as rows of their table."""
    return batch_of_rows("partitions", [(key + prefix, *each) for prefix, each in sorted(partitions.items())])
