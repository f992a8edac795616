"""Upkeep on executors does what upkeep here does, and its errors arrive as themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lace.pipeline import BadDataFile, Lake, create_lake, spark_schema
from lace.pipeline.lake.erase import erase
from lace.pipeline.lake.fsck import fsck
from lace.pipeline.lake.optimize import optimize
from lace.pipeline.tables import TABLES
from tests.pipeline.lake.filling import everything, fill, fill_rejects
from tests.stores.samples import sample, samples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_upkeep_on_executors_is_upkeep_here(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    other = create_lake(tmp_path / "other")
    for each, session in ((lake, spark), (other, None)):
        for n in range(3):
            fill(each, samples(10 * n, 10 * n + 10), f"batch {n}")
        erase(each, [sample(1).id, sample(25).id], forget=True, session=session)
        optimize(each, session)
    assert everything(lake.snapshot()) == everything(other.snapshot())
    here, there = fsck(other), fsck(lake, spark)
    assert here.is_sound
    assert (here.records, here.facts, here.files) == (there.records, there.facts, there.files)


def test_damage_that_a_task_meets_arrives_as_itself(spark: SparkSession, lake: Lake) -> None:
    fill(lake, samples(0, 10), "one")
    snapshot = fill(lake, samples(10, 20), "two")
    path = Path(lake.where, snapshot.of("records")[0].path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(BadDataFile, match="restore the file from a copy"):
        optimize(lake, spark)
    assert fsck(lake, spark).faults == fsck(lake).faults


@pytest.mark.parametrize("name", ["lake", "a b[1]{x},é%20*?\\\\d", "day=3"])
def test_spark_reads_exactly_the_files_of_a_version(spark: SparkSession, tmp_path: Path, name: str) -> None:
    lake = create_lake(tmp_path / name)
    old = fill(lake, samples(0, 10), "one")
    fill(lake, samples(10, 20), "two")
    new = fill_rejects(lake, [("a", 1)], "three")
    for snapshot in (old, new):
        for table in ("records", "fields", "rejects", "forgotten"):
            frame = snapshot.frame(spark, table)
            assert frame.schema == spark_schema(table)
            rows = sorted((tuple(row) for row in frame.collect()), key=repr)
            assert rows == sorted(everything(snapshot)[table], key=repr)
    assert set(TABLES) == set(new.files)
