"""Turn joins whose other columns nobody reads into semijoins, and drop steps that stand twice.

A join multiplies rows; where only the fact that there is a partner matters, keeping is enough. Cross
products of atoms that share nothing shrink to "is there any".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lace.algebra.nodes import (
    AntiJoin,
    Column,
    Constant,
    Filter,
    Join,
    Part,
    Pipeline,
    RankTest,
    Scan,
    SemiJoin,
    Step,
)


def drop_repeats(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline with each step once: a conjunction says nothing new the second time."""
    if not _may_repeat(pipeline.steps):
        return pipeline
    steps = tuple(dict.fromkeys(pipeline.steps))
    return pipeline if len(steps) == len(pipeline.steps) else replace(pipeline, steps=steps)


def _may_repeat(steps: tuple[Step, ...]) -> bool:
    """Tell whether two steps look alike at first sight: comparing them whole takes longer."""
    if len(steps) == 1:
        return False
    seen: set[object] = set()
    for step in steps:
        if type(step) is Join or type(step) is AntiJoin:
            scan = step.scan
            sketch: object = (
                type(step),
                scan.predicate,
                *[place.value if isinstance(place, Constant) else place is None for place in scan.places],
            )
        else:
            sketch = type(step)
        if sketch in seen:
            return True
        seen.add(sketch)
    return False


def keep_instead_of_join(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline with semijoins wherever a join binds nothing that is read later."""
    last = _last_reads(pipeline)
    steps: list[Step] = []
    bound: set[str] = set()
    for at, step in enumerate(pipeline.steps):
        if type(step) is Join:
            fresh = [name for name in step.scan.columns() if name not in bound]
            unread = [name for name in fresh if last[name] <= at]
            scan = _forget(step.scan, unread) if unread else step.scan
            # What is new in a relation has to be walked through, whatever is read of it.
            if len(unread) == len(fresh) and scan.part is not Part.NEW:
                steps.append(SemiJoin(scan))
            else:
                steps.append(step if scan is step.scan else Join(scan))
            bound.update(fresh)
        else:
            steps.append(step)
    return Pipeline(tuple(steps), pipeline.head, pipeline.project)


def _last_reads(pipeline: Pipeline) -> dict[str, int]:
    """Return the last step that reads each column; the head comes after all steps."""
    last: dict[str, int] = {}
    for at, step in enumerate(pipeline.steps):
        for name in _reads(step):
            last[name] = at
    for term in pipeline.project:
        if isinstance(term, Column):
            last[term.name] = len(pipeline.steps)
    return last


def _reads(step: Step) -> Iterable[str]:
    if type(step) is Join:
        return step.scan.columns()
    if isinstance(step, Filter):
        return [term.name for term in step.test.terms() if isinstance(term, Column)]
    return (step.item.name,) if isinstance(step, RankTest) else step.scan.columns()


def _forget(scan: Scan, unread: list[str]) -> Scan:
    """Return the scan without names that stand once and are not read; a repeated one means equality."""
    names = [place.name for place in scan.places if isinstance(place, Column)]
    once = [name for name in unread if names.count(name) == 1]
    if not once:
        return scan
    places = [None if isinstance(place, Column) and place.name in once else place for place in scan.places]
    return Scan(scan.predicate, tuple(places), scan.part, scan.view)
