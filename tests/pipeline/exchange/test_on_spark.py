"""Spark decides and advertises what the live machine does, over frames and in one task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lace.algebra import EvaluationLimits
from lace.engines import Database
from lace.facts import facts_of_record
from lace.pipeline import LAKE_LIMITS, Given, OnSpark, converge, keep_summary
from lace.pipeline.exchange.compare import NEAR_ROWS
from lace.pipeline.exchange.decide import SMALL_ROWS
from lace.policy import OperandLimits, OperandStopped, Snapshot
from tests.interlace.pair import Clock
from tests.interlace.scenarios import draw
from tests.pipeline.exchange.live import draw_plan, ids, parties, run_live
from tests.pipeline.exchange.test_keep import check, wide
from tests.pipeline.lakes import lake_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FRAMES = TASKS = 0


def check_plan(spark: SparkSession, tmp_path: Path, seed: int, small_rows: int) -> int:
    """Compare one random plan; return how much may be sent and asked for."""
    drawn = draw_plan(seed)
    # Spark takes paths for patterns, and this one for another place.
    lake = lake_of(tmp_path / f"{seed} [a]", drawn.records[:4], drawn.records[4:])
    decider = OnSpark(spark, drawn.rules, LAKE_LIMITS, small_rows=small_rows)
    given, live = drawn.given(lake), drawn.live()
    kept = keep_summary(lake, lake.snapshot(), drawn.subject, decider, given, heard="x")
    check(kept, lake, drawn)
    asked = decider.frame(decider.may_request(lake.snapshot(), given)).collect()
    assert {row["record"] for row in asked} == live.may_request, seed
    assert len(asked) == len(live.may_request)
    decider.close()
    return kept.summary.records + len(live.may_request)


def test_ten_random_plans_are_decided_as_by_the_live_machine(spark: SparkSession, tmp_path: Path) -> None:
    seeds = range(20, 30)
    selected = [check_plan(spark, tmp_path, seed, FRAMES if seed == 25 else SMALL_ROWS) for seed in seeds]
    assert sum(count > 0 for count in selected) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("start", range(30, 80, 10))
def test_fifty_random_plans_are_decided_as_by_the_live_machine(
    spark: SparkSession, tmp_path: Path, start: int
) -> None:
    for seed in range(start, start + 10):
        check_plan(spark, tmp_path, seed, FRAMES)


@pytest.mark.parametrize(("seed", "rows"), [(7, (SMALL_ROWS, NEAR_ROWS)), (4, (FRAMES, TASKS))])
def test_two_lakes_converge_on_spark_to_where_two_stores_end(
    spark: SparkSession, tmp_path: Path, seed: int, rows: tuple[int, int]
) -> None:
    scenario = draw(seed)
    _, held = run_live(scenario)
    lakes = [
        lake_of(tmp_path / f"{at} {{a}}*", each) for at, each in enumerate((scenario.left, scenario.right))
    ]
    sides, (small_rows, near_rows) = parties(lakes, scenario), rows
    report = converge(*sides, spark, now=Clock().now(), small_rows=small_rows, near_rows=near_rows)
    assert report.complete
    assert sum(side.received for side in report.sides) > 0
    assert [ids(lake) for lake in lakes] == [*held]
    assert not [path for lake in lakes for path in Path(lake.where, "staged").glob("*")]


def test_an_operand_stops_at_the_limit_that_stops_it_live(spark: SparkSession, tmp_path: Path) -> None:
    drawn = wide()
    lake = lake_of(tmp_path / "lake", drawn.records)
    tight = OperandLimits(peer=EvaluationLimits(steps=1))
    facts = [fact for record in drawn.records for fact in facts_of_record(record)]
    with pytest.raises(OperandStopped):
        drawn.rules.policy(tight).evaluate(Snapshot(Database(facts), drawn.runtime))
    with pytest.raises(OperandStopped) as stopped:
        OnSpark(spark, drawn.rules, tight, small_rows=FRAMES).may_send(lake.snapshot(), Given(drawn.runtime))
    assert stopped.value.fields["whose"] == "the peer's"
