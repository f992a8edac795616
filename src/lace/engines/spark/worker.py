"""What runs inside a task: the embedded engine over the rows that reached it.

Rules of this file:
1. Rows come and go as Arrow batches with a number that says whose they are; nothing is pickled row by row.
2. Every fact that a part counts as derived is one of the evaluation; facts that rules or parts find twice are
   counted by who sees all of them.
3. The last row says what the run cost, or why it stopped: an error crosses the border as a value, so that
   a limit is told as a limit and not as a failed task.
"""

from __future__ import annotations

import base64
import json
import pickle
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lace.algebra import Budget, EvaluationLimits, RelationProgram
from lace.engines.embedded import Database
from lace.engines.result import EmbeddedResult
from lace.errors import LaceError
from lace.facts import Predicate

SAYS = -1
"""The number of the row that says what a run cost, and of the one that tells the first part that it is."""
_BATCH = 1 << 16


@dataclass(frozen=True, slots=True)
class Unit:
    """One program for every part, with the numbers of its relations."""

    program: RelationProgram
    inputs: tuple[tuple[int, Predicate], ...]
    outputs: tuple[tuple[int, Predicate], ...]
    seeds: frozenset[Predicate]
    """Relations whose rows are no joins of the program's own: reading them is not counted."""
    once: bool
    """Whether only the first part runs it."""


@dataclass(frozen=True, slots=True)
class Job:
    """Everything a task needs to know."""

    units: tuple[Unit, ...]
    limits: EvaluationLimits
    steps: int
    derived: int
    seconds: float | None
    width: int


def schema(width: int) -> str:
    """Return the columns of what comes out."""
    return ", ".join(["tag int", "step int", *(f"c{at} string" for at in range(width))])


def runner(job: Job) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that a task runs over its batches."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _run(job, batches)

    return run


def _run(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    held = [batch for batch in batches if batch.num_rows]
    if not held:
        return
    rows = pa.Table.from_batches(held)
    tags = rows.column("tag")
    is_first = pc.any(pc.equal(tags, SAYS)).as_py()
    said: dict[str, Any] = {"steps": 0, "rounds": {}, "rows": {}}
    now = None if job.seconds is None else time.monotonic
    limits = replace(job.limits, seconds=job.seconds, base_facts=1 << 62, runtime_facts=1 << 62)
    budget = Budget(limits, now=now, steps=job.steps, derived=job.derived)
    most: dict[int, int] = {}
    try:
        for unit in job.units:
            if unit.once and not is_first:
                continue
            # Rules of one head are units of their own and may find the same facts: only the most that one of
            # them found is sure. The driver counts exactly when all are together.
            own = {tag for tag, _ in unit.outputs}
            budget.derived = job.derived + sum(found for tag, found in most.items() if tag not in own)
            budget.held = 0  # the rows of the unit before are on their way
            database = Database(value_bytes=1 << 31)
            for tag, predicate in unit.inputs:
                _load(
                    database,
                    predicate,
                    rows.filter(pc.equal(tags, tag)),
                    uncounted=predicate in unit.seeds,
                    budget=budget,
                )
            evaluation = database.evaluate(unit.program, budget)
            result = evaluation.result()
            for component in unit.program.components:
                first = component.predicates[0]
                said["rounds"][str(first)] = evaluation.rounds.get(first, 0)
            for tag, predicate in unit.outputs:
                found = result.count(predicate)
                most[tag] = max(found, most.get(tag, 0))
                said["rows"][str(tag)] = said["rows"].get(str(tag), 0) + found
                yield from _batches(result, tag, predicate, job.width)
    except LaceError as error:
        said["error"] = base64.b64encode(pickle.dumps(_plain(error))).decode("ascii")
    said["steps"] = budget.steps - job.steps
    yield _batch(SAYS, [0], [[json.dumps(said)]], job.width)


def _plain(error: LaceError) -> LaceError:
    """Return the error with fields that need no code of ours on the other side."""
    error.fields = {
        name: value if isinstance(value, int | str) else str(value) for name, value in error.fields.items()
    }
    return error


def _load(
    database: Database, predicate: Predicate, rows: pa.Table, *, uncounted: bool, budget: Budget
) -> None:
    if not rows.num_rows:
        return
    relations = database.relations
    if predicate.arity == 0:
        # Whether there is such a fact is asked, and takes no step that would not count.
        relations.add(predicate, [()])
        return
    if uncounted:
        budget.steps -= rows.num_rows
    columns = []
    for at in range(predicate.arity):
        # A text is looked up once, however many rows hold it.
        coded = rows.column(f"c{at}").combine_chunks().dictionary_encode()
        coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
        texts = relations.dictionary.intern_column(coded.dictionary.to_pylist())
        columns.append(texts[coded.indices.to_numpy(zero_copy_only=False)])
    relations.add_columns(predicate, columns)


def _batches(result: EmbeddedResult, tag: int, predicate: Predicate, width: int) -> Iterator[pa.RecordBatch]:
    rows = result.unsorted(predicate)
    steps = result.rounds(predicate)
    for start in range(0, len(rows), _BATCH):
        part = rows[start : start + _BATCH]
        columns = [list(column) for column in zip(*part, strict=True)] or [[""] * len(part)]
        yield _batch(tag, steps[start : start + _BATCH], columns, width)


def _batch(tag: int, steps: list[int], columns: list[list[str]], width: int) -> pa.RecordBatch:
    size = len(steps)
    arrays = [pa.array(np.full(size, tag, np.int32)), pa.array(steps, pa.int32())]
    arrays += [pa.array(column, pa.string()) for column in columns]
    arrays += [pa.nulls(size, pa.string())] * (width - len(columns))
    return pa.RecordBatch.from_arrays(arrays, names=["tag", "step", *(f"c{at}" for at in range(width))])
