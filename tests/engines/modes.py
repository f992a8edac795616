"""The ways in which the embedded engine can run a program, forced one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lace.engines import driver, whole

MODES = {
    "as it chooses": (driver.FEW, driver.SMALL, whole.MOST_ROWS, whole.WALKS),
    "columns only": (0, 0, -1, 0),
    "loops only": (1 << 60, 1 << 60, -1, 0),
    "whole programs": (driver.FEW, driver.SMALL, 1 << 60, 0),
    "walked programs": (driver.FEW, driver.SMALL, 1 << 60, 1 << 60),
}


@contextmanager
def mode(name: str) -> Iterator[None]:
    """Run programs in one way only."""
    before = driver.FEW, driver.SMALL, whole.MOST_ROWS, whole.WALKS
    driver.FEW, driver.SMALL, whole.MOST_ROWS, whole.WALKS = MODES[name]
    try:
        yield
    finally:
        driver.FEW, driver.SMALL, whole.MOST_ROWS, whole.WALKS = before
