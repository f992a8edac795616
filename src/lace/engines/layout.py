"""What each step of a pipeline reads and binds when it runs over columns: known before there are facts."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from lace.algebra import Column, Constant, Filter, Join, Pipeline, Place, RankTest, Scan, Step
from lace.engines.relations import places_left
from lace.facts import Predicate


class Pattern(NamedTuple):
    """A scan against the columns that are bound before it."""

    scan: Scan
    bound: tuple[tuple[int, str], ...]
    fixed: tuple[tuple[int, str], ...]
    """Places that hold a text."""
    fresh: tuple[tuple[str, int], ...]
    """The first place of each column that the scan binds."""
    equal: tuple[tuple[int, int], ...]
    """Places that must hold the same value, because a column stands at both."""


class LaidStep(NamedTuple):
    """One step of a pipeline."""

    step: Step
    pattern: Pattern | None
    """Of what it scans; a filter and a rank scan nothing."""
    left: tuple[str, ...]
    """The columns bound before it that are read after it."""


def lay_out(pipeline: Pipeline, derived: Collection[Predicate]) -> tuple[LaidStep, ...]:
    """Return the steps of a pipeline, each with what it finds bound and what it leaves.

    >>> from lace.algebra import Constant
    >>> link = Scan(Predicate("Link", 3), (Column("P"), Constant("see"), Column("Q")))
    >>> member = Join(Scan(Predicate("Member", 1), (Column("P"),)))
    >>> first, second = lay_out(Pipeline((member, Join(link)), Predicate("Seen", 1), (Column("Q"),)), ())
    >>> second.pattern.bound, second.pattern.fixed, second.pattern.fresh, second.left
    (((0, 'P'),), ((1, 'see'),), (('Q', 2),), ())
    """
    last = {name: at for at, step in enumerate(pipeline.steps) for name in step.columns()}
    last.update((term.name, len(pipeline.steps)) for term in pipeline.project if isinstance(term, Column))
    bound: tuple[str, ...] = ()
    laid = []
    for at, step in enumerate(pipeline.steps):
        pattern = None if isinstance(step, (Filter, RankTest)) else _pattern(step.scan, bound, derived)
        left = tuple(name for name in bound if last[name] > at)
        laid.append(LaidStep(step, pattern, left))
        if isinstance(step, Join) and pattern is not None:
            bound = (*left, *(name for name, _ in pattern.fresh))
    return tuple(laid)


def _pattern(scan: Scan, known: Collection[str], derived: Collection[Predicate]) -> Pattern:
    bound: list[tuple[int, str]] = []
    fixed: list[tuple[int, str]] = []
    fresh: dict[str, int] = {}
    equal: list[tuple[int, int]] = []
    place: Place
    for at, place in enumerate(places_left(scan, derived)):
        if isinstance(place, Constant):
            fixed.append((at, place.value))
        elif isinstance(place, Column):
            if place.name in known:
                bound.append((at, place.name))
            elif place.name in fresh:
                equal.append((fresh[place.name], at))
            else:
                fresh[place.name] = at
    return Pattern(scan, tuple(bound), tuple(fixed), tuple(fresh.items()), tuple(equal))
