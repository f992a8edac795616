"""Limits on Spark: the same bound stops the same program, whatever strategy runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lace.algebra import Budget, EvaluationLimits, EvaluationStopped
from lace.datalog import compile_program, parse_program
from lace.engines import Database
from lace.errors import FactError
from lace.facts import VALUE_BYTES, Fact, Predicate
from tests.engines.spark_cases import engine_over
from tests.engines.test_limits import ROUNDS, WIDE, chain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CHAIN = chain(3)
SPREAD = "Member(P) :- Root(P).\nMember(Q) :- Member(P), Link(P,Q)."
LINKS: list[Fact] = [("Root", "0"), ("Root", "1")] + [
    ("Link", str(at), str(at + step)) for at in range(4) for step in (1, 2)
]
STOPS: dict[str, tuple[str, list[Fact]]] = {
    "base_facts": (ROUNDS, CHAIN),
    "derived_per_predicate": (SPREAD, LINKS),
    "derived_total": (SPREAD, LINKS),
    "iterations": (SPREAD, LINKS),
    "steps": (SPREAD, LINKS),
}


def needed(text: str, facts: list[Fact], limit: str) -> int:
    """Return the least bound under which the embedded engine comes to an end."""
    program = compile_program(parse_program(text))
    bound = 0
    while True:
        try:
            Database(facts).evaluate(program, Budget(EvaluationLimits(**{limit: bound})))
            return bound
        except EvaluationStopped:
            bound += 1


@pytest.mark.req("030-108")
@pytest.mark.parametrize("strategy", ["local", "parts", "loop"])
@pytest.mark.parametrize("limit", STOPS)
def test_each_limit_stops_where_the_embedded_engine_stops(
    tiny: SparkSession, limit: str, strategy: str
) -> None:
    text, facts = STOPS[limit]
    program, bound = compile_program(parse_program(text)), needed(text, facts, limit)
    engine = engine_over(tiny, facts, strategy=strategy, parts=2)
    engine.evaluate(program, Budget(EvaluationLimits(**{limit: bound})))
    with pytest.raises(EvaluationStopped) as stopped:
        engine.evaluate(program, Budget(EvaluationLimits(**{limit: bound - 1})))
    assert stopped.value.fields["limit"] == limit
    assert stopped.value.fields["bound"] == bound - 1


def test_fields_that_nobody_reads_do_not_count(tiny: SparkSession) -> None:
    text = "A(P) :- Field(P,'Read',_,_)."
    facts = [("Field", f"p{at}", name, "0", "x") for at in range(5) for name in ("Read", "Unread")]
    assert needed(text, facts, "base_facts") == 5
    engine, program = engine_over(tiny, facts, strategy="local"), compile_program(parse_program(text))
    engine.evaluate(program, Budget(EvaluationLimits(base_facts=5)))
    with pytest.raises(EvaluationStopped, match="base_facts"):
        engine.evaluate(program, Budget(EvaluationLimits(base_facts=4)))


@pytest.mark.parametrize("limit", ["derived_per_predicate", "derived_total"])
def test_what_is_only_supplied_is_not_derived_and_what_is_both_is(tiny: SparkSession, limit: str) -> None:
    program = compile_program(parse_program("A(X) :- B(X)."))
    facts = [("A", "1"), ("A", "2"), ("A", "3"), ("A", "4"), ("B", "1"), ("B", "2"), ("B", "x")]
    assert needed("A(X) :- B(X).", facts, limit) == 3
    engine = engine_over(tiny, facts, strategy="loop")
    engine.evaluate(program, Budget(EvaluationLimits(**{limit: 3})))
    with pytest.raises(EvaluationStopped, match=limit):
        engine.evaluate(program, Budget(EvaluationLimits(**{limit: 2})))


def test_a_cross_product_ends_in_its_budget(tiny: SparkSession) -> None:
    text = "A(S,T,U,V,W,X,Y,Z) :- B(S), B(T), B(U), B(V), B(W), B(X), B(Y), B(Z)."
    engine = engine_over(tiny, WIDE, strategy="loop")
    with pytest.raises(EvaluationStopped, match="steps"):
        engine.evaluate(compile_program(parse_program(text)), Budget(EvaluationLimits(steps=20_000)))


def test_facts_of_one_evaluation_and_time_have_their_limits(tiny: SparkSession) -> None:
    program = compile_program(parse_program("A(X) :- B(X)."))
    engine = engine_over(tiny, [("B", "x")])
    with pytest.raises(EvaluationStopped, match="runtime_facts"):
        engine.evaluate(program, Budget(EvaluationLimits(runtime_facts=1)), [("B", "y"), ("B", "z")])
    ticks = iter(range(1000))
    with pytest.raises(EvaluationStopped, match="seconds"):
        engine.evaluate(program, Budget(EvaluationLimits(seconds=0.5), now=lambda: next(ticks)))
    assert engine.evaluate(program, facts=[("B", "y")]).result().count(Predicate("A", 1)) == 2


def test_what_is_wrong_with_frames_strategies_and_jobs_is_said(tiny: SparkSession) -> None:
    from pyspark.sql import functions as F

    from lace.engines.spark import NullInFrame, SparkEngine, SparkFailed, UnknownStrategy, WrongFrame

    b = Predicate("B", 1)
    with pytest.raises(WrongFrame, match="B/1"):
        SparkEngine(tiny, {b: tiny.range(3)})
    with pytest.raises(UnknownStrategy, match="quick"):
        SparkEngine(tiny, {}, strategy="quick")
    program = compile_program(parse_program("A(X) :- B(X)."))
    holes = tiny.createDataFrame([("a",), (None,)], "x string")
    with pytest.raises(NullInFrame, match=r"B/1 has NULL in 1 of its rows.*dropna"):
        SparkEngine(tiny, {b: holes}).evaluate(program)
    for strategy in ("local", "parts", "loop"):  # the size of a frame does not decide what a fact is
        composed = tiny.createDataFrame([("caf\u00e9",), ("a",)], "x string")
        found = SparkEngine(tiny, {b: composed}, strategy=strategy).evaluate(program).result()
        assert found.count(Predicate("A", 1)) == 2
        for value, why in (("cafe\u0301", "normal form C"), ("x" * (VALUE_BYTES + 1), "limit|bytes")):
            frame = tiny.createDataFrame([("a",), ("caf\u00e9",), (value,)], "x string")
            with pytest.raises(FactError, match=why):
                SparkEngine(tiny, {b: frame}, strategy=strategy).evaluate(program).result().count(b)
    broken = tiny.range(3).select(F.raise_error(F.lit("the disk is gone")).cast("string").alias("x"))
    with pytest.raises(SparkFailed, match="the disk is gone") as failed:
        SparkEngine(tiny, {b: broken}, strategy="loop").evaluate(
            compile_program(parse_program("A(X) :- B(X), X != 'q'."))
        )
    assert "filter X != 'q'" in failed.value.fields["program"]
    assert failed.value.__cause__ is not None
