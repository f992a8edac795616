"""Which strategy suits a component, and which rows it needs: by its rules and by how many rows there are.

Rules of this file:
1. What is chosen never changes what comes out. It is reported with its reason.
2. Relations that are small are not looked at more closely; of large ones only rows that fit a scan count.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from lace.algebra import Component, Constant, Scan, scans, whole
from lace.engines.relations import PARTED
from lace.engines.spark.split import Way, split_recursion
from lace.engines.spark.state import State
from lace.facts import Predicate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LOCAL_ROWS = 200_000
"""A component that reads no more rows runs in one task."""
SENT_ROWS = 4_000_000
"""So many rows of other relations are sent to every part at the most."""
_MOST_FILTERS = 64
"""With more patterns than this a relation is sent whole."""


def choose(state: State, component: Component, made: set[Predicate]) -> tuple[str, str]:
    """Return a strategy and why; what is made in the same task is not there yet, and not counted."""
    rows = _rows_read(state, component, made)
    if rows <= LOCAL_ROWS:
        return "local", f"reads {rows:,} rows"
    if not component.recursive:
        return "loop", "no recursion"
    recursion = split_recursion(component)
    if recursion is None or is_supplied(state, component):
        return "loop", "recursion that cannot be cut"
    sent = sum(
        _fitting(state, component, predicate)
        for predicate, route in recursion.routes.items()
        if route is Way.ALL
    )
    if sent > SENT_ROWS:
        return "loop", f"{sent:,} rows would go to every part"
    return "parts", "keeps a column" if recursion.kept is not None else "linear recursion"


def _rows_read(state: State, component: Component, made: set[Predicate]) -> int:
    read = reads(component) - {*component.predicates, *made}
    total = sum(state.relation(predicate).size for predicate in read)
    if total <= LOCAL_ROWS:
        return total
    return sum(_fitting(state, component, predicate) for predicate in read)


def _fitting(state: State, component: Component, predicate: Predicate) -> int:
    """Return how many rows of a relation fit one of the component's scans at the most."""
    size = state.relation(predicate).size
    read = {
        replace(scan, view=None)
        for rule in component.rules
        for scan in scans(whole(rule))
        if scan.predicate == predicate
    }
    is_view = any(scan.view == predicate for rule in component.rules for scan in scans(rule.source))
    if size <= LOCAL_ROWS // 4 or is_view:
        return size
    return min(size, sum(state.count(scan) for scan in read))


def is_supplied(state: State, component: Component) -> bool:
    """Tell whether facts were supplied for what a component derives."""
    return any(state.relation(predicate).supplied_count for predicate in component.predicates)


def reads(component: Component) -> set[Predicate]:
    """Return the predicates that a component reads, its own and views included."""
    return {p for rule in component.rules for scan in scans(rule.source) for p in scan.reads()}


def fitting_rows(
    state: State, group: Iterable[Component], predicate: Predicate, derived: Container[Predicate]
) -> DataFrame | None:
    """Return the rows of a relation that some scan of the components fits; all of what rules derive."""
    frame = state.relation(predicate).known()
    if frame is None or predicate in derived:
        return frame
    wanted = set()
    for component in group:
        for rule in component.rules:
            for scan in scans(rule.source):
                if scan.view == predicate:
                    return frame
                if scan.predicate == predicate:
                    wanted.add(_constants(scan, whole=component.closure is not None))
    if () in wanted or not wanted or len(wanted) > _MOST_FILTERS:
        return frame
    kept = F.lit(False)
    for pattern in sorted(wanted):
        fits = F.lit(True)
        for at, text in pattern:
            fits = fits & (F.col(f"c{at}") == F.lit(text))
        kept = kept | fits
    return frame.filter(kept)


def _constants(scan: Scan, *, whole: bool) -> tuple[tuple[int, str], ...]:
    """Return the places at which a scan has constants.

    How a closure is counted depends on how large the table of its edges is: `whole` keeps only the constant
    by which the embedded engine has a table of its own.
    """
    return tuple(
        (at, place.value)
        for at, place in enumerate(scan.places)
        if isinstance(place, Constant) and (not whole or at == PARTED.get(scan.predicate))
    )
