"""Turn joins whose other columns nobody reads into semijoins.

A join multiplies rows; where only the fact that there is a partner matters, keeping is enough. Cross
products of atoms that share nothing shrink to "is there any".
"""

from __future__ import annotations

from dataclasses import replace

from lace.algebra.nodes import Column, Filter, Join, Part, Pipeline, RankTest, Scan, SemiJoin, Step, scans


def keep_instead_of_join(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline with semijoins wherever a join binds nothing that is read later."""
    steps: list[Step] = []
    bound: set[str] = set()
    for at, step in enumerate(pipeline.steps):
        if isinstance(step, Join):
            later = _read_by(pipeline, at + 1)
            fresh = [name for name in step.scan.columns() if name not in bound]
            unread = {name for name in fresh if name not in later}
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


def _read_by(pipeline: Pipeline, start: int) -> set[str]:
    read = {term.name for term in pipeline.project if isinstance(term, Column)}
    for step in pipeline.steps[start:]:
        if isinstance(step, Filter):
            read.update(term.name for term in step.test.terms() if isinstance(term, Column))
        elif isinstance(step, RankTest):
            read.add(step.item.name)
        else:
            for scan in scans(Pipeline((step,), pipeline.head, ())):
                read.update(scan.columns())
    return read


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
