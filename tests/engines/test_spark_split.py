"""What can be cut into parts: a question about rules alone."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from lace.algebra import Component, whole
from lace.datalog import compile_program, parse_program
from lace.engines.spark.split import Way, split_recursion, split_rule
from lace.facts import Predicate

pytestmark = pytest.mark.spark

EDGE = Predicate("Edge", 2)


def component(text: str) -> Component:
    return compile_program(parse_program(text)).components[-1]


@pytest.mark.parametrize(
    ("text", "kept", "routes"),
    [
        ("P(X,Y) :- Edge(X,Y).\nP(X,Z) :- P(X,Y), Edge(Y,Z).", {Predicate("P", 2): 0}, {EDGE: Way.ALL}),
        ("P(X,Y) :- Edge(X,Y).\nP(X,Z) :- Edge(X,Y), P(Y,Z).", {Predicate("P", 2): 1}, {EDGE: Way.ALL}),
        (
            "P(G,X) :- R(G,X).\nP(G,Y) :- P(G,X), Edge(X,Y), V(G).",
            {Predicate("P", 2): 0},
            {EDGE: Way.ALL, Predicate("V", 1): 0},
        ),
        (
            "S(G,X,Y) :- L(G,X,Y).\nS(G,X,Z) :- S(G,X,Y), S(G,Y,Z).",
            {Predicate("S", 3): 0},
            {},
        ),
        ("M(P) :- R(P).\nM(Q) :- M(P), Edge(P,Q).", None, {EDGE: Way.ALL}),
    ],
)
def test_a_recursion_that_keeps_a_column_or_is_linear_is_cut(
    text: str, kept: dict[Predicate, int] | None, routes: dict[Predicate, object]
) -> None:
    found = split_recursion(component(text))
    assert found is not None
    assert (found.kept, found.routes) == (kept, routes)
    assert (len(found.exits), len(found.steps)) == (1, 1)


def test_predicates_that_need_each_other_keep_a_column_each() -> None:
    found = split_recursion(
        component("A(X,G) :- R(X,G).\nB(G,Y) :- A(X,G), Edge(X,Y).\nA(Y,G) :- B(G,X), Edge(X,Y).")
    )
    assert found is not None
    assert found.kept == {Predicate("A", 2): 1, Predicate("B", 2): 0}


@pytest.mark.parametrize(
    "text",
    [
        "P(X,Y) :- Edge(X,Y).\nP(X,Z) :- P(X,Y), P(Y,Z), X != Z.",
        "M(P) :- R(P).\nM(Q) :- M(P), M(R), T(P,R,Q).",
        "P('a',Y) :- Edge(_,Y).\nP('b',Z) :- P(X,Y), P(Y,Z).",
    ],
)
def test_two_atoms_that_share_no_kept_column_are_not_cut(text: str) -> None:
    assert split_recursion(component(text)) is None


def test_a_rule_is_cut_by_its_first_join() -> None:
    def routes(text: str) -> dict[Predicate, object]:
        return dict(split_rule(whole(component(text).rules[0])))

    field, have = Predicate("Field", 4), Predicate("Have", 1)
    assert routes("A(P) :- Field(P,'Group',_,_), Have(P).") == {field: 0, have: 0}
    assert routes("A(P,Q) :- Edge(P,Q), Edge(Q,P).") == {EDGE: Way.ONE}
    assert routes("A(P,G) :- Have(P), Bad(G).") == {have: 0, Predicate("Bad", 1): Way.ALL}
    assert routes("A('x') :- not Have('y').") == {have: Way.ONE}
    assert routes("A('x') :- true.") == {}
