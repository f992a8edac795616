"""What a task counts: only what is surely derived."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa

from lace.algebra import EvaluationLimits
from lace.datalog import compile_program, parse_program
from lace.engines.spark.inside import bare
from lace.engines.spark.worker import SAYS, Job, Unit, runner
from lace.facts import Predicate

pytestmark = pytest.mark.spark

A, B = Predicate("A", 1), Predicate("B", 1)


def said(text: str, limit: int) -> str:
    """Run each rule as a unit of its own over ten facts of A and of B; return what the task says."""
    program = compile_program(parse_program(text))
    heads = list(program.derived())
    units = tuple(
        Unit(
            bare(program.with_components((replace(component, predicates=(rule.head,), rules=(rule,)),))),
            ((10, A), (11, B)),
            ((heads.index(rule.head), rule.head),),
            frozenset(),
            once=False,
        )
        for component in program.components
        for rule in component.rules
    )
    job = Job(units, EvaluationLimits(derived_total=limit), 0, 0, None, 1)
    rows = pa.RecordBatch.from_pydict(
        {"tag": [SAYS] + [10] * 10 + [11] * 10, "c0": ["", *map(str, range(10)), *map(str, range(10))]}
    )
    last = list(runner(job)(iter([rows])))[-1]
    assert last.column("tag").to_pylist() == [SAYS]
    return str(last.column("c0")[0].as_py())


def test_a_fact_that_two_rules_of_one_head_find_is_counted_once() -> None:
    same, other = "P(X) :- A(X).\nP(X) :- B(X).", "P(X) :- A(X).\nQ(X) :- B(X)."
    assert "error" not in said(same, 10)
    assert '"rows": {"0": 20}' in said(same, 10)
    assert "error" in said(same, 9)
    assert "error" not in said(other, 20)
    assert "error" in said(other, 19)
