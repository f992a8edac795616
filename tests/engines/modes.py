"""The three ways in which the embedded engine can run a pipeline, forced one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lace.engines import driver

MODES = {
    "as it chooses": (driver.FEW, driver.SMALL),
    "columns only": (0, 0),
    "loops only": (1 << 60, 1 << 60),
}


@contextmanager
def mode(name: str) -> Iterator[None]:
    """Run pipelines in one way only."""
    before = driver.FEW, driver.SMALL
    driver.FEW, driver.SMALL = MODES[name]
    try:
        yield
    finally:
        driver.FEW, driver.SMALL = before
