"""Ranks on Spark count what the pairs would, with and without making them."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from lace.datalog import compile_program, evaluate, parse_program
from lace.facts import Predicate
from tests.engines.spark_cases import engine_over, together
from tests.engines.test_rank import NEWEST, PROGRAMS, candidates, newest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.req("030-118")
@pytest.mark.parametrize("chosen", [(0, 1, 4), pytest.param((2, 3, 5), marks=pytest.mark.slow)])
def test_a_rank_is_the_count_of_the_pairs(tiny: SparkSession, chosen: tuple[int, ...]) -> None:
    cases, expected = [], []
    for seed, text in [(at, PROGRAMS[at]) for at in chosen]:
        program, facts = parse_program(text), candidates(Random(seed + 20), twice=seed % 2 == 1)
        cases.append((compile_program(program, [NEWEST]), facts))
        expected.append(sorted(fact[1:] for fact in evaluate(program, facts) if fact[0] == "Newest"))
    assert all(program.ranked() for program, _ in cases)
    whole, given = together(cases)
    result = engine_over(tiny, given, strategy="loop").evaluate(whole).result()
    assert [result.facts(Predicate(f"Newest.{at}", 1)) for at in range(len(cases))] == expected


def test_pairs_that_are_supplied_count_too(tiny: SparkSession) -> None:
    compiled = compile_program(parse_program(newest("Lex", ">", ">", "'<','1'")), [NEWEST])
    engine = engine_over(tiny, [("C", "a", "1"), ("C", "b", "2")], strategy="loop")
    assert engine.evaluate(compiled).result().facts(NEWEST) == [("b",)]
    assert engine.evaluate(compiled, facts=[("Before", "b", "zzz")]).result().facts(NEWEST) == []
