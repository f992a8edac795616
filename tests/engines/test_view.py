"""What a view hides is not there: not in results, not in their order, not in what an evaluation costs."""

from __future__ import annotations

from random import Random

import pytest

from lace.algebra import Budget, EvaluationLimits, EvaluationStopped, RelationProgram, restrict
from lace.datalog import compile_program, evaluate, parse_program
from lace.engines import Database, EmbeddedEvaluation, EmbeddedResult
from lace.facts import Fact, Predicate
from tests.engines.modes import MODES, mode
from tests.engines.views import VIEW, ViewCase, view_case

BATCH = 50
Shown = tuple[dict[Predicate, list[tuple[tuple[str, ...], int | None]]], dict[Predicate, int]]


def rows(view: set[str]) -> set[Fact]:
    return {("Seen", value) for value in view}


def shown(running: EmbeddedEvaluation, result: EmbeddedResult) -> Shown:
    """Return everything that an evaluation says: facts in their order, rounds of each, rounds in all."""
    heads = sorted(running.rounds)
    derived = sorted({Predicate(fact[0], len(fact) - 1) for fact in result.all_facts()} | set(heads))
    facts = {p: [(values, result.step(p, values)) for values in result.facts(p)] for p in derived}
    return facts, dict(running.rounds)


def check_seed(seed: int) -> None:
    case = view_case(seed)
    dice = Random(f"changes {seed}")
    view = {value for value in case.values if dice.random() < 0.6}
    held = {fact for fact in case.facts if dice.random() < 0.7}
    with mode(list(MODES)[seed % len(MODES)]):
        budget, other_budget = Budget(), Budget()
        running = Database(held | rows(view)).evaluate(case.restricted, budget)
        other = Database(case.visible(held, view)).evaluate(case.plain, other_budget)
        assert running.result().all_facts() == evaluate(case.program, case.visible(held, view)), seed
        assert shown(running, running.result()) == shown(other, other.result()), seed
        assert budget == other_budget, seed
        for _ in range(4):
            held, view = check_change(case, running, other, held, view, dice)


def check_change(
    case: ViewCase,
    running: EmbeddedEvaluation,
    other: EmbeddedEvaluation,
    held: set[Fact],
    view: set[str],
    dice: Random,
) -> tuple[set[Fact], set[str]]:
    """Change facts and view at random; the other evaluation is told only what becomes or was visible."""
    added = {fact for fact in case.facts if fact not in held and dice.random() < 0.4}
    taken = {fact for fact in sorted(held) if dice.random() < dice.choice((0.0, 0.0, 0.3))}
    opened = {value for value in case.values if value not in view and dice.random() < 0.4}
    closed = {value for value in sorted(view) if dice.random() < dice.choice((0.0, 0.0, 0.3))}
    before = case.visible(held, view)
    held, view = (held - taken) | added, (view - closed) | opened
    after = case.visible(held, view)
    budget, other_budget = Budget(), Budget()
    result = running.change(sorted(added | rows(opened)), sorted(taken | rows(closed)), budget)
    expected = other.change(sorted(after - before), sorted(before - after), other_budget)
    assert result.all_facts() == evaluate(case.program, after)
    assert shown(running, result) == shown(other, expected)
    assert budget == other_budget
    return held, view


@pytest.mark.parametrize("batch", range(8))
def test_a_restricted_program_is_the_plain_one_over_visible_facts(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        check_seed(seed)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(8, 400))
def test_many_more_restricted_programs(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        check_seed(seed)


RECORDS: list[Fact] = [
    fact
    for at in range(40)
    for fact in (
        ("Have", f"p{at:02}"),
        ("Field", f"p{at:02}", "TAI", "0", f"{at // 3:03}"),
        ("Field", f"p{at:02}", "Group", "0", f"g{at % 3}"),
        ("RecordLink", f"p{at:02}", "Next", "0", "", f"p{at + 1:02}"),
        ("RecordLink", f"p{at:02}", "Other", "0", "", f"p{at * 7 % 40:02}"),
    )
]
KINDS = (Predicate("Have", 1), Predicate("Field", 4), Predicate("RecordLink", 5))
PROGRAMS = {
    "joined": "A(P,G) :- Have(P), Field(P,'Group',_,G).",
    "negated": "A(P) :- RecordLink(_,_,_,_,P), not Have(P).",
    "counted": "A(P) :- RecordLink(P,_,_,_,_), Cardinality(RecordLink(Q,N,_,_,P),'>=','2').",
    "closed": "A(P,Q) :- RecordLink(P,'Next',_,_,Q).\nA(P,R) :- A(P,Q), RecordLink(Q,'Next',_,_,R).",
    "any name": "A(P,N) :- Field(P,N,_,V), RecordLink(P,N2,_,_,Q), not Field(Q,N,_,V).",
    "ranked": (
        "C(P,T) :- Have(P), Field(P,'TAI',_,T).\nB(P,Q) :- C(P,T), C(Q,T), LexCompare(Q,'>',P).\n"
        "B(P,Q) :- C(P,T), C(Q,U), LexCompare(U,'>',T).\nA(P) :- C(P,_), Cardinality(B(P,_),'<','7')."
    ),
    "ranked by the record itself": (
        "B(P,Q) :- Have(P), Have(Q), LexCompare(Q,'>',P).\nA(P) :- Have(P), Cardinality(B(P,_),'<','5')."
    ),
}
HIDDEN = [fact for fact in RECORDS if fact[1] > "p25" or fact[1] in ("p03", "p17")]


@pytest.mark.parametrize("way", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_hidden_records_change_nothing_and_cost_nothing(name: str, way: str) -> None:
    text = PROGRAMS[name]
    program = parse_program(text)
    plain = compile_program(program, [p for p in program.heads if p.name == "A"])
    visible = [fact for fact in RECORDS if fact not in HIDDEN]
    view: list[Fact] = sorted({("Seen", fact[1]) for fact in visible})
    with mode(way):
        costs = []
        for facts in (visible, RECORDS, visible + HIDDEN[:9]):
            budget = Budget()
            running = Database(facts + view).evaluate(restrict(plain, VIEW, KINDS), budget)
            costs.append((budget, shown(running, running.result())))
        budget = Budget()
        running = Database(visible).evaluate(plain, budget)
        assert costs == [(budget, shown(running, running.result()))] * 3
        assert budget.derived, "the program derives something"
        whole = Database(RECORDS).evaluate(plain)
        assert whole.result().all_facts() != running.result().all_facts(), "the view hides something"


@pytest.mark.parametrize("way", MODES)
def test_a_view_that_the_program_derives_grows_and_shrinks_with_it(way: str) -> None:
    """Local rules say which groups are open; what reads records reads those alone."""
    local = "Seen(P) :- Field(P,'Group',_,G), Open(G).\nHidden(P) :- Have(P), not Seen(P)."
    text = PROGRAMS["any name"] + "\nN(P) :- RecordLink(_,'Next',_,_,P), not Have(P)."
    both = parse_program(f"{local}\n{text}")
    with mode(way):
        program = restrict(compile_program(both), VIEW, KINDS)
        running = Database(RECORDS).evaluate(program, facts=[("Open", "g0")])
        opened = {"g0"}
        for more, less in (({"g1"}, set()), (set(), {"g0"}), ({"g0", "g2"}, {"g1"}), (set(), {"g0", "g2"})):
            check_derived_view(running.result(), text, opened)
            running.change([("Open", g) for g in more], [("Open", g) for g in less])
            opened = (opened | more) - less
        check_derived_view(running.result(), text, opened)


def check_derived_view(result: EmbeddedResult, text: str, opened: set[str]) -> None:
    view = {f[1] for f in RECORDS if f[0] == "Field" and f[2] == "Group" and f[4] in opened}
    assert {values[0] for values in result.facts(VIEW)} == view
    expected = evaluate(parse_program(text), [fact for fact in RECORDS if fact[1] in view])
    for name, arity in (("A", 2), ("N", 1)):
        found = {(name, *values) for values in result.facts(Predicate(name, arity))}
        assert found == {fact for fact in expected if fact[0] == name}


@pytest.mark.parametrize("way", MODES)
def test_many_rows_become_visible_and_hidden_again(way: str) -> None:
    """Relations large enough for columns, opened a few and many values at a time."""
    facts = [("Field", f"p{at:04}", "N", str(copy), f"v{at % 50}") for at in range(2500) for copy in range(2)]
    text = "A(P,V) :- Field(P,'N',I,V), not Field(P,'N',I,'v7')."
    program = compile_program(parse_program(text))
    restricted = restrict(program, VIEW, [Predicate("Field", 4)])
    with mode(way):
        running = Database(facts).evaluate(restricted, facts=[("Seen", "p0001")])
        view = {"p0001"}
        for more, less in (
            (range(2, 2000), ()),
            ((2000, 2001, 2007), ()),
            ((), (1, 2, 3)),
            (range(2010, 2400), range(100, 1900)),
            ((), range(2500)),
        ):
            opened, closed = ({f"p{at:04}" for at in side} for side in (more, less))
            view = (view - closed) | opened
            result = running.change(sorted(rows(opened)), sorted(rows(closed)))
            seen = {(f[1], f[4]) for f in facts if f[1] in view and f[4] != "v7"}
            assert set(result.facts(Predicate("A", 2))) == seen


def test_everything_becomes_visible_where_nothing_was() -> None:
    names = [f"p{at:04}" for at in range(1500)]
    facts: list[Fact] = [("Field", name, "N", "0", "v") for name in names]
    program = restrict(compile_program(parse_program("A(P) :- Field(P,'N',_,_).")), VIEW, KINDS)
    running = Database(facts).evaluate(program)
    assert running.result().count(Predicate("A", 1)) == 0
    assert running.insert(sorted(rows(set(names)))).count(Predicate("A", 1)) == len(names)


def test_the_limit_on_base_facts_counts_what_is_visible_and_read() -> None:
    plain = compile_program(parse_program("A(P) :- Have(P), not Field(P,'Group',_,'g0')."))
    program = restrict(plain, VIEW, KINDS)
    view: list[Fact] = [("Seen", "p01"), ("Seen", "p02")]
    none: list[Fact] = []
    unread: list[Fact] = [("Field", "p01", f"Other-{at}", "0", "x") for at in range(9)]
    for extra in (none, HIDDEN, unread):
        database = Database([f for f in RECORDS if f[1] in ("p01", "p02")] + view + extra)
        database.evaluate(program, Budget(EvaluationLimits(base_facts=4)))
        with pytest.raises(EvaluationStopped) as stopped:
            database.evaluate(program, Budget(EvaluationLimits(base_facts=3)))
        assert stopped.value.fields["seen"] == 4, "`Have` and `Group` of two records"


def test_what_is_read_plainly_and_through_a_view_counts_for_both_whatever_else_is_there() -> None:
    own = compile_program(parse_program("Local(P) :- Field(P,'Group',_,_)."))
    seen = restrict(compile_program(parse_program("Peer(P,N) :- Field(P,N,_,_).")), VIEW, KINDS)
    program = RelationProgram(own.components + seen.components, own.wanted + seen.wanted)
    names = [f"p{at}" for at in range(5)]
    facts: list[Fact] = [("Field", p, name, "0", "x") for p in names for name in ("Group", "App")]
    facts += [("Seen", p) for p in names]
    hidden: list[Fact] = [("Field", f"h{at}", "App", "0", "x") for at in range(20)]
    for held in (facts, facts + hidden):
        Database(held).evaluate(program, Budget(EvaluationLimits(base_facts=15)))
        with pytest.raises(EvaluationStopped) as stopped:
            Database(held).evaluate(program, Budget(EvaluationLimits(base_facts=12)))
        assert stopped.value.fields["seen"] == 15


TRIPLE = Predicate("T", 3)
MANY: list[Fact] = [("T", f"x{at}", f"y{at}", f"z{at}") for at in range(1500)]
SHOWN: list[Fact] = [("Seen", f"x{at}") for at in range(1500)]


def test_what_is_hidden_stays_so_where_everything_was_visible_before() -> None:
    rules = parse_program("A(X) :- Q(X,Y,Z), T(X,Y,Z).\nB(X) :- Q(X,Y,Z), not T(X,Y,Z).")
    known: list[Fact] = [("Known", f"n{at}") for at in range(100)]
    running = Database(MANY + SHOWN + known).evaluate(restrict(compile_program(rules), VIEW, [TRIPLE]))
    running.delete(MANY[-1:])
    running.insert([("T", f"n{at}", f"y{at}", f"z{at}") for at in range(100)])
    asked: list[Fact] = [("Q", "n50", "y50", "z50"), ("Q", "x7", "y7", "z7")]
    assert running.insert(asked).all_facts() == {("A", "x7"), ("B", "n50")}


def test_what_is_visible_stays_so_where_facts_come_again() -> None:
    rules = compile_program(parse_program("A(Y) :- T(Y,Y,_)."))
    running = Database(MANY + SHOWN).evaluate(restrict(rules, VIEW, [TRIPLE]))
    running.delete(MANY[-1:])
    more: list[Fact] = [("T", f"x{at}", f"x{at}", f"z{at}") for at in range(10)]
    assert running.insert(more + MANY[:40]).count(Predicate("A", 1)) == 10


def test_new_texts_are_hidden_where_the_database_holds_the_view() -> None:
    program = restrict(compile_program(parse_program("A(P) :- Have(P).")), VIEW, KINDS)
    database = Database([("Have", "a"), ("Seen", "a")])
    new: list[Fact] = [("Have", f"new{at}") for at in range(33)]
    assert database.evaluate(program).insert(new).all_facts() == {("A", "a")}
    assert database.evaluate(program, facts=new).result().all_facts() == {("A", "a")}


@pytest.mark.parametrize("way", MODES)
def test_a_stopped_change_of_the_view_leaves_everything_as_it_was(way: str) -> None:
    program = restrict(compile_program(parse_program(PROGRAMS["closed"])), VIEW, KINDS)
    view: list[Fact] = [("Seen", f"p{at:02}") for at in range(10)]
    with mode(way):
        running = Database(RECORDS + view).evaluate(program)
        before = running.result().all_facts()
        with pytest.raises(EvaluationStopped):
            running.insert([("Seen", "p10"), ("Seen", "p11")], Budget(EvaluationLimits(steps=5)))
        assert running.result().all_facts() == before
        after = running.change([("Seen", "p10")], [("Seen", "p00")]).all_facts()
    visible = [fact for fact in RECORDS if "p01" <= fact[1] <= "p10"]
    assert after == evaluate(parse_program(PROGRAMS["closed"]), visible)


@pytest.mark.parametrize("way", MODES)
def test_a_view_that_is_derived_anew_in_another_order_shows_what_came(way: str) -> None:
    program = compile_program(parse_program("Seen(P) :- Open(P), not Shut(P).\nA(P) :- Have(P)."))
    names = [f"p{at}" for at in range(5)]
    facts: list[Fact] = [(name, p) for p in names for name in ("Have", "Open") if (name, p) != ("Open", "p0")]
    with mode(way):
        running = Database(facts).evaluate(
            restrict(program, VIEW, KINDS), facts=[("Seen", "p0"), ("Shut", "p1"), ("Shut", "p3")]
        )
        assert running.result().facts(Predicate("A", 1)) == [("p0",), ("p2",), ("p4",)]
        assert running.delete([("Shut", "p1")]).facts(Predicate("A", 1)) == [
            ("p0",),
            ("p1",),
            ("p2",),
            ("p4",),
        ]
        assert running.insert([("Shut", "p4")]).facts(Predicate("A", 1)) == [("p0",), ("p1",), ("p2",)]
