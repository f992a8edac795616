"""No predicate may depend on its own absence or count (030, Stratification)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from lace.datalog.check.draft import Draft
from lace.datalog.dependencies import Dependency
from lace.datalog.diagnostics import Diagnostic, diagnose, shown
from lace.facts import Predicate

_ARROWS = {"positive": "needs", "negative": "needs the absence of", "cardinality": "counts"}
_MOST_STEPS = 12


def check_strata(draft: Draft) -> Iterator[Diagnostic]:
    """Find a cycle through a negated or counted atom in each group of predicates that need each other.

    030: "no predicate may transitively depend on itself through a negative edge or cardinality edge".
    """
    if not _any_strict(draft):
        return
    group_of = {predicate: at for at, group in enumerate(draft.components) for predicate in group}
    inside: dict[int, list[Dependency]] = {}
    for need in draft.needs:
        at = group_of[need.head]
        if at == group_of.get(need.on):
            inside.setdefault(at, []).append(need)
    for needs in inside.values():
        strict = next((need for need in needs if need.strict), None)
        if strict is not None:
            cycle = [strict, *_way(needs, strict.on, strict.head)]
            yield diagnose(
                "L-501",
                strict.span,
                predicate=shown(str(strict.head)),
                what="absence" if strict.kind == "negative" else "count",
                cycle=_spelled(cycle),
            )


def _any_strict(draft: Draft) -> bool:
    """Tell whether there is such a cycle, from what the finished program needs to know as well."""
    strict = [need for need in draft.canonical_needs if need.kind != "positive"]
    if not strict:
        return False
    group_of = {p: at for at, group in enumerate(draft.canonical_components) for p in group}
    return any(group_of[need.head] == group_of.get(need.on) for need in strict)


def _way(needs: list[Dependency], start: Predicate, goal: Predicate) -> list[Dependency]:
    """Find the shortest way from one predicate to another, breadth first."""
    out: dict[Predicate, list[Dependency]] = {}
    for need in needs:
        out.setdefault(need.head, []).append(need)
    came: dict[Predicate, Dependency] = {}
    queue = deque([start])
    while queue and goal not in came and start != goal:
        for need in out.get(queue.popleft(), ()):
            if need.on not in came and need.on != start:
                came[need.on] = need
                queue.append(need.on)
    way: list[Dependency] = []
    at = goal
    while at != start:
        way.append(came[at])
        at = came[at].head
    return way[::-1]


def _spelled(cycle: list[Dependency]) -> str:
    """Write a cycle out: A/1 needs the absence of B/1 (line 1), which counts A/1 (line 2)."""
    steps = [
        f"{_ARROWS[need.kind]} {shown(str(need.on))}"
        + (f" (line {need.span.line})" if need.span.line else "")
        for need in cycle
    ]
    if len(steps) > _MOST_STEPS:
        steps[_MOST_STEPS - 1 : -1] = [f"… {len(steps) - _MOST_STEPS} more steps …"]
    return f"{shown(str(cycle[0].head))} " + ", which ".join(steps)
