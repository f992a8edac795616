"""Takes records out of a lake, and remembers which shall not come back.

Rules of this file:
1. A record goes from all tables that speak of it in one commit, and summaries of send sets go whole; rejects
   are bytes of others and stay.
2. Files are rewritten without its rows. Older versions still hold them until vacuum removes those.
3. Only the named record goes: one that stands inside another record stays there.
4. What was ingested once is no longer wholly there, or could come wholly now: every source loses its identity
   in the same commit, so that an ingest reads it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from lace.pipeline.lake.folder import Folder
from lace.pipeline.lake.lake import Lake
from lace.pipeline.lake.manifest import Change, DataFile
from lace.pipeline.lake.read import read_merged, read_range
from lace.pipeline.lake.snapshot import Snapshot
from lace.pipeline.lake.work import cleared, commit_work
from lace.pipeline.lake.write import new_work, write_table
from lace.pipeline.rows import batch_of_rows
from lace.pipeline.tables import RECORD_TABLES, SUMMARY_TABLES, TABLES
from lace.pipeline.tasks import run_tasks
from lace.text import PAYLOAD_CHARS, RecordId, parse_record_id

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_IDENTITY: Final = ""
"""Of a source in the table of sources: the next ingest reads all of it."""


@dataclass(frozen=True, slots=True)
class Erased:
    """What changed: the ids that were there, and the version in which they are not."""

    ids: tuple[RecordId, ...]
    snapshot: Snapshot


def erase(
    lake: Lake, ids: Iterable[str], *, forget: bool = False, session: SparkSession | None = None
) -> Erased:
    """Take records out; with `forget`, ingest refuses them from now on."""
    wanted = _in_order(ids)
    held: tuple[RecordId, ...] = ()

    def make(base: Snapshot) -> Change | None:
        nonlocal held
        work = new_work()
        with cleared(base.folder, work):
            change, held = _without(base, work, RECORD_TABLES, wanted, session)
            added = list(change.added)
            if forget:
                known = set(_held(base, "forgotten", wanted))
                new = [(record_id,) for record_id in wanted if record_id not in known]
                made = write_table(base.folder, "forgotten", [batch_of_rows("forgotten", new)], work)
                added += [made] if made is not None else []
            # Summaries remember ids; they are made again when somebody needs them.
            gone = [file for table in SUMMARY_TABLES for file in base.of(table)] if held else []
            if held and not forget:  # what is forgotten is refused, however often its source is read
                added += _doubted(base, work)
                gone += base.of("sources")
        counts = {"erased": len(held), "forgotten": len(wanted) if forget else 0}
        removed = (*change.removed, *gone)
        done = Change("forget" if forget else "erase", change.batch, tuple(added), removed, counts=counts)
        return done if done.added or done.removed else None

    snapshot = commit_work(lake, make) if wanted else None
    return Erased(held, snapshot or lake.snapshot())


def allow(lake: Lake, ids: Iterable[str]) -> Erased:
    """Let records come back that were forgotten; return those that were."""
    wanted = _in_order(ids)
    held: tuple[RecordId, ...] = ()

    def make(base: Snapshot) -> Change | None:
        nonlocal held
        work = new_work()
        with cleared(base.folder, work):
            change, held = _without(base, work, ("forgotten",), wanted, None)
            if not held:
                return None
            added, removed = (*change.added, *_doubted(base, work)), (*change.removed, *base.of("sources"))
        return Change("allow", change.batch, added, removed, counts={"allowed": len(held)})

    snapshot = commit_work(lake, make) if wanted else None
    return Erased(held, snapshot or lake.snapshot())


def _doubted(base: Snapshot, work: str) -> list[DataFile]:
    """Write the table of sources anew, without their identities."""
    rows = map(_without_identity, read_merged(base.folder, base.of("sources")))
    made = write_table(base.folder, "sources", rows, work)
    return [] if made is None else [made]


def _without_identity(rows: pa.Table) -> pa.Table:
    at = rows.schema.get_field_index("identity")
    return rows.set_column(at, rows.schema.field(at), pa.repeat(pa.scalar(NO_IDENTITY), rows.num_rows))


def _in_order(ids: Iterable[str]) -> list[RecordId]:
    return sorted({parse_record_id(each) for each in ids}, key=_key)


def _key(record_id: str) -> str:
    return record_id[2 : 2 + PAYLOAD_CHARS]


def _without(
    base: Snapshot, work: str, tables: Sequence[str], ids: Sequence[RecordId], session: SparkSession | None
) -> tuple[Change, tuple[RecordId, ...]]:
    """Rewrite the files of tables that hold rows of records; return the ids that the first table held."""
    tasks = [
        _Rewriting(base.folder, work, file, tuple(here))
        for table in tables
        for file in base.of(table)
        if (here := [each for each in ids if file.low <= _key(each) <= file.high])
    ]
    results = run_tasks(session, _rewrite, tasks, what="erasing")
    changed = [(task.file, found, made) for task, (found, made) in zip(tasks, results, strict=True) if found]
    held = {each for file, found, _ in changed if file.table == tables[0] for each in found}
    added = tuple(made for _, _, made in changed if made is not None)
    removed = tuple(file for file, _, _ in changed)
    batch = f"erase-{token_hex(8)}"
    return Change("erase", batch, added, removed), tuple(each for each in ids if each in held)


@dataclass(frozen=True, slots=True)
class _Rewriting:
    folder: Folder
    work: str
    file: DataFile
    ids: tuple[RecordId, ...]


def _rewrite(task: _Rewriting) -> tuple[tuple[RecordId, ...], DataFile | None]:
    """Return which ids a file held, and the file without them."""
    found = _find(task.folder, task.file, task.ids)
    if not found:
        return (), None
    column, gone = TABLES[task.file.table].sort[0], pa.array(task.ids)

    def rest() -> Iterator[pa.RecordBatch]:
        for batch in read_range(task.folder, task.file):
            yield batch.filter(pc.invert(pc.is_in(batch.column(column), value_set=gone)))

    return found, write_table(task.folder, task.file.table, rest(), task.work)


def _find(folder: Folder, file: DataFile, ids: Sequence[RecordId]) -> tuple[RecordId, ...]:
    column, wanted = TABLES[file.table].sort[0], pa.array(ids)
    found: set[str] = set()
    for batch in read_range(folder, file, _key(ids[0]), _key(ids[-1]), [column]):
        found.update(batch.column(0).filter(pc.is_in(batch.column(0), value_set=wanted)).to_pylist())
    return tuple(each for each in ids if each in found)


def _held(base: Snapshot, table: str, ids: Sequence[RecordId]) -> Iterator[RecordId]:
    for file in base.of(table):
        yield from _find(base.folder, file, ids)
