"""Turn joins whose other columns nobody reads into semijoins, and drop steps that stand twice.

A join multiplies rows; where only the fact that there is a partner matters, keeping is enough. Cross
products of atoms that share nothing shrink to "is there any".
"""

from __future__ import annotations

from dataclasses import replace

from lace.algebra.nodes import Column, Filter, Join, Part, Pipeline, RankTest, Scan, SemiJoin, Step, scans


def drop_repeats(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline with each step once: a conjunction says nothing new the second time."""
    return replace(pipeline, steps=tuple(dict.fromkeys(pipeline.steps)))


def keep_instead_of_join(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline with semijoins wherever a join binds nothing that is read later."""
    last = _last_reads(pipeline)
    steps: list[Step] = []
    bound: set[str] = set()
    for at, step in enumerate(pipeline.steps):
        if isinstance(step, Join):
            fresh = [name for name in step.scan.columns() if name not in bound]
            unread = {name for name in fresh if last[name] <= at}
            scan = _forget(step.scan, unread)
            # What is new in a relation has to be walked through, whatever is read of it.
            if unread == set(fresh) and step.scan.part is not Part.NEW:
                steps.append(SemiJoin(scan))
            else:
                steps.append(Join(scan))
            bound.update(fresh)
        else:
            steps.append(step)
    return replace(pipeline, steps=tuple(steps))


def _last_reads(pipeline: Pipeline) -> dict[str, int]:
    """Return the last step that reads each column; the head comes after all steps."""
    last: dict[str, int] = {}
    for at, step in enumerate(pipeline.steps):
        for name in _reads(step, pipeline):
            last[name] = at
    for term in pipeline.project:
        if isinstance(term, Column):
            last[term.name] = len(pipeline.steps)
    return last


def _reads(step: Step, pipeline: Pipeline) -> list[str]:
    if isinstance(step, Filter):
        return [term.name for term in step.test.terms() if isinstance(term, Column)]
    if isinstance(step, RankTest):
        return [step.item.name]
    return [name for scan in scans(Pipeline((step,), pipeline.head, ())) for name in scan.columns()]


def _forget(scan: Scan, unread: set[str]) -> Scan:
    """Return the scan without names that stand once and are not read; a repeated one means equality."""
    names = [place.name for place in scan.places if isinstance(place, Column)]
    return replace(
        scan,
        places=tuple(
            None
            if isinstance(place, Column) and place.name in unread and names.count(place.name) == 1
            else place
            for place in scan.places
        ),
    )
