"""lace.datalog.check.strata: no predicate depends on its own absence or count."""

from __future__ import annotations

import pytest

from lace.datalog import check_program
from tests.datalog.asking import errors


def cycle(text: str) -> str:
    [diagnostic] = [d for d in check_program(text) if d.code == "L-501"]
    return diagnostic.message


@pytest.mark.req("030-127")
def test_two_predicates_that_negate_each_other_are_refused_and_the_cycle_spelled_out() -> None:
    assert "L-501" in errors("A(P) :- not B(P).\nB(P) :- not A(P).")
    assert errors("A(P) :- C(P), not B(P).\nB(P) :- C(P), not A(P).") == ["L-501"]
    assert cycle("A(P) :- C(P), not B(P).\nB(P) :- C(P), not A(P).") == (
        "A/1 depends on its own absence: "
        "A/1 needs the absence of B/1 (line 1), which needs the absence of A/1 (line 2)"
    )


@pytest.mark.req("030-049", "030-128")
def test_a_predicate_that_counts_itself_is_refused() -> None:
    text = "A(P) :- Candidate(P), Cardinality(A(Q),'<','100')."
    assert errors(text) == ["L-501"]
    assert cycle(text) == "A/1 depends on its own count: A/1 counts A/1 (line 1)"


@pytest.mark.req("030-049")
def test_a_cycle_through_many_positive_edges_and_one_negative_is_refused() -> None:
    text = "A(X) :- V(X), B(X).\nB(X) :- C(X).\nC(X) :- V(X), not D(X).\nD(X) :- A(X), E(X)."
    assert errors(text) == ["L-501"]
    assert cycle(text) == (
        "C/1 depends on its own absence: C/1 needs the absence of D/1 (line 3), "
        "which needs A/1 (line 4), which needs B/1 (line 1), which needs C/1 (line 2)"
    )


@pytest.mark.req("030-049")
@pytest.mark.parametrize(
    "text",
    [
        "R(X,Z) :- R(X,Y), E(Y,Z).\nR(X,Y) :- E(X,Y).",
        "A(X) :- B(X).\nB(X) :- A(X).\nA(X) :- V(X).",
        "A(X) :- V(X), not B(X).\nC(X) :- V(X), not A(X).",
        "A(X) :- V(X), not A(X,X).\nA(X,Y) :- E(X,Y).",
        "A(X) :- V(X), not Base(X), Cardinality(Base(_),'<','3').",
    ],
)
def test_positive_recursion_and_lower_negation_are_fine(text: str) -> None:
    assert errors(text) == []


def test_each_group_is_told_once_with_its_shortest_way_back() -> None:
    text = (
        "A(X) :- V(X), not B(X).\nB(X) :- C(X).\nC(X) :- A(X).\nB(X) :- A(X).\n"
        "D(X) :- V(X), Cardinality(D(X),'<','1'), not D(X)."
    )
    assert errors(text) == ["L-501", "L-501"]
    assert "A/1 needs the absence of B/1 (line 1), which needs A/1 (line 4)" in check_program(text)[0].message


def test_a_cycle_of_256_rules_is_found_and_shortened() -> None:
    rules = [f"A{n}(X) :- V(X), A{n + 1}(X)." for n in range(255)] + ["A255(X) :- V(X), not A0(X)."]
    message = cycle("\n".join(rules))
    assert message.startswith(
        "A255/1 depends on its own absence: A255/1 needs the absence of A0/1 (line 256), which"
    )
    assert "… 244 more steps …" in message
    assert message.endswith("which needs A255/1 (line 255)")


def test_ten_thousand_atoms_in_a_cycle_are_no_trouble() -> None:
    body = ", ".join(f"B{n}(X)" for n in range(10_000))
    assert errors(f"A(X) :- V(X), {body}, not C(X).\nC(X) :- A(X).") == ["L-501"]
