"""lace.datalog.explain.order: what has most values comes first, and tests as soon as they can."""

from __future__ import annotations

import pytest

from lace.datalog import Atom, Rule, Var, parse_program
from lace.datalog.explain.order import Ask, Fetch, make_fetch, make_route
from lace.facts import Predicate

SIZES = {Predicate("Big", 2): 1000, Predicate("Small", 2): 10}


def order(text: str, *bound: str, chosen: list[int] | None = None) -> list[str]:
    """Return the atoms of a one-rule program in the order in which they are looked up."""
    [rule] = parse_program(text).rules
    parts = range(len(rule.body)) if chosen is None else chosen
    own = frozenset({rule.head.predicate})
    route = make_route(rule, parts, bound, own, lambda predicate: SIZES.get(predicate, 5))
    return [str(rule.body[move.at]) for move in route.moves]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # All values known: found or not at once.
        ("A(X) :- B(Y), C(X,Y), D(X).", ["D(X)", "C(X,Y)", "B(Y)"]),
        # Two variables are better than one, and variables than constants.
        ("A(X,Y) :- B(X,'a','b',Z), C(X,Y,Z).", ["C(X,Y,Z)", "B(X,'a','b',Z)"]),
        ("A(X) :- B(_,'a',Z), C(X,Z).", ["C(X,Z)", "B(_,'a',Z)"]),
        # Among equals the smaller relation.
        ("A(X) :- Big(X,Y), Small(X,Y).", ["Small(X,Y)", "Big(X,Y)"]),
        # A test as soon as its variables have values; a count last.
        ("A(X) :- B(X,Y), Cardinality(C(X,L),'<','2'), not D(X), X != 'a'.",
         ["X != 'a'", "not D(X)", "B(X,Y)", "Cardinality(C(X,L),'<','2')"]),
        ("A(X) :- Y != Z, B(X,Y), C(Y,Z), D(Z,W).", ["B(X,Y)", "C(Y,Z)", "Y != Z", "D(Z,W)"]),
        # Facts that need the head in turn are looked up after those that do not.
        ("A(X) :- A(X), B(X).", ["B(X)", "A(X)"]),
    ],
)  # fmt: skip
def test_the_order_follows_what_is_known(text: str, expected: list[str]) -> None:
    [rule] = parse_program(text).rules
    bound = [term.name for term in rule.head.terms if isinstance(term, Var)]
    assert order(text, *bound) == expected


def test_only_the_chosen_atoms_are_looked_up() -> None:
    assert order("A(X) :- B(X,Y), C(Y), D(Y).", "X", chosen=[0, 2]) == ["B(X,Y)", "D(Y)"]


def test_a_fetch_says_what_it_takes_and_what_it_gives() -> None:
    [rule] = parse_program("A(X) :- B(X,'k',_,Y,Y,X).").rules
    atom = rule.body[0]
    assert isinstance(atom, Atom)
    template = (None, "k", None, None, None, None)
    assert make_fetch(0, atom, {"X"}, False) == Fetch(
        0, Predicate("B", 6), template, ((0, "X"), (5, "X")), ((3, "Y"),), ((3, 4),), False, False
    )
    assert make_fetch(0, atom, {"X"}, False).pattern({"X": "x"}) == ("x", "k", None, None, None, "x")


def test_a_count_keeps_its_local_variables_open() -> None:
    [rule] = parse_program("A(X) :- B(X), Cardinality(C(X,L,L),'<','2').").rules
    move = make_route(rule, [0, 1], ["X"], frozenset(), lambda _: 0).moves[1]
    assert isinstance(move, Ask)
    assert move.fetch is not None
    assert (move.fetch.fill, move.fetch.same) == (((0, "X"),), ((1, 2),))


def test_a_move_knows_which_moves_gave_it_values() -> None:
    [rule] = parse_program("A(X) :- B(X,Y), C(X,Z), D(Y), E(Z,Y), not F(Z).").rules
    route = make_route(rule, range(5), ["X"], frozenset(), lambda _: 0)
    order = [str(rule.body[move.at]) for move in route.moves]
    assert order == ["B(X,Y)", "D(Y)", "C(X,Z)", "not F(Z)", "E(Z,Y)"]
    assert route.needs == (0b0, 0b1, 0b0, 0b100, 0b101)


def test_ten_thousand_atoms_are_ordered_without_a_quadratic_walk() -> None:
    terms = [Var(f"X{at}") for at in range(10_001)]
    body = tuple(Atom("E", (terms[at], terms[at + 1])) for at in reversed(range(10_000)))
    route = make_route(Rule(Atom("A", (terms[0],)), body), range(10_000), ["X0"], frozenset(), lambda _: 1)
    assert [move.at for move in route.moves] == list(reversed(range(10_000)))
