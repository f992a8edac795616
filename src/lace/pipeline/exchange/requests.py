"""From what may be asked for to what is sent: gates and limits of one loop (050, Request, Transfer).

Rules of this file:
1. 050: "A side may request record P only when MayRequest(P) and Advertised(P, S_peer) and not Have(P)".
2. 050: "do not send P unless MaySend(P) and Have(P) are true at send time".
3. What was forgotten is not asked for: its bytes would come for nothing. A live asker leaves it out too.
4. Limits cut a list in the order of its payloads, as a live sender and a live asker do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lace.pipeline.exchange.ranges import among, bounds, in_order, read_rows
from lace.pipeline.intake.asked import IDS, IdList, write_list, write_staged
from lace.pipeline.lake.folder import Folder
from lace.pipeline.lake.manifest import DataFile
from lace.pipeline.tables import TABLES

PLACES: Final = 1000
"""So many places are told apart in a report; the rest is told together."""
ELSEWHERE: Final = "(others)"
NOWHERE: Final = "(blobs)"


Places: TypeAlias = Mapping[tuple[str, str], tuple[int, int]]
"""Records and bytes by group and app."""


@dataclass(frozen=True, slots=True)
class PickJob:
    """What may be asked for, against what is missing."""

    receiver: Folder
    staged: str
    ranges: int
    missing: Mapping[int, IdList]
    forgotten: tuple[DataFile, ...]
    """What the receiver lets in no more."""


def pick(job: PickJob, at: int, ids: pa.Array) -> IdList | None:
    """Return what of a range is asked for."""
    missing = job.missing.get(at)
    if missing is None or not len(ids):
        return None
    low, high = bounds(at, job.ranges)
    found = missing.read()
    wanted = in_order(found.filter(among(found, ids)))
    kept_out = _ids(job.receiver, job.forgotten, low, high)
    return write_list(
        job.receiver, job.staged, at, low, high, wanted.filter(pc.invert(among(wanted, kept_out)))
    )


def _ids(folder: Folder, files: tuple[DataFile, ...], low: str, high: str, *, exact: bool = True) -> pa.Array:
    """Return the column of ids of a table in a range; others too, where it need not be exact."""
    batches = [each.column(0) for each in read_rows(folder, files, low, high, ["id"], exact=exact)]
    return pa.concat_arrays(batches) if batches else pa.array([], pa.string())


@dataclass(frozen=True, slots=True)
class ServeJob:
    """What was asked for, against what may be sent now."""

    receiver: Folder
    staged: str
    asked: Mapping[int, IdList]
    sender: Folder
    records: tuple[DataFile, ...]


class Answered(NamedTuple):
    """What a sender has of a list."""

    sendable: IdList | None
    held_back: IdList | None


def serve(job: ServeJob, at: int, ids: pa.Array) -> Answered:
    """Part what may be sent from what may not, or is not there any more."""
    asked = job.asked.get(at)
    if asked is None:
        return Answered(None, None)
    wanted = in_order(asked.read())
    held = _ids(job.sender, job.records, asked.low, asked.high)
    yes = pc.and_(among(wanted, ids), among(wanted, held))
    parts = (wanted.filter(yes), wanted.filter(pc.invert(yes)))
    return Answered(
        *(write_list(job.receiver, job.staged, at, asked.low, asked.high, part) for part in parts)
    )


@dataclass(frozen=True, slots=True)
class HeldJob:
    """Where records lie that may have come."""

    receiver: Folder
    records: tuple[DataFile, ...]
    staged: str


def find_held(job: HeldJob, sent: IdList) -> IdList | None:
    """Return what of a list is there."""
    wanted = sent.read()
    there = _ids(job.receiver, job.records, sent.low, sent.high, exact=False)
    found = wanted.filter(among(wanted, there))
    return write_list(job.receiver, job.staged, sent.at, sent.low, sent.high, found)


def settle(asked: IdList, staged: str) -> str:
    """Set exactly the ids of a list down; return where."""
    return write_staged(asked.folder, staged, pa.table([asked.read()], schema=IDS))


@dataclass(frozen=True, slots=True)
class Weighing:
    """Where the records of lists lie."""

    sender: Folder
    records: tuple[DataFile, ...]


class Weight(NamedTuple):
    """How much the records of one list are."""

    bytes: int
    places: Places


def weigh(job: Weighing, asked: IdList) -> Weight:
    """Return how many bytes the records of a list have, and where they belong."""
    wanted = asked.read()
    records: Counter[tuple[str, str]] = Counter()
    weights: Counter[tuple[str, str]] = Counter()
    columns = ["id", "size", "group", "app"]
    batches = list(read_rows(job.sender, job.records, asked.low, asked.high, columns, exact=False))
    rows = pa.Table.from_batches(batches, pa.schema([TABLES["records"].schema.field(c) for c in columns]))
    rows = rows.filter(among(rows.column(0), wanted))
    for size, group, app in zip(*(c.to_pylist() for c in rows.columns[1:]), strict=True):
        place = (NOWHERE, "") if group is None else (group, app)
        records[place] += 1
        weights[place] += size
    top = [place for place, _ in records.most_common(PLACES)]
    found = {place: (records[place], weights[place]) for place in top}
    rest = records.keys() - found.keys()
    if rest:
        found[ELSEWHERE, ""] = sum(records[p] for p in rest), sum(weights[p] for p in rest)
    return Weight(sum(weights.values()), found)


class Fitting(NamedTuple):
    """A question: how many records of a list, in their order, fit into so many bytes."""

    asked: IdList
    room: int
    pauses: bool
    """Whether the one that passes the room is counted too."""


def fit(job: Weighing, what: Fitting) -> int:
    """Answer it."""
    wanted = what.asked.read()
    sizes: dict[str, int] = {}
    for batch in read_rows(job.sender, job.records, what.asked.low, what.asked.high, ["id", "size"]):
        mine = batch.filter(among(batch.column(0), wanted))
        sizes.update(zip(mine.column(0).to_pylist(), mine.column(1).to_pylist(), strict=True))
    total = count = 0
    for size in (sizes[record] for record in wanted.to_pylist() if record in sizes):
        if total >= what.room if what.pauses else total + size > what.room:
            break
        total += size
        count += 1
    return count


class Room(NamedTuple):
    """Where a limit of bytes cuts lists: so many ids whole, then one list of which only some fit."""

    before: int
    last: Fitting | None


def find_room(lists: Iterable[IdList], weights: Iterable[Weight], room: int, *, pauses: bool) -> Room:
    """Return how many ids lie before the list in which a limit is reached."""
    before = 0
    for each, weight in zip(lists, weights, strict=True):
        if weight.bytes >= room if pauses else weight.bytes > room:
            return Room(before, Fitting(each, room, pauses))
        room -= weight.bytes
        before += len(each)
    return Room(before, None)


def most_places(found: Iterable[Places]) -> dict[tuple[str, str], tuple[int, int]]:
    """Add up what belongs where, without growing beyond a bound."""
    total: dict[tuple[str, str], tuple[int, int]] = {}
    for places in found:
        for place, (records, size) in places.items():
            key = place if place in total or len(total) < PLACES else (ELSEWHERE, "")
            before = total.get(key, (0, 0))
            total[key] = before[0] + records, before[1] + size
    return total
