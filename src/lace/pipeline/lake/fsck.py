"""Looks whether a lake is what it says: manifests, files, records, facts.

Rules of this file:
1. Nothing is changed. A version that vacuum removes meanwhile is gone, not damaged.
2. Payloads are hashes and so spread evenly: the key space is cut into slices of some thousand records, and
   a task looks at one slice of all tables after another. No list in the size of the lake is made anywhere.
3. Every fault is counted; the first ones of each task are told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lace.errors import RecordError
from lace.pipeline.lake.faults import BadDataFile, BadManifest, NoSuchVersion
from lace.pipeline.lake.folder import Folder
from lace.pipeline.lake.lake import Lake
from lace.pipeline.lake.manifest import DATA, DataFile
from lace.pipeline.lake.read import read_range
from lace.pipeline.lake.snapshot import Snapshot
from lace.pipeline.rows import fact_rows, record_row
from lace.pipeline.tables import RECORD_TABLES, TABLES
from lace.pipeline.tasks import run_tasks
from lace.record import parse_record
from lace.text import ALPHABET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLICE_RECORDS: Final = 8_192
TASKS: Final = 512
TOLD: Final = 100
"""How many faults a slice or file tells in words."""
MOST: Final = 1_000
"""How many faults are told in words at all."""

_PREFIX_CHARS: Final = 4


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault."""

    kind: str
    """manifest, missing, size, damaged, order, record, columns, twice, facts, forgotten."""
    where: str
    """The file or the record."""
    detail: str


@dataclass(slots=True)
class _Findings:
    """Faults of one task: all counted, the first ones told."""

    faults: Counter[str] = field(default_factory=Counter)
    told: list[Finding] = field(default_factory=list)
    records: int = 0
    facts: int = 0

    def add(self, kind: str, where: str, detail: str) -> None:
        self.faults[kind] += 1
        if len(self.told) < TOLD:
            self.told.append(Finding(kind, where, detail))

    def join(self, other: _Findings) -> None:
        # A file that several slices stumble over is one fault.
        again = [each for each in other.told if each.kind == "damaged" and each in self.told]
        self.faults += other.faults - Counter(each.kind for each in again)
        new = [each for each in other.told if each not in again]
        self.told += new[: max(0, MOST - len(self.told))]
        self.records += other.records
        self.facts += other.facts


@dataclass(frozen=True, slots=True)
class Health:
    """What fsck saw."""

    version: int
    files: int
    records: int
    facts: int
    faults: dict[str, int]
    """How many of each kind."""
    findings: tuple[Finding, ...]
    orphans: tuple[str, ...]
    """Files that no version names, left by writers that were killed or are at work: no fault."""

    @property
    def is_sound(self) -> bool:
        """Whether there is no fault."""
        return not self.faults


def fsck(
    lake: Lake,
    session: SparkSession | None = None,
    *,
    version: int | None = None,
    signatures: bool = False,
) -> Health:
    """Check a version of a lake, the newest where none is named."""
    while True:
        found = _look(lake, lake.snapshot(version), session, signatures)
        if found.is_sound or found.version in lake.versions():
            return found


def _look(lake: Lake, snapshot: Snapshot, session: SparkSession | None, signatures: bool) -> Health:
    found = _Findings()
    orphans = _check_listing(lake, snapshot, found)
    files = list(snapshot.all_files())
    for each in run_tasks(session, _check_file, [(lake.folder, file) for file in files], what="fsck"):
        found.join(each)
    bad = {finding.where for finding in found.told}
    for each in run_tasks(session, _check_slices, list(_tasks(snapshot, bad, signatures)), what="fsck"):
        found.join(each)
    return Health(
        snapshot.version,
        len(files),
        found.records,
        found.facts + found.records,  # `Have` is the record itself
        dict(sorted(found.faults.items())),
        tuple(found.told),
        orphans,
    )


def _check_listing(lake: Lake, snapshot: Snapshot, found: _Findings) -> tuple[str, ...]:
    """Compare what manifests name with what lies there; return what nobody names."""
    named: set[str] = set()
    for version in lake.versions():
        try:
            named.update(file.path for file in lake.snapshot(version).all_files())
        except NoSuchVersion:
            continue
        except BadManifest as error:
            found.add("manifest", error.fields["path"], error.fields["reason"])
    sizes = {e.path: e.size for table in TABLES for e in lake.folder.list(f"{DATA}/{table}")}
    for file in snapshot.all_files():
        size = sizes.get(file.path)
        if size is None:
            found.add("missing", file.path, f"{file.rows} rows of {file.table} are gone with it")
        elif size != file.bytes:
            found.add("size", file.path, f"{size} bytes instead of {file.bytes}")
    return tuple(sorted(sizes.keys() - named))


def _check_file(item: tuple[Folder, DataFile]) -> _Findings:
    """Look at one file: columns, rows, order, and all that it holds where no slice will look."""
    folder, file = item
    table, found = TABLES[file.table], _Findings()
    last: str | None = None
    first = None
    columns = [table.sort[0]] if table.name in (*RECORD_TABLES, "forgotten") else None
    if folder.size(file.path) is None:
        return found
    try:
        for batch in read_range(folder, file, columns=columns):
            key = table.keys(batch)[0] if columns else batch.column(table.sort[0])
            ordered = pc.all(pc.less_equal(key.slice(0, len(key) - 1), key.slice(1))).as_py()
            if ordered is False or (last is not None and key[0].as_py() < last):
                found.add("order", file.path, f"rows of {file.table} are out of order")
            first = key[0].as_py() if first is None else first
            last = key[-1].as_py()
        if (first, last) != (file.low, file.high):
            found.add("order", file.path, "its keys begin or end elsewhere than its manifest says")
    except BadDataFile as error:
        found.add("damaged", file.path, error.fields["reason"])
    return found


@dataclass(frozen=True, slots=True)
class _Slices:
    """Some of `count` equal parts of the key space, one after another, and the files that reach into them."""

    folder: Folder
    start: int
    stop: int
    count: int
    files: tuple[DataFile, ...]
    bad: frozenset[str]
    signatures: bool

    def parts(self) -> Iterator[_Slice]:
        for at in range(self.start, self.stop):
            # A key is longer than a prefix and so never equal to one: the end belongs to the next slice.
            low, high = _prefix(at, self.count), _prefix(at + 1, self.count)
            here = [file for file in self.files if file.overlaps(low, high)]
            good = tuple(file for file in here if file.path not in self.bad)
            if good:
                yield _Slice(self.folder, low, high, good, len(good) == len(here), self.signatures)


@dataclass(frozen=True, slots=True)
class _Slice:
    folder: Folder
    low: str
    high: str
    files: tuple[DataFile, ...]
    is_whole: bool
    """Whether every file can be read, so that facts that are not there are missing."""
    signatures: bool


def _tasks(snapshot: Snapshot, bad: set[str], signatures: bool) -> Iterator[_Slices]:
    """Cut the key space into slices of some thousand records, and these into a bounded number of tasks."""
    files = [file for table in (*RECORD_TABLES, "forgotten") for file in snapshot.of(table)]
    count = max(1, -(-snapshot.rows("records") // SLICE_RECORDS))
    tasks = min(count, TASKS)
    for number in range(tasks):
        start, stop = number * count // tasks, (number + 1) * count // tasks
        low, high = _prefix(start, count), _prefix(stop, count)
        here = tuple(file for file in files if file.overlaps(low, high))
        if here:
            gone = frozenset(file.path for file in here if file.path in bad)
            yield _Slices(snapshot.folder, start, stop, count, here, gone, signatures)


def _prefix(at: int, count: int) -> str:
    """Return where part `at` of `count` equal parts of the key space begins.

    >>> _prefix(0, 3), _prefix(1, 2), _prefix(3, 3) > "~~~~"
    ('0000', 'W000', True)
    """
    if at == count:
        return "\x7f"
    number = at * 64**_PREFIX_CHARS // count
    return "".join(ALPHABET[number >> 6 * place & 63] for place in reversed(range(_PREFIX_CHARS)))


def _check_slices(slices: _Slices) -> _Findings:
    found = _Findings()
    for part in slices.parts():
        found.join(_check_slice(part))
    return found


def _check_slice(part: _Slice) -> _Findings:
    """Look at all records of a slice, and at the facts that should and do stand there."""
    found = _Findings()
    try:
        seen, expected = _check_records(part, found)
        for file in part.files:
            if file.table == "forgotten":
                for (record_id,) in _rows(part, file):
                    if record_id in seen:
                        found.add("forgotten", record_id, "it is held, and was to be forgotten")
            elif file.table != "records":
                for row in _rows(part, file):
                    found.facts += 1
                    expected[(file.table, row)] -= 1
        for (table, row), count in expected.items():
            if count and part.is_whole:
                detail = f"{table} {'lacks' if count > 0 else 'has too much:'} {row[1:]}"
                found.add("facts", row[0], detail)
    except BadDataFile as error:
        found.add("damaged", error.fields["path"], error.fields["reason"])
    return found


def _check_records(part: _Slice, found: _Findings) -> tuple[set[str], Counter[tuple[str, tuple[str, ...]]]]:
    seen: set[str] = set()
    expected: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for file in part.files:
        if file.table != "records":
            continue
        for row in _rows(part, file):
            found.records += 1
            record_id, raw = row[0], row[-1]
            if record_id in seen:
                found.add("twice", record_id, f"it stands in {file.path} and before")
                continue
            seen.add(record_id)
            try:
                record = parse_record(raw, check_signature=part.signatures)
            except RecordError as error:
                found.add("record", record_id, str(error))
                continue
            if record_row(record) != row:
                kind = "record" if record.id != record_id else "columns"
                found.add(kind, record_id, f"its bytes are those of {record.id}, its columns say otherwise")
            expected.update(fact_rows(record))
    return seen, expected


def _rows(part: _Slice, file: DataFile) -> Iterator[tuple[Any, ...]]:
    for batch in read_range(part.folder, file, part.low, part.high):
        try:
            rows = _tuples(batch)
        except UnicodeDecodeError as error:
            raise BadDataFile(path=file.path, where=part.folder.url, reason=str(error)) from error
        yield from rows


def _tuples(batch: pa.RecordBatch) -> Sequence[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
