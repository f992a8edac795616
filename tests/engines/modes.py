"""The ways in which the embedded engine can run a program, forced one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from lace.engines import bound, columnar, dictionary, driver, index, relations, table, view, whole

_LOOPS = {(driver, "FEW"): 1 << 60, (driver, "SMALL"): 1 << 60, (whole, "MOST_ROWS"): -1}
_COLUMNS = {(driver, "FEW"): 0, (driver, "SMALL"): 0, (whole, "MOST_ROWS"): -1}

MODES: dict[str, dict[tuple[ModuleType, str], int]] = {
    "as it chooses": {},
    "columns only": _COLUMNS,
    "columns from the second row on": {
        **_COLUMNS,
        (table, "TAIL_ROWS"): 2,
        (relations, "FEW_FACTS"): 2,
        (relations, "FEW_MORE"): 1,
        (dictionary, "FEW_TEXTS"): 0,
        (view, "FEW_SEEN"): 2,
        (view, "FEW_MORE"): 1,
    },
    "columns in pieces": {
        **_COLUMNS,
        (columnar, "PIECE"): 3,
        (index, "PIECE"): 3,
        (index, "FEW_KEYS"): 0,
    },
    "loops only": _LOOPS,
    "loops that prove too long": {**_LOOPS, (bound, "MOST_STEPS"): 3},
    "whole programs": {(whole, "MOST_ROWS"): 1 << 60, (whole, "WALKS"): 0},
    "walked programs": {(whole, "MOST_ROWS"): 1 << 60, (whole, "WALKS"): 1 << 60},
}


@contextmanager
def mode(name: str) -> Iterator[None]:
    """Run programs in one way only."""
    before = {place: getattr(*place) for place in MODES[name]}
    try:
        for place, value in MODES[name].items():
            setattr(*place, value)
        yield
    finally:
        for place, value in before.items():
            setattr(*place, value)
