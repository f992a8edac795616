"""What tests of engines share: one Spark session, and a view of it for many tiny plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.sparkling import spark as spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL_PLANS = {
    # Compiling a plan to bytecode pays when it reads more than a handful of rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.leafNodeDefaultParallelism": "1",
}


@pytest.fixture(scope="session")
def tiny(spark: SparkSession) -> SparkSession:
    """Return a session beside the shared one, set up for plans over a few rows."""
    session = spark.newSession()
    for name, value in SMALL_PLANS.items():
        session.conf.set(name, value)
    return session
