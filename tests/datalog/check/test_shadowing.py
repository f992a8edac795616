"""lace.datalog.check.shadowing: what is supplied is not derived."""

from __future__ import annotations

import pytest

from lace.datalog import ADVERTISEMENT_PREDICATES, RUNTIME_PREDICATES, check_program, parse_program
from lace.facts import RECORD_PREDICATES, Predicate
from tests.datalog.asking import errors

SELECTOR = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S).\n"
EXPOSE = "AllowQueryRecord(V,P) :- _Viewer(V), Have(P).\n"


def head(predicate: Predicate) -> str:
    return f"{predicate.name}({','.join(repr('a') for _ in range(predicate.arity))}) :- true."


@pytest.mark.req("030-042", "030-046", "030-126")
@pytest.mark.parametrize("predicate", RECORD_PREDICATES, ids=str)
def test_record_predicates_are_no_heads_in_any_facet(predicate: Predicate) -> None:
    assert errors(head(predicate)) == ["L-401"]
    assert errors(SELECTOR + head(predicate), "selector") == ["L-401"]
    assert errors(EXPOSE + head(predicate), "expose") == ["L-401"]


@pytest.mark.req("030-042")
@pytest.mark.parametrize("predicate", [*RUNTIME_PREDICATES, *ADVERTISEMENT_PREDICATES], ids=str)
def test_runtime_and_advertisement_predicates_are_no_heads_in_modules(predicate: Predicate) -> None:
    assert errors(head(predicate)) == []
    assert errors(SELECTOR + head(predicate), "selector") == ["L-401"]
    assert errors(EXPOSE + head(predicate), "expose") == ["L-401"]


@pytest.mark.req("030-126")
def test_the_example_of_030_is_refused_for_both_its_reasons() -> None:
    assert errors("Have(P) :- true.") == ["L-401", "L-301"]


def test_another_arity_is_another_predicate() -> None:
    assert errors("Have(X,Y) :- B(X,Y).") == []
    assert errors(SELECTOR + "Peer(A,B) :- Have(A), Have(B).", "selector") == []


def test_a_caller_may_name_more_base_predicates() -> None:
    edge = Predicate("Edge", 2)
    assert "L-401" in {d.code for d in check_program("Edge(X,Y) :- Link(X,Y).", extra_base=[edge])}
    assert parse_program("Edge(X) :- Link(X).", extra_base=[edge]).heads == {Predicate("Edge", 1)}


@pytest.mark.parametrize("terms", ["", "'a'", "'a','b'"])
def test_the_viewer_is_never_derived(terms: str) -> None:
    assert errors(EXPOSE + f"_Viewer({terms}) :- true.", "expose") == ["L-401"]
    assert errors(f"_Viewer({terms}) :- true.") == []
