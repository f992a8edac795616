"""One fact more, by the way that is bound once, does what a change of many facts would have done."""

from __future__ import annotations

import gc
from collections.abc import Collection
from random import Random

import pytest

from lace.algebra import Budget, EvaluationLimits, EvaluationStopped, restrict
from lace.datalog import compile_program, parse_program
from lace.engines import Database, EmbeddedEvaluation, EmbeddedResult, embedded, table
from lace.engines.bound import BoundPipeline
from lace.engines.dictionary import Dictionary
from lace.engines.embedded import DerivedPredicate
from lace.errors import LaceError
from lace.facts import Fact, Predicate
from tests.engines.modes import mode

PROGRAM = """\
Member(P) :- Root(P), Have(P).
Member(Q) :- Member(P), RecordLink(P,'evidence',_,_,Q), Have(Q).
Twice(P) :- Member(P), RecordLink(P,'evidence',_,_,Q), RecordLink(Q,'evidence',_,_,P).
Named(P,K) :- Member(P), Field(P,'Name',_,K), TextShape(K,'n','','').
Lone(P) :- Have(P), not Blocked(P).
Paired(P) :- Twice(P), Named(P,_).
"""
WANTED = [Predicate("Paired", 1), Predicate("Lone", 1), Predicate("Named", 2), Predicate("Member", 1)]
BASE = [
    Predicate("Have", 1), Predicate("Root", 1), Predicate("Blocked", 1),
    Predicate("RecordLink", 5), Predicate("Field", 4), Predicate("Unread", 2),
]  # fmt: skip


def draw(dice: Random) -> Fact:
    record = f"p{dice.randrange(12)}"
    match dice.randrange(8):
        case 0:
            return ("Have", record)
        case 1:
            return (dice.choice(("Root", "Have", "Blocked")), record)
        case 2:
            return ("Field", record, dice.choice(("Name", "Title")), "0", dice.choice("mn") + record)
        case 3:
            return ("Unread", record, f"u{dice.randrange(3)}")
        case _:
            label = dice.choice(("evidence", "evidence", "see", "other"))
            return ("RecordLink", record, label, "0", f"d{dice.randrange(3)}", f"p{dice.randrange(12)}")


def everything(running: EmbeddedEvaluation, result: EmbeddedResult) -> tuple[object, ...]:
    """Return all that can be asked of an evaluation and its version."""
    derived = [*WANTED, Predicate("Twice", 1)]
    return (
        sorted(result.all_facts()),
        [sorted(zip(result.unsorted(each), result.rounds(each), strict=True)) for each in derived],
        [(each, result.size(each), sorted(result.lookup(each, (None,) * each.arity))) for each in BASE],
        {rule: (cost.runs, cost.rows, cost.new) for rule, cost in running.costs.items() if cost.runs},
        dict(running.rounds),
    )


def evaluate(facts: Collection[Fact]) -> EmbeddedEvaluation:
    return Database(sorted(facts)).evaluate(compile_program(parse_program(PROGRAM), WANTED))


@pytest.mark.req("030-113")
@pytest.mark.parametrize("way", ["as it chooses", "loops only", "loops that prove too long"])
@pytest.mark.parametrize("seed", range(6))
def test_a_single_fact_does_what_a_change_does(seed: int, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "TAIL_ROWS", 9)  # so few that tuples become columns on the way
    dice = Random(f"single {seed}")
    facts = {draw(dice) for _ in range(40)}
    if seed % 2:
        facts |= {
            ("Member", f"p{at}") for at in range(0, 12, 3)
        }  # supplied, and some of them derived as well
    with mode(way):
        single, plain = evaluate(facts), evaluate(facts)
        versions = [(single.result(), everything(single, single.result())[:3])]
        plain.change((), ())
        for step in range(60):
            fact = draw(dice)
            mine, theirs = Budget(), Budget()
            if dice.random() < 0.1:
                gone = [draw(dice) for _ in range(4)]
                facts -= set(gone)
                assert everything(single, single.delete(gone)) == everything(plain, plain.delete(gone)), step
            facts.add(fact)
            here, there = single.insert([fact], mine), plain.change([fact], (), theirs)
            assert everything(single, here) == everything(plain, there), (seed, step, fact)
            assert mine == theirs, (seed, step, fact)
            assert here.all_facts() == evaluate(facts).result().all_facts(), (seed, step, fact)
            versions.append((here, everything(single, here)[:3]))
    for version, told in versions:
        assert everything(single, version)[:3] == told, "a version changed"


def test_what_a_single_fact_costs_is_told_by_rule() -> None:
    running = evaluate({("Root", "a"), *[("Have", each) for each in "abcd"]})
    running.insert([("RecordLink", "x", "evidence", "0", "d", "y")])
    before = {rule: (cost.runs, cost.rows, cost.new) for rule, cost in running.costs.items()}
    running.insert([("RecordLink", "b", "evidence", "0", "d", "c")])
    running.insert([("RecordLink", "a", "evidence", "0", "d", "b")])
    running.insert([("RecordLink", "a", "evidence", "1", "d", "b")])
    cost, (runs, rows, new) = (
        running.costs[2],
        before[2],
    )  # rules are numbered as they stand in canonical text
    # Nothing, then b and by it c and nothing by c, then b again, which is no news.
    assert (cost.runs - runs, cost.rows - rows, cost.new - new) == (1 + 3 + 1, 0 + 2 + 1, 0 + 2 + 0)


def test_what_a_view_hides_stays_hidden_when_it_comes_alone() -> None:
    program = compile_program(parse_program("Out(P,K) :- Field(P,'Name',_,K)."), [Predicate("Out", 2)])
    seen, field = Predicate("Seen", 1), Predicate("Field", 4)
    running = Database([("Seen", "p1")]).evaluate(restrict(program, seen, {field}))
    running.insert([("Field", "p0", "Name", "0", "first")])
    running.insert([("Field", "p1", "Name", "0", "shown")])
    assert running.insert([("Field", "p2", "Name", "0", "hidden")]).all_facts() == {("Out", "p1", "shown")}
    assert running.insert([("Seen", "p2")]).all_facts() == {("Out", "p1", "shown"), ("Out", "p2", "hidden")}


def test_facts_that_came_one_by_one_and_are_gone_wear_an_evaluation_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embedded, "WORN", 8)
    database = Database([("Have", "p")])
    running = database.evaluate(compile_program(parse_program(PROGRAM), WANTED))
    for at in range(30):
        assert running.follow(database.version()) is not None or at > 8
        running.insert([("Root", f"r{at}")])
        running.delete([("Root", f"r{at}")])
    assert running.follow(database.version()) is None


def test_texts_of_facts_that_are_refused_wear_an_evaluation_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "WORN", 8)
    database = Database([("RecordLink", "p", "see", "0", "d", "q")])
    running = database.evaluate(compile_program(parse_program(PROGRAM), WANTED))
    for at in range(30):
        with pytest.raises(LaceError):
            running.insert([("RecordLink", f"new {at}", "see", "0", "d", "e\u0301")])
    assert running.follow(database.version()) is None


def test_a_fact_that_was_refused_leaves_the_next_ones_their_place() -> None:
    database = Database([("Have", "p"), ("Unread", "u", "v")])
    running = database.evaluate(compile_program(parse_program(PROGRAM), WANTED))
    running.insert([("Root", "r")])
    with pytest.raises(LaceError):
        running.insert([("Unread", "x", "e\u0301")])
    database.add([("Unread", "more", "v")])
    assert running.follow(database.version()) is not None
    result = running.insert([("Unread", "mine", "v")])
    assert {first for first, _ in result.lookup(Predicate("Unread", 2), (None, None))} == {
        "u",
        "more",
        "mine",
    }


@pytest.mark.parametrize("limit", ["base_facts", "derived_total"])
def test_a_fact_that_passed_a_limit_keeps_nobody_from_following(limit: str) -> None:
    database = Database([("Have", "p"), ("Root", "p"), ("Have", "q")])
    running = database.evaluate(compile_program(parse_program(PROGRAM), WANTED))
    with pytest.raises(EvaluationStopped):
        running.insert([("Root", "q")], Budget(EvaluationLimits(**{limit: 0})))
    database.add([("Have", "r"), ("Root", "r")])
    followed = running.follow(database.version())
    assert followed is not None
    assert ("Member", "r") in followed.all_facts()
    # What came from elsewhere as well is nothing to go on from.
    running.insert([("Root", "q")])
    database.add([("Root", "s")])
    assert running.follow(database.version()) is None


def test_a_text_that_the_database_took_meanwhile_is_one_of_its_own() -> None:
    database = Database([("Have", "p"), ("Root", "p")])
    running = database.evaluate(compile_program(parse_program(PROGRAM), WANTED))
    running.insert([("Root", "q")])
    database.add([("Unread", "late", "later")])
    running.insert([("Have", "later")])
    running.insert([("Have", "late")])
    facts = running.insert([("Root", "late")]).all_facts()
    assert facts == {
        ("Member", "p"),
        ("Member", "late"),
        *[("Lone", each) for each in ("p", "late", "later")],
    }


def test_what_is_read_by_name_and_as_a_whole_gets_a_single_fact_twice() -> None:
    text = "Named(P,K) :- Field(P,'Name',_,K).\nAny(P,N) :- Field(P,N,_,_).\n"
    program = compile_program(parse_program(text + "Both(P) :- Named(P,_), Any(P,'Title')."))
    facts: list[Fact] = [("Field", "p", "Title", "0", "t")]
    single, plain = (Database(facts).evaluate(program) for _ in "12")
    single.result()
    news: list[Fact] = [("Field", "q", "Title", "0", "t"), ("Field", "q", "Name", "0", "n")]
    for new in news:
        assert single.insert([new]).all_facts() == plain.change([new], ()).all_facts()
    assert ("Both", "q") in single.result().all_facts()


def test_a_table_that_grows_by_single_rows_becomes_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "TAIL_ROWS", 2)
    rows = table.Table(1, Dictionary())
    for time, text in enumerate("abca", 1):
        assert rows.add_row((rows.dictionary.intern(text),), time) is (time < 4)
    assert (rows.base, rows.size) == (3, 3)


def test_loops_that_prove_too_long_are_not_tried_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[object] = []
    run = BoundPipeline.run

    def counted(self: BoundPipeline, *given: object, **named: object) -> object:
        found = run(self, *given, **named)  # type: ignore[arg-type]
        runs.append(found)
        return found

    monkeypatch.setattr(BoundPipeline, "run", counted)
    program = compile_program(parse_program("A(X,Z) :- E(X,Y), F(Y,Z)."))
    with mode("loops that prove too long"):
        running = Database([("F", "y", f"z{at}") for at in range(9)]).evaluate(program)
        running.insert([("E", "x", "w")])
        runs.clear()
        assert len(running.insert([("E", "x", "y")]).all_facts()) == 9
        assert runs == [None]
        runs.clear()
        running.change([("E", "u", "y"), ("E", "v", "y")], ())
        assert runs == [None]


@pytest.mark.parametrize("way", ["as it chooses", "columns only"])
def test_tables_that_others_took_the_place_of_are_let_go(way: str) -> None:
    def tables() -> int:
        gc.collect()
        return sum(type(each) is table.Table for each in gc.get_objects())

    facts: list[Fact] = [("Have", f"p{at}") for at in range(50)]
    facts += [("Root", f"p{at}") for at in range(50)]
    with mode(way):
        running = evaluate(facts)
        running.insert([("Root", "p1")])
        early = 0
        for at in range(40):
            running.delete([facts[at], facts[-at]])
            links: list[Fact] = [
                ("RecordLink", f"p{at + each}", "evidence", "0", "d", "p49") for each in range(9)
            ]
            running.insert(links)
            running.delete(links[:5])
            with pytest.raises(EvaluationStopped):
                running.insert([("Have", f"q{at}")], Budget(EvaluationLimits(base_facts=0)))
            early = early or (tables() if at == 10 else 0)
    assert tables() < early + 10, "one for each change, and more"


@pytest.mark.parametrize("limit", ["steps", "derived_total", "base_facts", "iterations"])
def test_a_single_fact_stops_where_a_change_does_and_leaves_nothing(limit: str) -> None:
    chain: list[Fact] = [("RecordLink", f"p{at}", "evidence", "0", "d", f"p{at + 1}") for at in range(9)]
    facts: list[Fact] = [("Have", f"p{at}") for at in range(10)] + chain
    single, plain = evaluate(facts), evaluate(facts)
    single.insert([("Unread", "a", "b")])
    plain.change([("Unread", "a", "b")], ())
    before = everything(single, single.result())[:3]
    stopped: list[tuple[object, ...]] = []
    for bound in range(40):
        budgets = [Budget(EvaluationLimits(**{limit: bound})) for _ in "12"]
        ends: list[tuple[object, ...]] = []
        for running, budget in zip((single, plain), budgets, strict=True):
            try:
                change = running.insert if running is single else lambda facts, b: plain.change(facts, (), b)
                result = change([("Root", "p0")], budget)
            except EvaluationStopped as error:
                ends.append((str(error), budget.steps, budget.derived))
                assert everything(running, running.result())[:3] == before
            else:
                ends.append((sorted(result.all_facts()), budget.steps, budget.derived))
                running.delete([("Root", "p0")])
        assert ends[0] == ends[1], bound
        stopped += ends[:1] if isinstance(ends[0][0], str) else []
    assert stopped, "no limit was near"


def test_what_is_no_fact_is_refused_with_words_and_changes_nothing() -> None:
    running = evaluate([("Have", "p1"), ("Root", "p1"), ("RecordLink", "p1", "see", "0", "d", "p2")])
    running.insert([("Have", "p2")])
    before = everything(running, running.result())
    bad: list[object] = [
        (), "Have", ("Have", 5), ("Have", ["p"]), ("Have", None), (5, "p"), (["x"], "p"),
        ("RecordLink", "p1", 5, "0", "d", "p2"), ("RecordLink", "p1", ["see"], "0", "d", "p2"),
        ("RecordLink", "p1", "see", "0", "e\u0301", "p2"), ("Have", "x" * 70_000), ("Have", "a\ud800"),
    ]  # fmt: skip
    for fact in bad:
        with pytest.raises(LaceError):
            running.insert([fact])  # type: ignore[list-item]
        assert everything(running, running.result()) == before, fact
    # Text of which the first letter is a relation, and a mapping.
    short = Database([("H", "x", "y", "z")]).evaluate(compile_program(parse_program("M(X) :- H(X,_,_).")))
    short.insert([("H", "p", "q", "r")])
    for given in (["Hijk"], ("Hlmn",), [{}], [{"a": 1}]):
        with pytest.raises((LaceError, KeyError)):
            short.insert(given)  # type: ignore[arg-type]
    assert short.result().all_facts() == {("M", "x"), ("M", "p")}
    with pytest.raises(DerivedPredicate):
        running.insert([("Member", "p1")])
    assert running.insert([("Have", "p3")]).size(Predicate("Have", 1)) == 3
