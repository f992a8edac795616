"""Two lakes end where two stores end, whatever happens on the way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from lace.algebra import EvaluationLimits
from lace.interlace import Cause, ExchangeLimits, InterlaceResult, LocalLimits
from lace.pipeline import (
    ConvergeProgress,
    ConvergeReport,
    ConvergeSide,
    Lake,
    LakeParty,
    allow,
    converge,
    create_lake,
    erase,
    fsck,
    ingest,
)
from lace.policy import OperandLimits
from lace.record import Record, make_blob
from lace.stores import SqliteStore
from lace.text import RecordId
from tests.interlace.pair import ALL, EXPOSE_ALL, Clock
from tests.interlace.scenarios import EXPOSE_U, GROUP_U, LINKED, NON_MONOTONIC, Scenario, chain, draw
from tests.pipeline.exchange.live import ids, parties, party, run_live
from tests.pipeline.lakes import damage, lake_of

NOW = Clock().now()
LOOPS = ExchangeLimits(max_loop_iterations=40)
MODES: tuple[dict[str, Any], ...] = (
    {"limits": LOOPS},
    {"limits": LOOPS, "local": LocalLimits(service_records=3, request_records=5)},
    {"limits": ExchangeLimits(max_loop_iterations=40, max_total_transferred_bytes=1500)},
    {"limits": LOOPS, "local": LocalLimits(service_bytes=400)},
    {"limits": LOOPS, "all_fields": True},
)


def lakes_of(tmp_path: Path, scenario: Scenario) -> tuple[Lake, Lake]:
    left, right = (
        lake_of(tmp_path / str(index), records)
        for index, records in enumerate((scenario.left, scenario.right))
    )
    return left, right


def told(side: ConvergeSide, report: ConvergeReport) -> tuple[object, ...]:
    return (
        side.cause,
        report.plan,
        len(report.loops),
        side.received,
        side.rejected,
        side.not_available,
        side.deferred,
        side.sent,
        side.held_back,
        side.bytes_received,
        side.bytes_sent,
    )


def told_live(result: InterlaceResult) -> tuple[object, ...]:
    return (
        result.cause,
        result.exchange_plan_id,
        result.loops,
        len(result.received_hashes),
        len(result.rejected_hashes),
        len(result.not_available_hashes),
        len(result.deferred_hashes),
        len(result.sent_hashes),
        len(result.held_back_hashes),
        result.bytes_received,
        result.bytes_sent,
    )


def check_seed(tmp_path: Path, seed: int) -> None:
    scenario = draw(seed, NON_MONOTONIC) if seed % 3 == 0 else draw(seed)
    mode = MODES[seed % len(MODES)]
    results, held = run_live(scenario, **mode)
    lakes = lakes_of(tmp_path, scenario)
    report = converge(*parties(lakes, scenario, **mode), now=NOW)
    for index in (0, 1):
        assert told(report.sides[index], report) == told_live(results[index]), seed
        assert ids(lakes[index]) == held[index], seed


@pytest.mark.req("050-213")
@pytest.mark.parametrize("seed", [7, 11, 12, 15, 20, 28, 33, 36, 39])
def test_two_lakes_end_where_two_stores_end(tmp_path: Path, seed: int) -> None:
    check_seed(tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 300, 20))
def test_200_pairs_of_lakes_end_where_stores_end(tmp_path: Path, start: int) -> None:
    for seed in range(start, start + 20):
        check_seed(tmp_path / str(seed), seed)


@pytest.mark.parametrize("seed", [7, 12])
@pytest.mark.parametrize("where", [0, 1])
def test_a_lake_and_a_store_end_where_two_stores_end(tmp_path: Path, seed: int, where: int) -> None:
    scenario = draw(seed, NON_MONOTONIC) if seed % 3 == 0 else draw(seed)
    results, held = run_live(scenario, limits=LOOPS)
    holders: list[Any] = list(lakes_of(tmp_path, scenario))
    with SqliteStore(tmp_path / "store.sqlite") as store:
        store.put_many((scenario.left, scenario.right)[where])
        holders[where] = store
        report = converge(*parties(holders, scenario, limits=LOOPS), now=NOW)
        assert {str(record) for _, record in store.ids()} == held[where]
    assert ids(holders[1 - where]) == held[1 - where]
    for index in (0, 1):
        assert told(report.sides[index], report) == told_live(results[index])


RECORDS: list[Record] = [*chain(4), *(make_blob(b"blob %d" % number) for number in range(6))]


def both(left: Lake, right: Lake, policy: str = ALL, **settings: Any) -> tuple[LakeParty, LakeParty]:
    return party(left, 0, policy, EXPOSE_ALL, **settings), party(right, 1, policy, EXPOSE_ALL, **settings)


def test_equal_lakes_cost_nothing_and_history_is_kept(tmp_path: Path) -> None:
    left, right = lake_of(tmp_path / "a", RECORDS[:7]), lake_of(tmp_path / "b", RECORDS[4:])
    report = converge(*both(left, right), now=NOW)
    assert report.complete
    assert [(each.asked, each.received) for each in report.loops] == [((3, 4), (3, 4)), ((0, 0), (0, 0))]
    assert report.moved[("u", "root")][0] == 1
    assert ids(left) == ids(right) == {record.id for record in RECORDS}
    again = converge(*both(left, right), now=NOW)
    (loop,) = again.loops
    assert (loop.compared, loop.hashed, loop.asked) == (0, 0, (0, 0))
    assert loop.skipped > 0
    rows = left.snapshot().dataset("exchanges").to_table().to_pylist()
    assert [(row["cause"], row["loops"], row["came"], row["left"]) for row in rows] == [
        ("fixed-point", 2, 3, 4),
        ("fixed-point", 1, 0, 0),
    ]
    assert rows[0]["plan"] == report.plan
    page = report.to_report().to_html()
    for word in ("What moved", "Partitions compared", "//u//root"):
        assert word in page
    assert report.to_json()["complete"] is True
    assert fsck(left).is_sound
    assert fsck(right).is_sound
    assert not list(Path(left.where, "staged").iterdir())


def test_a_dry_run_says_what_would_move_and_moves_nothing(tmp_path: Path) -> None:
    left, right = lake_of(tmp_path / "a", RECORDS[:7]), lake_of(tmp_path / "b", RECORDS[4:])
    versions = left.snapshot().version, right.snapshot().version
    report = converge(*both(left, right), now=NOW, dry_run=True)
    assert [side.received for side in report.sides] == [3, 4]
    assert sum(records for records, _ in report.moved.values()) == 7
    assert (left.snapshot().version, right.snapshot().version) == versions
    assert not fsck(left).orphans
    assert not report.complete


def changed_at(*places: Path) -> dict[Path, int]:
    """Return when each folder and file was changed last."""
    inside = [each for place in places for each in (place, *place.rglob("*"))]
    return {each: each.stat().st_mtime_ns for each in inside}


@pytest.mark.parametrize("summarized", [False, True])
def test_a_dry_run_writes_nothing_into_lakes(tmp_path: Path, summarized: bool) -> None:
    left, right = lake_of(tmp_path / "a", RECORDS[:5]), lake_of(tmp_path / "b", RECORDS[4:])
    if summarized:  # and what is there is read beside what is made
        converge(*both(left, right), now=NOW)
        ingest(left, [lake_of(tmp_path / "c", [make_blob(b"one more")])])
    places = tmp_path / "a", tmp_path / "b"
    for each in changed_at(*places):
        os.utime(each, ns=(1, 1))  # long ago, so that a file that is made and removed is seen too
    before = changed_at(*places)
    seen: list[dict[Path, int]] = []
    report = converge(
        *both(left, right), now=NOW, dry_run=True, progress=lambda _: seen.append(changed_at(*places))
    )
    assert [side.received for side in report.sides] == ([0, 1] if summarized else [5, 4])
    assert all(each == before for each in seen)
    assert changed_at(*places) == before


@pytest.mark.req("050-164")
def test_what_is_no_record_is_rejected_and_not_asked_for_again(tmp_path: Path) -> None:
    left, right = lake_of(tmp_path / "a", RECORDS), lake_of(tmp_path / "b", [])
    damage(left, RECORDS[5].id)
    report = converge(*both(left, right), now=NOW)
    assert report.complete
    assert dict(report.sides[1].rejections) == {"record/hash-mismatch": 1}
    assert report.sides[1].received == len(RECORDS) - 1
    assert [each.asked[1] for each in report.loops] == [len(RECORDS), 0]
    (row,) = right.snapshot().dataset("rejects").to_table().to_pylist()
    assert row["code"] == "record/hash-mismatch"
    assert row["source"].startswith("exchange ")
    store = SqliteStore(tmp_path / "store.sqlite")
    report = converge(party(left, 0, ALL, EXPOSE_ALL), party(store, 1, ALL, EXPOSE_ALL), now=NOW)
    assert dict(report.sides[1].rejections) == {"record/hash-mismatch": 1}
    store.close()


@pytest.fixture(params=["lake", "store"])
def asker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lake | SqliteStore]:
    """Return a side that has nothing yet."""
    if request.param == "lake":
        yield lake_of(tmp_path / "b", [])
        return
    with SqliteStore(tmp_path / "store.sqlite") as store:
        yield store


def forget(side: Lake | SqliteStore, record: Record) -> None:
    """Let a side keep a record out, and a store one of another format, too, which no lake can hold."""
    if isinstance(side, SqliteStore):
        side.forget([record.id, RecordId(record.id.replace(".H3", ".H4"))])
    else:
        erase(side, [record.id], forget=True)


def test_what_was_forgotten_is_not_asked_for_until_it_is_allowed(
    tmp_path: Path, asker: Lake | SqliteStore
) -> None:
    forget(asker, RECORDS[4])
    left = lake_of(tmp_path / "a", RECORDS)
    parties = party(left, 0, ALL, EXPOSE_ALL), party(asker, 1, ALL, EXPOSE_ALL)
    would = converge(*parties, now=NOW, dry_run=True)
    report = converge(*parties, now=NOW)
    for each in (would, report):
        assert (each.sides[0].sent, each.loops[0].asked) == (len(RECORDS) - 1, (0, len(RECORDS) - 1))
    assert report.complete
    assert report.sides[1].rejections == {}
    assert converge(*parties, now=NOW).sides[0].bytes_sent == 0
    if isinstance(asker, SqliteStore):
        asker.allow([RECORDS[4].id])
    else:
        allow(asker, [RECORDS[4].id])
    assert converge(*parties, now=NOW).sides[1].received == 1


def test_what_is_forgotten_on_its_way_is_rejected_and_not_asked_for_again(
    tmp_path: Path, asker: Lake | SqliteStore
) -> None:
    left = lake_of(tmp_path / "a", RECORDS)
    parties = party(left, 0, ALL, EXPOSE_ALL), party(asker, 1, ALL, EXPOSE_ALL)
    meddle = at("move", 1, lambda: forget(asker, RECORDS[4]))
    report = converge(*parties, now=NOW, progress=meddle)
    assert report.complete
    assert dict(report.sides[1].rejections) == {"interlace/not-let-in": 1}
    assert [each.asked[1] for each in report.loops] == [len(RECORDS), 0]


def at(stage: str, loop: int, work: Callable[[], object]) -> Callable[[ConvergeProgress], None]:
    """Do something once, when a stage begins."""
    done = []

    def tell(progress: ConvergeProgress) -> None:
        if (progress.stage, progress.loop) == (stage, loop) and not done:
            done.append(work())

    return tell


@pytest.mark.req("050-158")
def test_what_is_erased_before_it_is_sent_is_not_sent(tmp_path: Path) -> None:
    left, right = lake_of(tmp_path / "a", RECORDS), lake_of(tmp_path / "b", [])
    meddle = at("serve", 1, lambda: erase(left, [RECORDS[4].id], forget=True))
    report = converge(*both(left, right), now=NOW, progress=meddle)
    assert report.complete
    assert report.sides[1].not_available == report.sides[0].held_back == 1
    assert ids(right) == {record.id for record in RECORDS} - {RECORDS[4].id}


@pytest.mark.req("050-169")
def test_a_lake_that_changes_meanwhile_is_seen_by_the_next_loop(tmp_path: Path) -> None:
    left, right = lake_of(tmp_path / "a", RECORDS[:5]), lake_of(tmp_path / "b", [])
    (tmp_path / "more.records").write_bytes(b"".join(record.raw for record in RECORDS[5:]))
    meddle = at("move", 1, lambda: ingest(left, [tmp_path / "more.records"]))
    report = converge(*both(left, right), now=NOW, progress=meddle)
    assert report.complete
    assert [each.received[1] for each in report.loops] == [5, len(RECORDS) - 5, 0]
    assert ids(right) == ids(left)


def test_summaries_that_were_damaged_between_two_runs_are_made_anew_and_said(tmp_path: Path) -> None:
    left, right = lake_of(tmp_path / "a", RECORDS), lake_of(tmp_path / "b", [])
    converge(*both(left, right), now=NOW)
    erase(right, [RECORDS[0].id])
    (file,) = left.snapshot().of("advertisements")
    path = Path(left.where, file.path)
    whole = path.read_bytes()
    at = pq.ParquetFile(path).metadata.row_group(0).column(1).data_page_offset  # of payloads
    path.write_bytes(whole[: at + 60] + bytes(60) + whole[at + 120 :])  # the same length, and other pages
    report = converge(*both(left, right), now=NOW)
    assert report.complete
    assert any("damaged" in note for note in report.notes)
    assert ids(right) == {record.id for record in RECORDS}
    assert fsck(left).is_sound


def test_policies_that_select_or_expose_nothing_say_so(tmp_path: Path) -> None:
    left, right = lake_of(tmp_path / "a", RECORDS[4:]), lake_of(tmp_path / "b", RECORDS[:4])
    report = converge(party(left, 0, GROUP_U, EXPOSE_U), party(right, 1, GROUP_U, None), now=NOW)
    assert report.complete
    assert "the two policies together select none of its records" in report.notes[0]
    assert "nothing is exposed to this peer" in report.notes[1]


def test_a_plan_that_the_other_side_refuses_ends_before_anything_is_read(tmp_path: Path) -> None:
    left, right = create_lake(tmp_path / "a"), create_lake(tmp_path / "b")
    other = party(right, 1, ALL, EXPOSE_ALL, formats=frozenset({"H9"}))
    report = converge(party(left, 0, ALL, EXPOSE_ALL), other, now=NOW)
    assert report.error is not None
    assert report.error.code == "interlace/record-format"
    assert not report.complete


def test_limits_end_it_with_their_names_and_running_again_goes_on(tmp_path: Path) -> None:
    left, right = lake_of(tmp_path / "a", chain(5)), lake_of(tmp_path / "b", [])
    few = ExchangeLimits(max_loop_iterations=2)
    report = converge(*both(left, right, LINKED, limits=few), now=NOW)
    assert {side.cause for side in report.sides} == {Cause.LOOP_LIMIT}
    assert report.sides[1].received == 2
    again = converge(*both(left, right, LINKED), now=NOW)
    assert again.complete
    assert again.sides[1].received == 3
    tight = OperandLimits(peer=EvaluationLimits(steps=2))
    stopped = converge(*both(left, create_lake(tmp_path / "c"), LINKED), now=NOW, limits=tight)
    assert stopped.error is not None
    assert stopped.error.code == "policy/operand-stopped"
    assert stopped.sides[0].cause is Cause.LIMIT
    row = left.snapshot().dataset("exchanges").to_table().to_pylist()[-1]
    assert row["error"] == "policy/operand-stopped"
