"""lace.datalog.dependencies: which predicate needs which, and in what order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.datalog import Program, parse_program
from lace.facts import Predicate
from tests.datalog.programs import random_case


def shown(groups: tuple[tuple[Predicate, ...], ...]) -> list[str]:
    return [" ".join(sorted(map(str, group))) for group in groups]


@pytest.mark.req("030-048")
def test_edges_are_positive_negative_or_counted() -> None:
    program = parse_program(
        "Q(X) :- P(X), not P(X,X), Cardinality(R(_),'<','3'), P(X), X != 'a'.\nR(X) :- Q2(X)."
    )
    assert [(str(d.head), str(d.on), d.kind, d.strict) for d in program.dependencies] == [
        ("Q/1", "P/1", "positive", False),
        ("Q/1", "P/2", "negative", True),
        ("Q/1", "R/1", "cardinality", True),
        ("R/1", "Q2/1", "positive", False),
    ]


def test_predicates_that_need_each_other_are_one_component() -> None:
    text = "Odd(Y) :- S(Y).\nOdd(X) :- Even(X).\nEven(Z) :- Odd(Y), E(Y,Z).\nOnly(X) :- V(X), not Even(X)."
    assert shown(parse_program(text).components) == ["Even/1 Odd/1", "Only/1"]


@pytest.mark.req("030-050")
def test_what_is_negated_or_counted_lies_in_a_lower_stratum() -> None:
    text = (
        "A(X) :- V(X), not Base(X).\nB(X) :- A(X).\nC(X) :- V(X), not B(X).\n"
        "D(X) :- V(X), Cardinality(C(_),'<','3').\nE(X) :- D(X), A(X).\nF(X) :- V(X), not A(X)."
    )
    assert shown(parse_program(text).strata) == ["A/1 B/1", "C/1 F/1", "D/1 E/1"]


def level(program: Program) -> dict[Predicate, int]:
    return {predicate: at for at, stratum in enumerate(program.strata) for predicate in stratum}


@pytest.mark.req("030-050")
@given(st.integers(0, 99))
def test_every_order_respects_every_edge(seed: int) -> None:
    program = parse_program(random_case(seed).program)
    strata = level(program)
    group = {predicate: at for at, each in enumerate(program.components) for predicate in each}
    assert set(strata) == set(group) == program.heads
    for need in program.dependencies:
        if need.on in strata:
            assert strata[need.on] + need.strict <= strata[need.head]
            assert group[need.on] + need.strict <= group[need.head]
    # No stratum is higher than its edges ask for.
    for predicate, at in strata.items():
        if at:
            same = set(program.components[group[predicate]])
            needs = [d for d in program.dependencies if d.head in same and d.on in strata]
            assert any(strata[d.on] + d.strict == at for d in needs)


def test_256_chained_strata() -> None:
    rules = [f"A{n}(X) :- V(X), not A{n + 1}(X)." for n in range(255)] + ["A255(X) :- V(X)."]
    assert shown(parse_program("\n".join(rules)).strata) == [f"A{n}/1" for n in reversed(range(256))]


def test_a_chain_and_a_ring_of_256_predicates() -> None:
    ring = "\n".join(f"A{n}(X) :- A{(n + 1) % 256}(X), V(X)." for n in range(256))
    assert [len(group) for group in parse_program(ring).components] == [256]
    chain = "\n".join(f"A{n}(X) :- A{n + 1}(X), V(X)." for n in range(256))
    assert len(parse_program(chain).components) == 256
    assert len(parse_program(chain).strata) == 1
