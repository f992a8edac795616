"""Facts that come one by one or many at once: every version equals a full evaluation, and stays as it was."""

from __future__ import annotations

from random import Random

import pytest

from lace.algebra import Budget, EvaluationLimits, EvaluationStopped
from lace.datalog import compile_program, parse_program
from lace.engines import Database, EmbeddedResult, relations, table
from lace.facts import Fact, Predicate
from tests.engines.modes import mode

SPREAD = """\
Member(P) :- Root(P), Have(P).
Member(Q) :- Member(P), RecordLink(P,'evidence',_,_,Q), Have(Q).
Linked(P,L) :- RecordLink(P,L,_,_,_).
Lone(P) :- Have(P), not Linked(P,'see').
"""
MEMBER, LINKED, LONE = Predicate("Member", 1), Predicate("Linked", 2), Predicate("Lone", 1)
HAVE, LINK = Predicate("Have", 1), Predicate("RecordLink", 5)


def draw(dice: Random, number: int) -> Fact:
    record = f"p{dice.randrange(40)}"
    if dice.random() < 0.3:
        return (dice.choice(("Have", "Have", "Root")), record)
    label = dice.choice(("evidence", "evidence", "see", "new" + str(dice.randrange(4))))
    text = f"d{number}" if dice.random() < 0.5 else f"d{dice.randrange(9)}"
    return ("RecordLink", record, label, str(dice.randrange(2)), text, f"p{dice.randrange(40)}")


def told(result: EmbeddedResult) -> tuple[object, ...]:
    """Return what a version says of derived and given facts."""
    wanted = (MEMBER, LINKED, LONE)
    links = set(result.lookup(LINK, (None,) * 5)) | set(result.lookup(LINK, (None, "see", None, None, None)))
    return (
        [result.facts(predicate) for predicate in wanted],
        [len(result.columns(predicate)[0]) for predicate in wanted],
        sorted(links),
        sorted(result.lookup(LINK, ("p1", "evidence", None, None, None))),
        sorted(result.lookup(HAVE, (None,))),
        result.size(LINK),
    )


def expected(facts: set[Fact]) -> tuple[object, ...]:
    program = compile_program(parse_program(SPREAD), [MEMBER, LINKED, LONE])
    return told(Database(sorted(facts)).evaluate(program).result())


@pytest.mark.req("030-113")
@pytest.mark.parametrize("way", ["as it chooses", "loops only", "columns only"])
@pytest.mark.parametrize("seed", range(4))
def test_every_version_equals_a_full_evaluation_and_stays(
    seed: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So small that rows are now tuples, now columns, and a lookup over both has to be found again.
    monkeypatch.setattr(table, "TAIL_ROWS", 12)
    monkeypatch.setattr(relations, "FEW_FACTS", 16)
    monkeypatch.setattr(relations, "FEW_MORE", 2)
    dice = Random(f"inserts {seed}")
    facts = {draw(dice, number) for number in range(60)}
    program = compile_program(parse_program(SPREAD), [MEMBER, LINKED, LONE])
    with mode(way):
        running = Database(sorted(facts)).evaluate(program)
        held = [(running.result(), frozenset(facts))]
        for step in range(24):
            more = [draw(dice, 1000 * step + at) for at in range(dice.choice((1, 1, 1, 3, 30)))]
            what = dice.random()
            if what < 0.1:
                with pytest.raises(EvaluationStopped):
                    running.insert([*more, ("Have", f"q{step}")], Budget(EvaluationLimits(derived_total=0)))
            elif what < 0.2:
                gone = set(dice.sample(sorted(facts), 5))
                facts -= gone
                held.append((running.delete(gone), frozenset(facts)))
            else:
                facts |= set(more)
                held.append((running.insert(more), frozenset(facts)))
            if dice.random() < 0.3:
                held.pop(dice.randrange(len(held)))
    for result, known in held:
        assert told(result) == expected(set(known)), (seed, way)


def test_rows_that_there_was_no_room_for_are_new_when_they_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = compile_program(parse_program("A(X) :- E(X,Y), F(Y)."))
    many: list[Fact] = [("E", f"x{at % 50}", f"y{at % 40}") for at in range(200)]
    running = Database([*many, ("F", "y1"), *[("E", f"y{at}", f"x{at}") for at in range(40)]]).evaluate(
        program
    )
    before = running.result().all_facts()
    more: list[Fact] = [("E", f"y{at % 40}", "y1") for at in range(45)]

    def fails(*_: object) -> None:
        raise MemoryError

    with mode("columns from the second row on"):
        running.insert([("E", "y1", "y2"), ("E", "y2", "y3"), ("E", "y4", "y3")])
        with monkeypatch.context() as broken:
            broken.setattr(table.Table, "_append", fails)
            with pytest.raises(MemoryError):
                running.insert(more)
        assert running.result().all_facts() == before
        assert running.insert(more).all_facts() == before | {("A", f"y{at}") for at in range(40)}
