"""One Spark for a whole test run: import the fixture `spark` from here.

Starting Java takes seconds, so there is one session a process, and no test stops or reconfigures it.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

apart = pytest.mark.spark
"""Marks a test whose Spark runs in a process of its own, so that any worker may run it."""
MISSING = [name for name in ("pyspark", "pyarrow", "pandas") if find_spec(name) is None]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Return the session of this test run, on two cores of this machine."""
    if MISSING:
        pytest.skip(f"the spark extra is not installed: no {', '.join(MISSING)}")
    from lace.pipeline import start_session

    session = start_session("local[2]", app="lace tests", config={"spark.driver.memory": "1g"})
    yield session
    session.stop()
