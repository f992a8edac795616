"""lace.datalog.check.shadowing: what is supplied is not derived."""

from __future__ import annotations

import pytest

from lace.datalog import check_program, parse_program
from lace.facts import Predicate
from tests.datalog.asking import errors

SELECTOR = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S).\n"
EXPOSE = "AllowQueryRecord(V,P) :- _Viewer(V), Have(P).\n"


# 020, 050: what these profiles supply, name by name.
RECORD = [("Have", 1), ("Field", 4), ("RecordLink", 5), ("BlobHash", 2), ("PlexHash", 2)]
RUNTIME = [
    ("Here", 1), ("Peer", 1), ("Transport", 1), ("TransportEncrypted", 0), ("StartTAI", 1), ("TickTAI", 1),
    ("ClockSkewSeconds", 1),
]  # fmt: skip
ADVERTISED = [("Advertised", 2), ("AdvertisedField", 5)]


def head(name: str, arity: int) -> str:
    return f"{name}({','.join(repr('a') for _ in range(arity))}) :- true."


@pytest.mark.req("030-042", "030-046", "030-126")
@pytest.mark.parametrize(("name", "arity"), RECORD)
def test_record_predicates_are_no_heads_in_any_facet(name: str, arity: int) -> None:
    assert errors(head(name, arity)) == ["L-401"]
    assert errors(SELECTOR + head(name, arity), "selector") == ["L-401"]
    assert errors(EXPOSE + head(name, arity), "expose") == ["L-401"]


@pytest.mark.req("030-042")
@pytest.mark.parametrize(("name", "arity"), [*RUNTIME, *ADVERTISED])
def test_runtime_and_advertisement_predicates_are_no_heads_in_modules(name: str, arity: int) -> None:
    assert errors(head(name, arity)) == []
    assert errors(SELECTOR + head(name, arity), "selector") == ["L-401"]
    assert errors(EXPOSE + head(name, arity), "expose") == ["L-401"]


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
