"""What the other side advertises and we have not got, range by range.

    partitions of both sides ──▶ equal ones: nothing to do
                             ──▶ others: advertised there, not held here, not asked for in vain

Rules of this file:
1. The driver compares partitions. Who compares ids, tasks or the driver, changes nothing: one function does
   it, a range at a time, and what it finds lies in files.
2. Where two sides advertise the same records of a partition, both hold them: nothing in it can be missing.
3. Rows are believed where they give the fingerprint that was committed with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import pyarrow as pa

from lace.interlace import Schema, make_claims
from lace.pipeline.exchange.advertise import read_fields
from lace.pipeline.exchange.payloads import Payloads, Rows, read_payloads, rows_between
from lace.pipeline.exchange.ranges import PREFIX_CHARS, bounds, range_of
from lace.pipeline.exchange.summary import BadSummary, Partition, fingerprint
from lace.pipeline.intake.asked import IdList, read_ids, write_list, write_staged
from lace.pipeline.lake.folder import Folder
from lace.pipeline.lake.manifest import DataFile
from lace.text import encode, id_payload

NEAR_ROWS: Final = 1 << 22
"""Up to so many rows in all are compared by this process, a few ranges at a time, and more by tasks: reading
these takes about as long as starting a job."""
_ID_ROWS: Final = 16
"""To make an id takes as long as to read so many rows."""
_FORMS: Final = ("type", "format")
"""What makes an id of a payload."""
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
    advertises_all: bool = False
    """Whether it holds nothing that it does not advertise."""


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


def rows_to_read(jobs: Jobs, work: Sequence[Looks], every: Sequence[Mapping[str, Partition]]) -> int:
    """Return about how many rows a comparison reads; `every` has all partitions of the senders."""
    touched = {each.at for pair in work for each in pair if each is not None}
    rows = 0
    for job, theirs, ours in zip(jobs, every, every[::-1], strict=True):
        for prefix, each in theirs.items():
            if range_of(prefix, job.ranges) in touched:
                # So many at least become ids.
                known = 0 if job.whole or prefix not in ours else ours[prefix].records
                rows += each.records + _ID_ROWS * max(0, each.records - known)
        if not job.receiver.advertises_all:
            rows += sum(file.rows for file in job.receiver.records) * len(touched) // job.ranges
    return rows


def look(jobs: Jobs, whats: Looks) -> tuple[Missing | None, Missing | None]:
    """Find what is missing in one range, on both sides."""
    at = next(each.at for each in whats if each is not None)
    low, high = bounds(at, jobs[0].ranges)
    # Each side's advertisements are read once, and serve in both directions.
    said = [_Advertised(job.sender, low, high) for job in (jobs[1], jobs[0])]
    left, right = (
        None if what is None else _missing(job, what, said[1 - side], said[side])
        for side, (job, what) in enumerate(zip(jobs, whats, strict=True))
    )
    return left, right


class _Advertised:
    """What a side advertises in a range, in the order of payloads."""

    def __init__(self, side: Advertiser, low: str, high: str) -> None:
        self.low, self.high = low, high
        places = side.key + low, side.key + high
        files = sorted(side.advertised, key=lambda file: file.low)
        read = list(read_payloads(side.folder, files, *places, coded=_FORMS))
        whole = Payloads.joined([payloads for payloads, _ in read])
        self._forms = [batch.select(_FORMS) for _, batches in read for batch in batches]
        # Row groups do not end where a range does.
        ((self._first, _), (_, stop)) = whole.stretches([low[:PREFIX_CHARS], high[:PREFIX_CHARS]])
        self.payloads = whole.cut(self._first, stop)

    def ids(self, rows: Rows) -> list[str]:
        """Return the record ids of some rows, in order."""
        if not len(rows):
            return []
        forms = pa.Table.from_batches(self._forms).take(pa.array(rows + self._first))
        letters, suffixes = (column.to_pylist() for column in forms.columns)
        return list(map("{}.{}.{}".format, letters, map(encode, self.payloads.take(rows)), suffixes))


def _missing(job: CompareJob, what: Look, theirs: _Advertised, ours: _Advertised) -> Missing:
    low, high = theirs.low, theirs.high
    first, last = low[:PREFIX_CHARS], high[:PREFIX_CHARS]
    prefixes = sorted(each for each in job.differing if first <= each <= last)
    vain = _still_vain(job, what, theirs)
    rest = rows_between(_believed(job, theirs, prefixes))
    # What we advertise we hold; for what is left, few as a rule, all that is held is looked through.
    ours_there = ours.payloads.take(rows_between(ours.payloads.stretches(prefixes)))
    for known in (ours_there, theirs.payloads.take(vain)):
        rest = theirs.payloads.without(rest, known)
    rest = _not_held(job.receiver, theirs, rest)
    folder, staged = job.receiver.folder, job.staged

    def listed(rows: Rows) -> IdList | None:
        return write_list(folder, staged, what.at, low, high, pa.array(theirs.ids(rows), pa.string()))

    ids, kept = listed(rest), listed(vain)
    said = listed(theirs.payloads.rows) if job.whole else ids
    return Missing(what.at, ids, said, None if kept is None else kept.path)


def _still_vain(job: CompareJob, what: Look, theirs: _Advertised) -> Rows:
    """Return the rows of what was asked for in vain and is still advertised.

    PROFILE 9: "While its advertisement is unchanged": who takes one back and makes it again is asked again.
    """
    spent = {each for path in what.spent for each in read_ids(job.receiver.folder, path).to_pylist()}
    asked = Payloads.of([pa.array(list(map(id_payload, spent)), pa.binary())])
    found = theirs.payloads.among(asked)
    return found[[each in spent for each in theirs.ids(found)]]


def _not_held(side: Advertiser, theirs: _Advertised, rows: Rows) -> Rows:
    """Return the rows of records that a side has not got."""
    if side.advertises_all:
        return rows
    for held, _ in read_payloads(side.folder, side.records if len(rows) else (), theirs.low, theirs.high):
        rows = theirs.payloads.without(rows, held)
    return rows


def _believed(job: CompareJob, theirs: _Advertised, prefixes: Sequence[str]) -> list[tuple[int, int]]:
    """Return where the rows of prefixes stand, once they give the fingerprints committed with them."""
    side, payloads = job.sender, theirs.payloads
    stretches = payloads.stretches(prefixes)
    for prefix, stretch in zip(prefixes, stretches, strict=True):
        if fingerprint([payloads.bytes_of(*stretch)]) != job.differing[prefix]:
            reason = "advertisements and partitions do not agree"
            raise BadSummary(where=side.folder.url, reason=reason, key=side.key)
    return stretches


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
