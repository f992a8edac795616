"""What the other side advertises and we have not got, range by range.

    partitions of both sides ──▶ equal ones: nothing to do
                             ──▶ others: advertised there, not held here, not asked for in vain

Rules of this file:
1. The driver compares partitions, tasks compare ids; what they find lies in files.
2. Where two sides advertise the same records of a partition, both hold them: nothing in it can be missing.
3. Rows are believed where they give the fingerprint that was committed with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lace.interlace import Schema, make_claims
from lace.pipeline.exchange.advertise import read_fields, records_of
from lace.pipeline.exchange.ranges import (
    PREFIX_CHARS,
    among,
    bounds,
    range_of,
    read_rows,
)
from lace.pipeline.exchange.summary import BadSummary, Partition, fingerprints_of
from lace.pipeline.intake.asked import IdList, read_ids, write_list, write_staged
from lace.pipeline.lake.folder import Folder
from lace.pipeline.lake.manifest import DataFile
from lace.pipeline.tables import TABLES
from lace.text import id_payload

_ROWS: Final = pa.schema([field for field in TABLES["advertisements"].schema if field.name != "digest"])
CLAIMS: Final = pa.schema([(name, pa.string()) for name in ("record", "name", "index", "value")])


def differing(theirs: Mapping[str, Partition], ours: Mapping[str, Partition]) -> frozenset[str]:
    """Return the prefixes under which the other side advertises something else than we do."""
    return frozenset(
        prefix
        for prefix, each in theirs.items()
        if prefix not in ours or ours[prefix].fingerprint != each.fingerprint
    )


@dataclass(frozen=True, slots=True)
class Advertiser:
    """One side as the other meets it: what it advertises, and where its records lie."""

    folder: Folder
    key: str
    source: str
    schema: Schema
    advertised: tuple[DataFile, ...]
    records: tuple[DataFile, ...]
    fields: tuple[DataFile, ...]


@dataclass(frozen=True, slots=True)
class CompareJob:
    """What all tasks of a comparison share, as one side sees it."""

    sender: Advertiser
    receiver: Advertiser
    differing: Mapping[str, bytes]
    """The prefixes under which the two differ, with the sender's fingerprints."""
    ranges: int
    staged: str
    whole: bool
    """Whether all that is advertised is wanted, and not only what is missing."""


class Look(NamedTuple):
    """One range, and what was asked for in vain there."""

    at: int
    spent: tuple[str, ...] = ()


class Missing(NamedTuple):
    """What came of one range."""

    at: int
    ids: IdList | None
    """Advertised and not held."""
    said: IdList | None
    """Advertised, as far as an evaluation needs it."""
    spent: str | None
    """In vain so far, and still advertised."""


Jobs: TypeAlias = tuple[CompareJob, CompareJob]
"""By the side that receives."""
Looks: TypeAlias = tuple[Look | None, Look | None]


def looks(
    jobs: Jobs, every: Sequence[Iterable[str]], spent: Sequence[Mapping[int, tuple[str, ...]]]
) -> list[Looks]:
    """Return which ranges have to be looked at, and for whom; `every` has all prefixes of the senders."""
    wanted: list[dict[int, Look]] = []
    for job, there, vain in zip(jobs, every, spent, strict=True):
        prefixes = there if job.whole else job.differing
        here = {range_of(prefix, job.ranges) for prefix in prefixes} | vain.keys()
        wanted.append({at: Look(at, vain.get(at, ())) for at in here})
    left, right = wanted
    return [(left.get(at), right.get(at)) for at in sorted(left.keys() | right.keys())]


def look(jobs: Jobs, whats: Looks) -> tuple[Missing | None, Missing | None]:
    """Find what is missing in one range, on both sides."""
    at = next(each.at for each in whats if each is not None)
    low, high = bounds(at, jobs[0].ranges)
    # Each side's advertisements are read once, and serve in both directions.
    said = [_advertised(job.sender, low, high) for job in (jobs[1], jobs[0])]
    left, right = (
        None if what is None else _missing(job, what, said[1 - side], said[side], low, high)
        for side, (job, what) in enumerate(zip(jobs, whats, strict=True))
    )
    return left, right


def _missing(job: CompareJob, what: Look, theirs: pa.Table, ours: pa.Table, low: str, high: str) -> Missing:
    vain = _still_vain(job, what, theirs)
    rest = _under(job.sender, theirs, job.differing)
    _believe(job, rest, low, high)
    # What we advertise we hold; for what is left, few as a rule, all that is held is looked through.
    rest = _without(rest, _under(job.receiver, ours, job.differing).column("payload"))
    rest = _without(rest, pa.array([id_payload(each) for each in vain], pa.binary()))
    rest = _not_held(job.receiver, rest, low, high)
    folder, staged = job.receiver.folder, job.staged

    def listed(records: list[str]) -> IdList | None:
        return write_list(folder, staged, what.at, low, high, pa.array(records, pa.string()))

    ids, kept = listed(records_of(rest)), listed(vain)
    said = listed(records_of(theirs)) if job.whole else ids
    return Missing(what.at, ids, said, None if kept is None else kept.path)


def _still_vain(job: CompareJob, what: Look, theirs: pa.Table) -> list[str]:
    """Return what was asked for in vain and is still advertised.

    PROFILE 9: "While its advertisement is unchanged": who takes one back and makes it again is asked again.
    """
    spent = {each for path in what.spent for each in read_ids(job.receiver.folder, path).to_pylist()}
    if not spent:
        return []
    there = pa.array([id_payload(each) for each in spent], pa.binary())
    found = records_of(theirs.filter(among(theirs.column("payload"), there)))
    return [each for each in found if each in spent]


def _under(side: Advertiser, rows: pa.Table, prefixes: Iterable[str]) -> pa.Table:
    """Return the rows of a side under some prefixes."""
    places = pa.array([side.key + prefix for prefix in prefixes], pa.string())
    return rows.filter(among(rows.column("place"), places)).combine_chunks()


def _without(rows: pa.Table, payloads: pa.Array | pa.ChunkedArray) -> pa.Table:
    return rows.filter(pc.invert(among(rows.column("payload"), payloads)))


def _not_held(side: Advertiser, rows: pa.Table, low: str, high: str) -> pa.Table:
    """Return the rows of records that a side has not got."""
    if not rows.num_rows:
        return rows
    wanted = rows.column("payload")
    held = [
        batch.column(0).filter(among(batch.column(0), wanted))
        for batch in read_rows(side.folder, side.records, low, high, ["payload"], exact=False)
    ]
    return _without(rows, pa.concat_arrays(held)) if held else rows


def _advertised(side: Advertiser, low: str, high: str) -> pa.Table:
    """Return what a side advertises in a range, in the order of payloads."""
    low, high = side.key + low, side.key + high
    files = [file for file in side.advertised if file.overlaps(low, high)]
    batches = list(read_rows(side.folder, files, low, high, _ROWS.names))
    rows = pa.Table.from_batches(batches, _ROWS).combine_chunks()
    return rows if len(files) <= 1 else rows.sort_by("payload").combine_chunks()


def _believe(job: CompareJob, rows: pa.Table, low: str, high: str) -> None:
    """Raise where rows do not give the fingerprints that were committed with them."""
    side = job.sender
    said = {
        prefix: each
        for prefix, each in job.differing.items()
        if low[:PREFIX_CHARS] <= prefix <= high[:PREFIX_CHARS]
    }
    places, payloads = (rows.column(name).combine_chunks() for name in ("place", "payload"))
    found = {prefix: each for prefix, (_, each) in fingerprints_of(places, payloads).items()}
    if found != said:
        reason = "advertisements and partitions do not agree"
        raise BadSummary(where=side.folder.url, reason=reason, key=side.key)


def claim(job: CompareJob, said: IdList) -> tuple[str, int] | None:
    """Set down what the sender claims of records; return where, and how much it is."""
    side, records = job.sender, said.read()
    fields = read_fields(side.folder, side.fields, records, side.schema, said.low, said.high)
    rows = [
        (record, *each)
        for record, found in fields.items()
        for each in make_claims(record, side.source, found, side.schema)
    ]
    if not rows:
        return None
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    table = pa.Table.from_arrays(columns, schema=CLAIMS)
    return write_staged(job.receiver.folder, job.staged, table), len(rows)
