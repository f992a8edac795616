"""Why and why not of a result on Spark are those of the embedded engine's result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lace.datalog import Explainer, check_proof, compile_program, evaluate, parse_program
from lace.engines import Database
from lace.facts import Fact
from tests.engines.spark_cases import engine_over

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

RULES = """
Member(P) :- Root(P), Have(P).
Member(Q) :- Member(P), RecordLink(P,'evidence',_,_,Q), Have(Q), not Blocked(Q).
Blocked(P) :- Field(P,'Author',_,A), Bad(A).
Leaf(P) :- Member(P), Cardinality(RecordLink(P,'evidence',_,_,_),'<','1').
"""
FACTS: list[Fact] = [
    ("Root", "a"), ("Bad", "eve"), ("Field", "d", "Author", "0", "eve"),
    *(("Have", at) for at in "abcdf"),
    *(("RecordLink", x, "evidence", "0", "", y) for x, y in ("ab", "bc", "cd", "de", "cf")),
]  # fmt: skip
ASKED: list[Fact] = [
    *(("Member", at) for at in "abcdef"),
    *(("Leaf", at) for at in "af"),
    ("Blocked", "d"),
    ("Root", "a"),
]


@pytest.mark.parametrize(
    "strategy",
    ["loop", pytest.param("local", marks=pytest.mark.slow), pytest.param("parts", marks=pytest.mark.slow)],
)
def test_explanations_are_those_of_the_embedded_engine(tiny: SparkSession, strategy: str) -> None:
    program = parse_program(RULES)
    compiled = compile_program(program)
    here = Explainer(compiled, Database(FACTS).evaluate(compiled).result())
    result = engine_over(tiny, FACTS, strategy=strategy, parts=2).evaluate(compiled).result()
    there = Explainer(compiled, result)
    derived = evaluate(program, FACTS)
    for fact in ASKED:
        proof = there.why(fact)
        assert proof == here.why(fact)
        if proof is not None:
            assert check_proof(proof, program, FACTS, derived) == []
        assert there.why_not(fact) == here.why_not(fact)
