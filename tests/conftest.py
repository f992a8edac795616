"""What every test can use: the ledger of requirements, Hypothesis profiles, the golden vectors."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.golden import load_vectors
from tests.ledger import Ledger, name_rows

# A plain run looks at the same examples each time, so that a failure is the change's and not the day's.
settings.register_profile("quick", max_examples=50, deadline=None, derandomize=True, database=None)
# The soak looks for new ones and prints how to see them again.
settings.register_profile(
    "deep", max_examples=5_000, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
# Tests are short: no test earns back what the second compiler of Java costs.
os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).parent / "spark_conf"))
PROFILE = os.environ.get("LACE_HYPOTHESIS")
settings.load_profile(PROFILE or "quick")


def pytest_configure(config: pytest.Config) -> None:
    if PROFILE is None and config.option.markexpr.strip() == "slow":
        settings.load_profile("deep")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Ledger(config.rootpath / "build" / "ledger.json"))


@pytest.hookimpl(optionalhook=True)  # a plain run has no workers
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from tests.workers import OneJava

    return OneJava(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    name_rows(items)


def pytest_collection_finish() -> None:
    # What was imported and collected stays to the end: nobody has to look through it for garbage again.
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def vectors() -> Callable[[str], Any]:
    """Return the reader of tests/vectors/NAME.json."""
    return load_vectors
