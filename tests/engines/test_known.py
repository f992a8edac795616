"""lace.engines.known: the facts of one version by some of their values, however they are kept."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from lace.datalog import compile_program, parse_program
from lace.engines import Database, EmbeddedResult
from lace.facts import Fact, Predicate, Values
from tests.engines.modes import MODES, mode

E3 = Predicate("E", 3)
FIELD = Predicate("Field", 4)
PROGRAM = parse_program(
    "Pair(X,Z) :- E(X,Y,_), E(Y,Z,_).\nNamed(P,N) :- Field(P,N,_,_).\nU(P) :- Field(P,'Group',_,'u')."
)


def rows_of(facts: set[Fact], predicate: Predicate) -> set[Values]:
    return {fact[1:] for fact in facts if (fact[0], len(fact) - 1) == predicate}


def check_lookups(result: EmbeddedResult, known: set[Fact], predicate: Predicate, dice: Random) -> None:
    """Compare every way of asking with a walk through all facts."""
    rows = sorted(rows_of(known, predicate))
    assert result.size(predicate) == len(rows)
    texts = [[*sorted({row[at] for row in rows})[:4], "nowhere"] for at in range(predicate.arity)]
    for bound in product((False, True), repeat=predicate.arity):
        values = tuple(dice.choice(texts[at]) if is_bound else None for at, is_bound in enumerate(bound))
        expected = [row for row in rows if all(v in (None, r) for v, r in zip(values, row, strict=True))]
        assert sorted(result.lookup(predicate, values)) == expected
        # Some of the values in the template, the others at each question.
        places = tuple(at for at in range(predicate.arity) if bound[at] and dice.random() < 0.5)
        template = tuple(None if at in places else value for at, value in enumerate(values))
        find = result.finder(predicate, template, places)
        asked = tuple(values[at] for at in places)
        assert sorted(find(asked)) == expected  # type: ignore[arg-type]
    for row in rows[:20]:
        assert list(result.lookup(predicate, row)) == [row]


def some_facts(dice: Random, count: int) -> set[Fact]:
    texts = [str(at) for at in range(max(6, count // 20))]
    found: set[Fact] = {("E", *dice.choices(texts, k=3)) for _ in range(count)}
    names = ("Group", "App", "Name")
    return found | {
        ("Field", dice.choice(texts), dice.choice(names), "0", dice.choice("uv")) for _ in range(count)
    }


@pytest.mark.req("030-056")
@pytest.mark.parametrize("count", [20, 1500])
@pytest.mark.parametrize("way", MODES)
def test_every_way_of_asking_finds_the_facts_that_are_there(way: str, count: int) -> None:
    dice = Random(f"{way} {count}")
    facts = some_facts(dice, count)
    with mode(way):
        result = Database(facts).evaluate(compile_program(PROGRAM)).result()
    known = facts | result.all_facts()
    for predicate in (E3, FIELD, *sorted(PROGRAM.heads)):
        check_lookups(result, known, predicate, dice)


@pytest.mark.parametrize("count", [20, 1500])
@pytest.mark.parametrize("way", MODES)
def test_a_version_knows_its_facts_after_any_change(way: str, count: int) -> None:
    dice = Random(f"versions {way} {count}")
    facts = some_facts(dice, count)
    with mode(way):
        running = Database(facts).evaluate(compile_program(PROGRAM))
        versions = [(running.result(), set(facts))]
        for at in range(3):
            added = some_facts(dice, 10) | {("Field", "new", f"Extra{at}", "0", "u")}
            taken = set(dice.sample(sorted(facts), 5))
            facts = (facts - taken) | added
            versions.append((running.change(added, taken), set(facts)))
        assert running.result() is versions[-1][0]
    for result, held in versions:
        for predicate in (E3, FIELD):
            check_lookups(result, held, predicate, dice)


def test_supplied_and_derived_facts_of_one_predicate_are_told_apart() -> None:
    program = parse_program("Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Path(X,Y), Edge(Y,Z).")
    path = Predicate("Path", 2)
    facts = [("Edge", "a", "b"), ("Edge", "b", "c"), ("Path", "a", "b"), ("Path", "z", "a")]
    result = Database(facts).evaluate(compile_program(program)).result()
    assert result.facts(path) == [("a", "b"), ("a", "c"), ("b", "c"), ("z", "b"), ("z", "c")]
    assert sorted(result.lookup(path, ("z", None))) == [("z", "a"), ("z", "b"), ("z", "c")]
    assert (result.count(path), result.size(path)) == (5, 6)
    assert [result.is_given(path, row) for row in (("a", "b"), ("a", "c"), ("z", "a"), ("q", "q"))] == [
        True, False, True, False,
    ]  # fmt: skip
    # A supplied fact is there before the first round, so what follows from it comes in that round.
    assert [result.step(path, row) for row in (("z", "a"), ("z", "b"), ("z", "c"))] == [None, 0, 1]


def test_facts_of_predicates_that_nobody_reads_are_known_too() -> None:
    result = Database([("Other", "x", "y")]).evaluate(compile_program(PROGRAM)).result()
    other = Predicate("Other", 2)
    assert list(result.lookup(other, (None, "y"))) == [("x", "y")]
    assert (result.size(other), result.is_given(other, ("x", "y")), result.step(other, ("x", "y"))) == (
        1,
        True,
        None,
    )
    assert list(result.lookup(Predicate("Nothing", 1), (None,))) == []
    assert result.size(Predicate("Nothing", 1)) == 0
