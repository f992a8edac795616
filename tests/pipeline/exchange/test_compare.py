"""What is missing is the same whoever looks, and in whatever ranges."""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from lace.pipeline import Given, Here, Lake, PlanSide, keep_summary
from lace.pipeline.exchange.agree import Agreement, agree
from lace.pipeline.exchange.compare import (
    Advertiser,
    CompareJob,
    Missing,
    differing,
    look,
    looks,
    rows_to_read,
)
from lace.pipeline.exchange.ranges import range_of
from lace.pipeline.exchange.summary import Summary
from lace.pipeline.intake.asked import IDS, read_ids, write_staged
from lace.pipeline.tasks import run_tasks
from lace.record import Record, make_blob
from tests.interlace.pair import ALL, EXPOSE_ALL, Clock
from tests.interlace.scenarios import EXPOSE_U, make_records
from tests.pipeline.exchange.live import advertised, ids, party
from tests.pipeline.lakes import lake_of

STAGED = "staged/test"


def summarize(lakes: tuple[Lake, Lake], exposed: str) -> list[tuple[Summary, Advertiser]]:
    """Let both lakes keep what they advertise."""
    parties = (party(lakes[0], 0, ALL, exposed), party(lakes[1], 1, ALL, EXPOSE_ALL))
    kept = []
    for lake, side, agreed in zip(lakes, parties, agree(parties, Clock().now()), strict=True):
        assert isinstance(agreed, Agreement)
        lake.folder.make("staged")
        subject, exchange, now = agreed.subject, agreed.exchange, lake.snapshot()
        rules = PlanSide(exchange.agreed.plan, subject.side, lake.where, side.exposure)
        given = Given(exchange.agreed.runtime(side.settings))
        summary = keep_summary(lake, now, subject, Here(rules), given).summary
        files = summary.files, now.of("records"), now.of("fields")
        everything = summary.records == now.rows("records")
        kept.append(
            (
                summary,
                Advertiser(lake.folder, summary.key, subject.source, subject.schema, *files, everything),
            )
        )
    return kept


def neighbours(count: int) -> list[Record]:
    """Return blobs of which two are always in one partition."""
    by_prefix: dict[str, list[Record]] = {}
    for blob in (make_blob(b"%d" % number) for number in range(60 * count)):
        by_prefix.setdefault(blob.id[2:4], []).append(blob)
    return [blob for blobs in by_prefix.values() if len(blobs) > 1 for blob in blobs[:2]][:count]


def job(sender: tuple[Summary, Advertiser], receiver: tuple[Summary, Advertiser], ranges: int) -> CompareJob:
    theirs, ours = sender[0].partitions, receiver[0].partitions
    found = {prefix: theirs[prefix].fingerprint for prefix in differing(theirs, ours)}
    return CompareJob(sender[1], receiver[1], found, ranges, STAGED, whole=False)


def told(came: list[tuple[Missing | None, Missing | None]], side: int) -> tuple[set[str], set[str]]:
    """Return what a side misses, and what it asked for in vain and is still advertised."""
    mine = [each for pair in came if (each := pair[side]) is not None]
    lists = [each.ids for each in mine if each.ids is not None]
    folder = lists[0].folder
    missing = [record for each in lists for record in read_ids(folder, each.path).to_pylist()]
    assert missing == sorted(missing, key=lambda record: record[2:])
    vain = [read_ids(folder, each.spent).to_pylist() for each in mine if each.spent is not None]
    return set(missing), {record for each in vain for record in each}


@pytest.mark.parametrize(("seed", "exposed"), [(1, EXPOSE_ALL), (3, EXPOSE_U)])
def test_what_is_missing_is_advertised_and_not_held(tmp_path: Path, seed: int, exposed: str) -> None:
    random = Random(seed)
    records = [*make_records(random, 40), *neighbours(20)]
    left, right = random.sample(records, 45), random.sample(records, 40)
    lakes = lake_of(tmp_path / "a", left[:9], left[9:]), lake_of(tmp_path / "b", right)
    one, two = summarize(lakes, exposed)
    assert (one[1].advertises_all, two[1].advertises_all) == (exposed == EXPOSE_ALL, True)
    said = [{*advertised(lake.snapshot().dataset("advertisements").to_table())} for lake in lakes]
    missing = [said[1 - side] - ids(lakes[side]) for side in (0, 1)]
    assert all(missing)
    vain = {min(missing[0])}
    asked = sorted({*vain, *(str(each.id) for each in records if str(each.id) not in said[1])})
    listed = write_staged(lakes[0].folder, STAGED, pa.table([pa.array(asked)], schema=IDS))
    for ranges in (1, 16):
        jobs = job(two, one, ranges), job(one, two, ranges)
        spent = {range_of(record[2:4], ranges): (listed,) for record in vain}
        every = two[0].partitions, one[0].partitions
        work = looks(jobs, every, (spent, {}))
        near = run_tasks(None, partial(look, jobs), work, threads=3)
        far = [pickle.loads(pickle.dumps(partial(look, jobs)))(each) for each in work]
        for came in (near, far):
            assert told(came, 0) == (missing[0] - vain, vain)
            assert told(came, 1) == (missing[1], set())
    whole = one[0].records + two[0].records + (0 if exposed == EXPOSE_ALL else len(left))
    first = job(two, one, 1), job(one, two, 1)
    read = rows_to_read(first, looks(first, every, ({}, {})), every)
    assert whole < read < 17 * whole  # partitions that only one side has become ids
    assert rows_to_read(jobs, work[:1], every) < read
    assert rows_to_read(jobs, [], every) == 0
