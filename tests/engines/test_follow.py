"""An evaluation that follows its database, and takes relations that others hand to it, equals a full one."""

from __future__ import annotations

from random import Random
from time import process_time

import numpy as np
import pytest

from lace.algebra import Budget, EvaluationLimits, EvaluationStopped, RelationProgram, restrict
from lace.datalog import compile_program, evaluate, parse_program
from lace.engines import Database, DatabaseVersion, EmbeddedEvaluation
from lace.engines.bound import BoundPipeline
from lace.engines.dictionary import Ids
from lace.engines.driver import Driver
from lace.engines.relations import Relations
from lace.facts import Fact, Predicate, View, query_view
from tests.engines.modes import MODES, mode
from tests.engines.test_view import shown
from tests.engines.views import VIEW, view_case

A, HAVE, FIELD, Q = Predicate("A", 1), Predicate("Have", 1), Predicate("Field", 4), Predicate("Q", 1)
CAN_QUERY = compile_program(parse_program("CanQueryRecord(V,P) :- Viewer(V), Open(P)."))


def given_view(records: set[str]) -> View:
    return query_view("me", "you", [("CanQueryRecord", "you", record) for record in records])


def run(
    version: DatabaseVersion, program: RelationProgram, view: View, budget: Budget | None = None
) -> EmbeddedEvaluation:
    return version.evaluate_with(program, budget or Budget(), [], {VIEW: view})


class Exposing:
    """Derives views in another evaluation, over a database that has texts of its own as well."""

    def __init__(self, database: Database) -> None:
        self._running = database.version().evaluate_with(
            CAN_QUERY, Budget(), [("Viewer", "you"), ("Viewer", "them"), ("Open", "nobody")], {}
        )
        self._open = {"nobody"}

    def view(self, database: Database, records: set[str]) -> View:
        wanted = records | {"nobody"}
        insert = [("Open", record) for record in sorted(wanted - self._open)]
        delete = [("Open", record) for record in sorted(self._open - wanted)]
        self._open = wanted
        result = self._running.follow(database.version(), insert, delete)
        assert result is not None
        return query_view("me", "you", result.relation(Predicate("CanQueryRecord", 2)))


def check_seed(seed: int) -> None:
    case = view_case(seed)
    dice = Random(f"following {seed}")
    view = {value for value in case.values if dice.random() < 0.5}
    held = {fact for fact in case.facts if dice.random() < 0.5}
    database = Database(held)
    exposing = Exposing(database) if seed % 2 else None

    def current() -> View:
        return exposing.view(database, view) if exposing else given_view(view)

    with mode(list(MODES)[seed % len(MODES)]):
        given = current()
        budget, other_budget = Budget(), Budget()
        running = run(database.version(), case.restricted, given, budget)
        other = Database().evaluate(case.plain, other_budget, case.visible(held, view))
        assert shown(running, running.result()) == shown(other, other.result()), seed
        assert budget == other_budget, seed
        kept = []
        for step in range(4):
            before = case.visible(held, view)
            kept.append((running.result(), running.result().all_facts()))
            added = {fact for fact in case.facts if fact not in held and dice.random() < 0.4}
            held |= added
            database.add(sorted(added))
            if step % 2 == 0 or dice.random() < 0.5:
                opened = {value for value in case.values if value not in view and dice.random() < 0.4}
                closed = {value for value in sorted(view) if dice.random() < dice.choice((0.0, 0.0, 0.3))}
                view = (view - closed) | opened
                given = current()
            after = case.visible(held, view)
            budget, other_budget = Budget(), Budget()
            result = running.follow(database.version(), handed={VIEW: given}, budget=budget)
            assert result is not None
            expected = other.change(sorted(after - before), sorted(before - after), other_budget)
            assert result.all_facts() == evaluate(case.program, after), seed
            assert shown(running, result) == shown(other, expected), seed
            assert budget == other_budget, seed
            for predicate in {*case.predicates, FIELD}:
                known = {fact[1:] for fact in held if fact[0] == predicate.name}
                assert set(result.lookup(predicate, (None,) * predicate.arity)) == known, seed
        assert all(version.all_facts() == facts for version, facts in kept), seed


@pytest.mark.parametrize("batch", range(3))
def test_what_follows_equals_the_plain_program_over_visible_facts(batch: int) -> None:
    for seed in range(batch * 50, (batch + 1) * 50):
        check_seed(seed)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(3, 200))
def test_many_more_that_follow(batch: int) -> None:
    for seed in range(batch * 50, (batch + 1) * 50):
        check_seed(seed)


def numbered(first: int, count: int) -> list[Fact]:
    return [
        fact
        for at in range(first, first + count)
        for fact in (
            ("Have", f"p{at}"),
            ("Field", f"p{at}", "Group", "0", f"g{at % 3}"),
            ("Field", f"p{at}", "State", "0", "draft" if at % 5 == 0 else "done"),
            ("Field", f"p{at}", f"Rare{at % 2}", "0", f"p{at - 1}"),
        )
    ]


PLAIN = compile_program(
    parse_program(
        "A(P) :- Have(P), Field(P,'Group',_,'g1'), Wanted(P).\n"
        "B(P,V) :- Field(P,_,_,V), Have(V), not Wanted(P).\n"
    )
)
WANTED, B = Predicate("Wanted", 1), Predicate("B", 2)


@pytest.mark.parametrize("count", [10, 3000])
def test_many_rows_are_taken_over_by_position(count: int) -> None:
    """Large enough for columns; some texts were the evaluation's own before the database had them."""
    facts = numbered(0, count)
    database = Database(facts)
    wanted: list[Fact] = [("Wanted", f"p{at}") for at in range(0, 3 * count, 2)]
    running = database.version().evaluate_with(PLAIN, Budget(), wanted, {})
    first = running.result()
    before = (first.facts(A), first.facts(B), first.size(HAVE))
    for more in (numbered(count, count), numbered(2 * count, count)):
        database.add(more)
        facts += more
        result = running.follow(database.version())
        assert result is not None
        full = Database(facts).evaluate(PLAIN, facts=wanted).result()
        assert (result.facts(A), result.facts(B)) == (full.facts(A), full.facts(B))
        assert result.size(FIELD) == full.size(FIELD) == 3 * len(facts) // 4
        assert list(result.lookup(FIELD, (f"p{count + 1}", "State", None, None)))
    assert (first.facts(A), first.facts(B), first.size(HAVE)) == before
    assert not list(first.lookup(FIELD, (f"p{count + 1}", "State", None, None)))
    # What was taken over can be changed here, and does not change the database.
    gone = running.delete([("Field", f"p{count + 1}", "State", "0", "done"), ("Have", "p1")])
    assert gone.size(FIELD) == result.size(FIELD) - (0 if (count + 1) % 5 == 0 else 1)
    assert gone.size(HAVE) == result.size(HAVE) - 1
    assert database.relations.size(HAVE) == 3 * count


CHOSEN = compile_program(parse_program("A(P) :- Have(P), Field(P,'Group',_,'g1')."))


def columns_of_have(relations: Relations) -> list[Ids]:
    return relations.table(HAVE).columns()


def test_many_rows_are_not_copied_where_every_text_has_its_position() -> None:
    database = Database(numbered(0, 2000))
    running = database.evaluate(CHOSEN)
    kept = [running.result()]
    for first in (2000, 4000):
        database.add(numbered(first, 1))
        assert running.follow(database.version()) is not None
        database.add(numbered(first + 1, 1999))
        result = running.follow(database.version())
        assert result is not None
        (theirs,), (ours,) = map(columns_of_have, (database.relations, running._relations))
        assert np.shares_memory(theirs, ours)
        full = Database(numbered(0, first + 2000)).evaluate(CHOSEN).result()
        assert result.facts(A) == full.facts(A)
        assert result.size(FIELD) == full.size(FIELD)
        kept.append(result)
    # Whoever goes on from here does so for himself.
    database.add([("Have", "theirs")])
    mine = running.insert([("Have", "mine"), ("Field", "mine", "Group", "0", "g1")])
    assert ("mine",) in mine.facts(A)
    assert not list(mine.lookup(HAVE, ("theirs",)))
    assert [each.size(HAVE) for each in kept] == [2000, 4000, 6000]
    assert database.relations.size(HAVE) == 6001


def test_many_rows_are_copied_where_a_text_has_another_position() -> None:
    database = Database(numbered(0, 2000))
    running = database.evaluate(CHOSEN, facts=[("Other", "own text")])
    database.add(numbered(2000, 2000))
    result = running.follow(database.version())
    assert result is not None
    (theirs,), (ours,) = map(columns_of_have, (database.relations, running._relations))
    assert not np.shares_memory(theirs, ours)
    assert result.facts(A) == Database(numbered(0, 4000)).evaluate(CHOSEN).result().facts(A)


def test_many_rows_that_were_followed_in_vain_are_followed_again() -> None:
    database = Database(numbered(0, 2000))
    running = database.evaluate(CHOSEN)
    before = running.result()
    facts = before.facts(A)
    database.add(numbered(2000, 2000))
    with pytest.raises(EvaluationStopped):
        running.follow(database.version(), budget=Budget(EvaluationLimits(steps=3)))
    assert running.result().facts(A) == before.facts(A) == facts
    assert running.result().size(HAVE) == 2000
    result = running.follow(database.version())
    assert result is not None
    assert result.facts(A) == Database(numbered(0, 4000)).evaluate(CHOSEN).result().facts(A)
    assert before.facts(A) == facts


def out_of_memory(*_: object) -> None:
    raise MemoryError


def test_what_fails_when_all_has_been_derived_is_undone_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(numbered(0, 2000))
    running = database.evaluate(CHOSEN)
    facts = running.result().facts(A)
    database.add(numbered(2000, 2000))
    with monkeypatch.context() as broken:
        broken.setattr(Driver, "known", out_of_memory)
        with pytest.raises(MemoryError):
            running.follow(database.version())
    assert running.result().facts(A) == facts
    result = running.follow(database.version())
    assert result is not None
    assert (result.size(HAVE), result.size(FIELD)) == (4000, 12000)
    assert result.facts(A) == Database(numbered(0, 4000)).evaluate(CHOSEN).result().facts(A)


def test_a_relation_that_was_handed_over_keeps_its_rows_where_they_stand() -> None:
    """The database gains the same rows in another order, and then many more."""
    database = Database(numbered(0, 5))
    rows = [("p1",)]
    running = database.version().evaluate_with(PLAIN, Budget(), [], {WANTED: rows})
    first = running.result()
    for more in (["p2"], ["p1"], [f"q{at}" for at in range(2000)]):
        database.add([("Wanted", record) for record in more])
        assert running.follow(database.version(), handed={WANTED: rows}) is not None
    assert list(first.lookup(WANTED, (None,))) == rows
    assert running.result().size(WANTED) == 2002


def test_facts_that_follow_one_by_one_bind_no_function_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[BoundPipeline] = []
    bind = BoundPipeline._bind
    monkeypatch.setattr(BoundPipeline, "_bind", lambda self: (bound.append(self), bind(self)))
    database = Database(numbered(0, 2000))
    running = database.evaluate(CHOSEN)
    running.result()
    for at in range(2000, 2020):
        database.add(numbered(at, 1))
        result = running.follow(database.version())
        assert result is not None
    assert result.facts(A) == Database(numbered(0, 2020)).evaluate(CHOSEN).result().facts(A)
    assert len(bound) == len(set(bound)), "each once"


def test_only_what_is_a_later_version_is_followed() -> None:
    database = Database(numbered(0, 5))
    running = database.version().evaluate_with(PLAIN, Budget(), [("Wanted", "p1")], {})
    assert running.follow(Database(numbered(0, 9)).version()) is None, "another database"
    assert running.follow("no version") is None
    later = database.version()
    database.add(numbered(5, 5))
    assert running.follow(database.version()) is not None
    assert running.follow(later) is None, "an earlier version"
    running.insert([("Have", "only here")])
    database.add(numbered(10, 5))
    assert running.follow(database.version()) is None, "it holds other record facts than the database"


def test_a_version_stays_as_it_was() -> None:
    database = Database(numbered(0, 2000))
    version = database.version()
    assert database.version() is version
    database.add(numbered(2000, 2000))
    database.add([("Have", "p1")])
    facts: list[Fact] = [("Wanted", f"p{at}") for at in range(5000)]
    old = version.evaluate(PLAIN, facts=facts).result()
    assert old.facts(A) == Database(numbered(0, 2000)).evaluate(PLAIN, facts=facts).result().facts(A)
    new = database.evaluate(PLAIN, facts=facts).result()
    assert new.facts(A) == Database(numbered(0, 4000)).evaluate(PLAIN, facts=facts).result().facts(A)


def test_after_a_limit_it_holds_the_facts_from_before_and_follows_again() -> None:
    database = Database(numbered(0, 50))
    rows = [(f"p{at}",) for at in range(200)]
    running = database.version().evaluate_with(PLAIN, Budget(), [], {WANTED: rows})
    before = running.result().facts(A)
    database.add(numbered(50, 100))
    with pytest.raises(EvaluationStopped):
        running.follow(
            database.version(), handed={WANTED: rows[:7]}, budget=Budget(EvaluationLimits(steps=3))
        )
    assert running.result().facts(A) == before
    result = running.follow(database.version(), handed={WANTED: rows})
    assert result is not None
    assert result.facts(A) == [(f"p{at}",) for at in sorted(range(1, 150, 3), key=str)]


def test_what_another_evaluation_derives_is_handed_over_and_followed() -> None:
    database = Database(numbered(0, 1500))
    select = compile_program(parse_program("Wanted(P) :- Field(P,'State',_,'done'), not Held(P)."), (WANTED,))
    theirs = database.version().evaluate_with(select, Budget(), [("Held", "p1"), ("Held", "x")], {})
    handed = theirs.result().relation(WANTED)
    ours = database.version().evaluate_with(PLAIN, Budget(), [("Other", "own text")], {WANTED: handed})
    held = {"p1", "x"}
    for first, (hold, free) in enumerate([("p4", None), (None, "p1"), ("p7", None), (None, None)]):
        database.add(numbered(1500 + 300 * first, 300))
        insert, delete = [("Held", hold)] if hold else [], [("Held", free)] if free else []
        held = held - {free} | {hold} if hold else held - {free}  # type: ignore[arg-type]
        assert theirs.follow(database.version(), insert, delete) is not None
        handed = theirs.result().relation(WANTED)
        result = ours.follow(database.version(), handed={WANTED: handed})
        assert result is not None
        facts = numbered(0, 1800 + 300 * first)
        wanted = [("Wanted", f[1]) for f in facts if f[2:] == ("State", "0", "done") and f[1] not in held]
        full = Database(facts).evaluate(PLAIN, facts=wanted).result()
        assert (result.facts(A), result.facts(B)) == (full.facts(A), full.facts(B))
    assert ours.follow(database.version(), handed={WANTED: handed}) is ours.result(), "nothing is new"
    nothing = ours.follow(database.version())
    assert nothing is not None
    assert nothing.facts(A) == [], "what is not handed over any more is gone"


def test_a_view_is_looked_up_once_and_shows_records_when_they_come() -> None:
    database = Database(numbered(0, 2000))
    program = compile_program(parse_program("A(P) :- Have(P), Field(P,'Group',_,'g1')."))
    seen = restrict(program, VIEW, [HAVE, FIELD])
    view = given_view({f"p{at}" for at in range(1000, 5000)})
    running = [run(database.version(), seen, view) for _ in range(2)]
    assert len(database._shown) == 1
    early = database.version()
    database.add(numbered(2000, 2000))
    wanted = [(f"p{at}",) for at in sorted(range(1000, 4000), key=str) if at % 3 == 1]
    for each in running:
        result = each.follow(database.version(), handed={VIEW: view})
        assert result is not None
        assert result.facts(A) == wanted
    # A version from before the records came, and the view that knows them by now.
    assert run(early, seen, view).result().facts(A) == [row for row in wanted if int(row[0][1:]) < 2000]
    # Records that only an evaluation was told of.
    told = running[0].insert([*numbered(4000, 50)])
    assert told.facts(A) == wanted, "the view was not handed over again"
    again = running[0].follow(database.version(), handed={VIEW: view})
    assert again is not None
    assert len(again.facts(A)) == len(wanted) + 17
    del view, running, again, told, result, each
    assert not database._shown


EITHER = restrict(
    compile_program(parse_program("A(P) :- P(P).\nA(P) :- Q(P).")), VIEW, [Predicate("P", 1), Q]
)


def test_a_view_over_an_earlier_version_shows_what_comes_with_the_next() -> None:
    database = Database([("P", "a")])
    early, view = database.version(), given_view({"a", "b", "c"})
    database.add([("P", "b")])
    assert run(database.version(), EITHER, view).result().facts(A) == [("a",), ("b",)]
    running = run(early, EITHER, view)
    assert running.result().facts(A) == [("a",)]
    result = running.follow(database.version(), handed={VIEW: view})
    assert result is not None
    assert result.facts(A) == [("a",), ("b",)]


def test_a_record_that_only_the_evaluation_knows_stays_visible_when_the_database_gains_the_first() -> None:
    database, view = Database([("P", "hidden")]), given_view({"own", "later", "never"})
    running = database.version().evaluate_with(EITHER, Budget(), [("Q", "own")], {VIEW: view})
    assert running.result().facts(A) == [("own",)]
    database.add([("P", "later")])
    result = running.follow(database.version(), handed={VIEW: view})
    assert result is not None
    assert result.facts(A) == [("later",), ("own",)]


def test_records_that_come_beside_a_view_are_visible_at_once() -> None:
    database, view = Database([("P", "a")]), given_view({"a", "own", "other", "never"})
    running = run(database.version(), EITHER, view)
    result = running.follow(database.version(), [("Q", "own")], handed={VIEW: view})
    assert result is not None
    assert result.facts(A) == [("a",), ("own",)]
    rows = [("own",), ("hidden",)]
    running = database.version().evaluate_with(EITHER, Budget(), [], {VIEW: view, Q: rows})
    assert running.result().facts(A) == [("a",), ("own",)]
    result = running.follow(database.version(), handed={VIEW: view, Q: [*rows, ("other",)]})
    assert result is not None
    assert result.facts(A) == [("a",), ("other",), ("own",)]


def test_a_rule_that_reads_very_many_fields_is_followed_as_soon_as_it_is_evaluated() -> None:
    """A peer may bring 40,000 of them: to compare each with all others takes minutes, and sees no clock."""
    parts = ", ".join(f"not Field(P,'{number}',_,_)" for number in range(16_000))
    began = process_time()
    program = compile_program(parse_program(f"Chosen(P) :- Have(P), {parts}."))
    database = Database([("Have", "a"), ("Field", "a", "x", "0", "y")])
    running = database.version().evaluate_with(program, Budget(), (), {})
    assert running.result().all_facts() == {("Chosen", "a")}
    evaluated = process_time()
    database.add([("Have", "b"), ("Field", "b", "7", "0", "y"), ("Have", "c")])
    result = running.follow(database.version())
    assert result is not None
    assert result.all_facts() == {("Chosen", "a"), ("Chosen", "c")}
    assert process_time() - evaluated < 4 * (evaluated - began)
