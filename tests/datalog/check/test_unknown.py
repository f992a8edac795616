"""lace.datalog.check.unknown: predicates that nothing supplies."""

from __future__ import annotations

import pytest

from lace.facts import Predicate
from tests.datalog.asking import errors, warnings

SELECTOR = "SelectHave(P) :- Have(P), {}.\nSelectAdvertised(P,S) :- Advertised(P,S)."


@pytest.mark.parametrize("name", ["Feild", "Fild", "Fieldd", "Fjeld", "field", "FIELD", "ield", "Fielx"])
def test_a_name_one_slip_away_is_a_slip(name: str) -> None:
    expected = ("L-901", f"nothing is called {name}/4; did you mean Field/4?")
    assert warnings(f"A(P) :- {name}(P,'Group',_,'u').") == [expected]
    assert warnings(SELECTOR.format(f"{name}(P,'Group',_,'u')"), "selector") == [expected]


@pytest.mark.parametrize("name", ["Fold", "Fieldset", "Edge", "F", "Fi", "Yield2", "x" * 100_000])
def test_other_names_are_not(name: str) -> None:
    assert warnings(f"A(P) :- {name}(P,'Group',_,'u').") == []


def test_plain_text_may_have_facts_of_a_similar_name_and_other_arity() -> None:
    assert warnings("A(X) :- Fields(X).") == []
    assert warnings("Edges(X,Y) :- Edge(X,Y).") == []


def test_a_similar_helper_is_found_where_all_facts_are_known() -> None:
    text = SELECTOR.format("Membre(P)") + "\nMember(P) :- Have(P).\nSelectHave(P) :- Member(P)."
    assert warnings(text, "selector") == [("L-901", "nothing is called Membre/1; did you mean Member/1?")]


@pytest.mark.parametrize(
    ("atom", "message"),
    [
        ("Field(P,'Group',_)", "Field has 4 terms, here it has 3"),
        ("Have(P,P)", "Have has 1 terms, here it has 2"),
        ("not TransportEncrypted(P)", "TransportEncrypted has 0 terms, here it has 1"),
        ("Cardinality(Advertised(P),'<','1')", "Advertised has 2 terms, here it has 1"),
    ],
)
def test_a_known_name_with_another_arity_is_a_slip(atom: str, message: str) -> None:
    assert warnings(f"A(P) :- Have(P), {atom}.") == [("L-902", message)]
    assert warnings(SELECTOR.format(atom), "selector") == [("L-902", message)]


def test_the_arities_of_helpers_are_known_too() -> None:
    text = "A(X) :- V(X).\nA(X,Y) :- E(X,Y).\nB(X) :- A(X,X,X)."
    assert warnings(text) == [("L-902", "A has 1 or 2 terms, here it has 3")]


def test_another_arity_that_has_rules_is_no_slip() -> None:
    assert warnings("Field(X,Y) :- Link(X,Y).\nA(X) :- Field(X,X).") == []


@pytest.mark.parametrize("atom", ["Nobody(P)", "not Nobody(P)", "Cardinality(Nobody(P),'<','1')"])
def test_a_predicate_without_rules_and_facts_is_told_where_all_facts_are_known(atom: str) -> None:
    text = SELECTOR.format(atom)
    expected = ("L-904", "Nobody/1 has neither rules nor facts")
    assert expected in warnings(text, "selector")
    assert warnings(f"A(P) :- Have(P), {atom}.", extra_base=[Predicate("Edge", 2)])[0] == expected
    assert all(code != "L-904" for code, _ in warnings(f"A(P) :- Have(P), {atom}."))


def test_named_base_predicates_are_known() -> None:
    assert warnings("A(X) :- Edge(X,X).", extra_base=[Predicate("Edge", 2)]) == []


def test_nothing_is_guessed_where_a_line_could_not_be_read() -> None:
    assert errors("A(X) :- Feild(X,_,_,_).\nFeild(X,X,X,X) :- V(X)") == ["L-202"]
