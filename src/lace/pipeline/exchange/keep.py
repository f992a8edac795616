"""Keeps the summary of a send set in a lake: found, brought up to date, or made anew.

Rules of this file:
1. Same key and same basis: nothing is evaluated. Else the plan is, and what did not change is kept.
2. What is damaged is thrown away and made anew, and said.
3. A summary is committed on top of whatever others did meanwhile, unless they made the same one, or files of
   records went: it would remember what was erased.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from secrets import token_hex
from typing import Final

from lace.pipeline.exchange.advertise import AdvertiseJob, advertise_range, merge_partitions
from lace.pipeline.exchange.decide import Decider, Given
from lace.pipeline.exchange.ranges import PREFIX_CHARS, count_ranges, range_of
from lace.pipeline.exchange.summary import (
    KEY_CHARS,
    BadSummary,
    Partitions,
    Subject,
    Summary,
    basis_of,
    check_of,
    files_of,
    read_summary,
    rows_of_partitions,
)
from lace.pipeline.lake.faults import BadDataFile, Overtaken
from lace.pipeline.lake.lake import Lake
from lace.pipeline.lake.manifest import DATA, Change, DataFile
from lace.pipeline.lake.snapshot import Snapshot
from lace.pipeline.lake.work import discard
from lace.pipeline.lake.write import write_table
from lace.pipeline.rows import batch_of_rows
from lace.pipeline.tables import SUMMARY_TABLES

ATTEMPTS: Final = 5
"""How often a summary is made because others make the same one at the same time."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A summary, and what it took to have it."""

    summary: Summary
    hashed: int = 0
    """Advertisement records that were hashed."""
    found: bool = False
    """Whether it was there as it should be."""
    uncommitted: tuple[DataFile, ...] = ()
    """Files that nobody named, where nothing was to be committed."""


def keep_summary(
    lake: Lake,
    pinned: Snapshot,
    subject: Subject,
    decider: Decider,
    given: Given,
    *,
    heard: str | None = None,
    note: Callable[[str], None] = lambda text: None,
    commit: bool = True,
    doubted: bool = False,
) -> Kept:
    """Return the summary of a side over one version, from the lake or made now.

    With `doubted` what the lake has is not believed.
    """
    basis = basis_of(pinned, given.runtime, decider.reads_to_send(), heard)
    chosen = None
    for left in reversed(range(ATTEMPTS)):
        now = lake.snapshot()
        before = None if doubted else _find(now, subject.key, note)
        if before is not None and before.basis == basis:
            return Kept(before, found=True)
        if chosen is None:
            chosen = decider.may_send(pinned, given)
        try:
            kept, change = _make(lake, now, pinned, subject, decider, chosen, before, basis)
        except (BadSummary, BadDataFile) as error:
            if before is None:
                raise
            note(f"{error}; it is made anew")
            kept, change = _make(lake, now, pinned, subject, decider, chosen, None, basis)
        if not commit or _has_lost(now, pinned):
            return Kept(kept.summary, kept.hashed, uncommitted=change.added)
        if _commit(lake, now, change, subject.key, pinned):
            return kept
        if left:
            discard(lake, change.added)
    # Others summarize the same all the time: ours is as good, and theirs is the one that stays.
    return Kept(kept.summary, kept.hashed, uncommitted=change.added)


def _find(now: Snapshot, key: str, note: Callable[[str], None]) -> Summary | None:
    try:
        return read_summary(now, key)
    except BadSummary as error:
        note(f"{error}; it is made anew")
        return None


def _make(
    lake: Lake,
    now: Snapshot,
    pinned: Snapshot,
    subject: Subject,
    decider: Decider,
    chosen: object,
    before: Summary | None,
    basis: str,
) -> tuple[Kept, Change]:
    for table in SUMMARY_TABLES:
        lake.folder.make(f"{DATA}/{table}")
    ranges = count_ranges(pinned.rows("records"))
    known: Partitions = {} if before is None else before.partitions
    files = () if before is None else before.files
    job = AdvertiseJob(
        lake.folder,
        subject.key,
        subject.source,
        subject.schema,
        subject.formats,
        ranges,
        pinned.of("records"),
        pinned.of("fields"),
        files,
        known,
        _forced(files, ranges),
    )
    came = decider.spread(chosen, ranges, partial(advertise_range, job), "the summary")
    partitions = merge_partitions(known, came)
    written = {each.at for each in came if each.written}
    went = tuple(file for file in files if _ranges(file, ranges)[0] in written)
    if before is None:  # also what a damaged one has left
        went = tuple(file for part in files_of(now, subject.key) for file in part)
    else:
        went += before.others
    added = tuple(each.file for each in came if each.file is not None)
    others = _write_rest(lake, subject, partitions, basis)
    stayed = tuple(file for file in files if file not in went)
    summary = Summary(subject.key, basis, partitions, stayed + added, others)
    hashed = sum(each.hashed for each in came)
    counts = {"advertised": summary.records, "hashed": hashed}
    change = Change("summarize", f"summary-{token_hex(8)}", (*added, *others), went, counts=counts)
    return Kept(summary, hashed), change


def _write_rest(lake: Lake, subject: Subject, partitions: Partitions, basis: str) -> tuple[DataFile, ...]:
    rows = rows_of_partitions(subject.key, partitions)
    records = sum(each.records for each in partitions.values())
    head = (
        subject.key, subject.plan, subject.side, subject.source, subject.fields, basis, records,
        check_of(partitions),
    )  # fmt: skip
    written = (
        write_table(lake.folder, "partitions", [rows] if partitions else []),
        write_table(lake.folder, "summaries", [batch_of_rows("summaries", [head])]),
    )
    return tuple(file for file in written if file is not None)


def _ranges(file: DataFile, ranges: int) -> tuple[int, int]:
    """Return the first and the last range that a file of advertisements reaches into."""
    first, last = (each[KEY_CHARS : KEY_CHARS + PREFIX_CHARS] for each in (file.low, file.high))
    return range_of(first, ranges), range_of(last, ranges)


def _forced(files: tuple[DataFile, ...], ranges: int) -> frozenset[int]:
    """Return the ranges that share a file with others, because there were fewer of them before."""
    reached = [_ranges(file, ranges) for file in files]
    return frozenset(at for first, last in reached if first < last for at in range(first, last + 1))


def _has_lost(now: Snapshot, pinned: Snapshot) -> bool:
    """Tell whether records may be gone that an older version had; they may also be in other files."""
    return not set(pinned.of("records")) <= set(now.of("records"))


def _commit(lake: Lake, base: Snapshot, change: Change, key: str, pinned: Snapshot) -> bool:
    """Commit on top of whatever others did, unless that was the same summary, or took records out."""
    mine = files_of(base, key)
    while True:
        try:
            lake.commit(base, change)
            return True
        except Overtaken as error:
            base = error.winner
            if files_of(base, key) != mine or _has_lost(base, pinned):
                return False
