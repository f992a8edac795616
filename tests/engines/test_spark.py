"""The engine on Spark gives the facts, rounds and steps of the embedded engine, whatever is forced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lace.algebra import Budget, Engine, Evaluation, RelationProgram, Result
from lace.datalog import compile_program, evaluate, parse_program
from lace.engines import Database, DerivedPredicate
from lace.facts import Fact, Predicate
from tests.datalog.programs import BIG
from tests.engines.spark_cases import check_same, embedded, engine_over, random_together, together
from tests.engines.test_against_the_oracle import NOT_COMPOSED
from tests.golden import load_vectors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FORCED = ("local", "parts", "loop")
CASES = load_vectors("evaluate")["cases"]


def compiled(text: str, *wanted: Predicate) -> RelationProgram:
    return compile_program(parse_program(text), wanted or None)


def check_golden(session: SparkSession, chosen: slice, strategy: str) -> None:
    cases = []
    for case in CASES[chosen]:
        facts = [tuple(fact) for fact in case["facts"] if tuple(fact) != NOT_COMPOSED.get(case["name"])]
        cases.append((compiled(case["program"]), facts))
    program, given = together(cases)
    found = engine_over(session, given, strategy=strategy, parts=2).evaluate(program).result().all_facts()
    for number, case in enumerate(CASES[chosen]):
        expected = {(f"{name}.{number}", *values) for name, *values in case["derived"]}
        assert {fact for fact in found if fact[0].endswith(f".{number}")} == expected, case["name"]


@pytest.mark.parametrize(("strategy", "every"), [("local", 8), ("parts", 20), ("loop", 20)])
def test_golden_evaluations_come_out(tiny: SparkSession, strategy: str, every: int) -> None:
    check_golden(tiny, slice(0, None, every), strategy)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", FORCED)
@pytest.mark.parametrize("first", range(0, len(CASES), 14))
def test_every_golden_evaluation_comes_out(tiny: SparkSession, strategy: str, first: int) -> None:
    check_golden(tiny, slice(first, first + 14), strategy)


def check_random(session: SparkSession, first: int, last: int, strategy: str) -> None:
    program, facts = random_together(first, last)
    wanted, steps = embedded(program, facts)
    budget = Budget()
    engine = engine_over(session, facts, told=True, strategy=strategy, parts=2)
    found = engine.evaluate(program, budget).result()
    check_same(found, wanted, program)
    # Parts that find the same facts count some steps twice, and never count one too few.
    assert budget.steps >= steps if strategy == "parts" else budget.steps == steps


@pytest.mark.req("030-053", "030-054")
@pytest.mark.parametrize(
    ("first", "last", "strategy"), [(0, 20, "local"), (20, 40, "local"), (0, 5, "loop"), (10, 15, "parts")]
)
def test_random_programs_agree_with_the_embedded_engine(
    tiny: SparkSession, first: int, last: int, strategy: str
) -> None:
    check_random(tiny, first, last, strategy)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", FORCED)
@pytest.mark.parametrize("first", range(0, 300, 10))
def test_many_more_random_programs_agree(tiny: SparkSession, first: int, strategy: str) -> None:
    check_random(tiny, first, first + 10, strategy)


AWKWARD = [
    "",
    "-0",
    "01",
    "0",
    BIG,
    "-" + BIG,
    "it's",
    "\\",
    "\\'",
    '"',
    "\N{HOT BEVERAGE}",
    "\U0001f600",
    "a\nb",
    "%",
]
LINKED: list[Fact] = [
    *(("Root", str(at)) for at in range(4)),
    *(("Have", str(at)) for at in range(40) if at % 7 != 6),
    *(
        ("RecordLink", str(at // 3), "evidence", str(at % 3), "", str(at // 3 * 2 + at % 3))
        for at in range(60)
    ),
    *(("RecordLink", str(at), "see", "0", "", "39") for at in range(20)),
]
PROGRAMS: dict[str, tuple[str, list[Fact]]] = {
    "recursion with two atoms of its own": (
        "Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Path(X,Y), Path(Y,Z), X != Z.",
        [("Edge", str(at), str((at * 7 + 3) % 11)) for at in range(11)],
    ),
    "predicates that need each other": (
        "Even(X) :- Start(X).\nOdd(Y) :- Even(X), Next(X,Y).\nEven(Y) :- Odd(X), Next(X,Y).\n"
        "Both(X) :- Even(X), Odd(X).\nNeither(X) :- Next(X,_), not Even(X), not Odd(X).",
        [("Start", "0"), ("Next", "9", "9"), *(("Next", str(at), str((at + 1) % 5)) for at in range(5))],
    ),
    "a column that is kept": (
        "In(G,X) :- Root(G,X).\nIn(G,Y) :- In(G,X), Edge(X,Y), not Closed(G).",
        [("Closed", "c"), *(("Root", group, group) for group in "abc")]
        + [("Edge", x, y) for x, y in ("ax", "xy", "yx", "bx", "bz", "cz")],
    ),
    "two atoms that keep a column": (
        "Same(G,X,Y) :- Link(G,X,Y).\nSame(G,X,Z) :- Same(G,X,Y), Same(G,Y,Z).",
        [("Link", str(at % 3), str(at), str(at + 3)) for at in range(14)],
    ),
    "seeds that meet": (
        "Member(P) :- Root(P), Have(P).\nMember(Q) :- Member(P), RecordLink(P,'evidence',_,_,Q), Have(Q).",
        LINKED,
    ),
    "no arguments": (
        "Yes() :- On(), V(_).\nNo() :- V(_), not Yes().\nWhole() :- Yes(), not No().\n"
        "V2(X) :- V(X), Whole().\nMany() :- Cardinality(V(_),'>','1').\nFixed('x','y') :- true.",
        [("On",), ("V", "1"), ("V", "2")],
    ),
    "awkward values": (
        "Less(X,Y) :- V(X), V(Y), IntCompare(X,'<',Y).\nBelow(X,Y) :- V(X), V(Y), LexCompare(X,'<=',Y).\n"
        "Odd(X) :- V(X), not Less(X,_), not Less(_,X).\nQuote(X) :- V(X), TextShape(X,'it','\\'','s').\n"
        "Same(X) :- V(X), W(X,X).\nNext(X,Y) :- Below(X,Y), X != Y, Cardinality(Between(X,Y,_),'<','1').\n"
        "Between(X,Y,Z) :- Below(X,Z), Below(Z,Y), X != Z, Z != Y.",
        [("V", value) for value in AWKWARD] + [("W", value, value) for value in AWKWARD[::2]],
    ),
    "a closure that is taken at once": (
        "Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Path(X,Y), Edge(Y,Z).",
        [("Edge", str(at), str(at // 9 * 9 + (at * 5 + 1) % 9)) for at in range(540)],
    ),
    "supplied and derived": (
        "Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Path(X,Y), Edge(Y,Z).",
        [("Edge", "a", "b"), ("Edge", "b", "c"), ("Path", "z", "a"), ("Path", "a", "b")],
    ),
    "variables that differ in case": ("P(X,Xa,XA) :- E(X,Xa), E(Xa,XA).", [("E", "1", "2"), ("E", "2", "3")]),
}  # fmt: skip


@pytest.mark.parametrize("strategy", FORCED)
def test_what_is_easy_to_get_wrong_comes_out(tiny: SparkSession, strategy: str) -> None:
    program, facts = together([(compiled(text), facts) for text, facts in PROGRAMS.values()])
    wanted, steps = embedded(program, facts)
    budget = Budget()
    evaluation = engine_over(tiny, facts, strategy=strategy, parts=3).evaluate(program, budget)
    check_same(evaluation.result(), wanted, program)
    if strategy == "parts":
        looped = {str(c.predicates[0]) for c in evaluation.report.components if c.strategy == "loop"}
        assert looped == {"Path.0/2", "Path.8/2"}, "two free atoms, and facts supplied for what is derived"
    else:
        assert budget.steps == steps
    rounds = {p: rounds for p, rounds in Database(facts).evaluate(program).rounds.items() if rounds}
    told = {c.predicates[0]: c.iterations for c in evaluation.report.components if c.iterations}
    assert told == rounds


def test_what_a_first_rule_finds_stays_where_the_last_one_of_its_head_finds_nothing(
    tiny: SparkSession,
) -> None:
    program = compile_program(parse_program("A(X) :- B(_), C(X).\nA(X) :- C(X), D(X)."))
    engine = engine_over(tiny, [("B", "b"), ("C", "c")], strategy="parts", parts=2)
    assert engine.evaluate(program).result().all_facts() == {("A", "c")}


def test_steps_of_parts_that_never_meet_add_up(tiny: SparkSession) -> None:
    kept = ("a column that is kept", "two atoms that keep a column")
    program, facts = together([(compiled(PROGRAMS[name][0]), PROGRAMS[name][1]) for name in kept])
    budget, steps = Budget(), embedded(program, facts)[1]
    engine_over(tiny, facts, strategy="parts", parts=3).evaluate(program, budget)
    assert budget.steps == steps


def test_rows_before_a_join_with_nothing_are_counted(tiny: SparkSession) -> None:
    """Spark knows when one side of a join is empty, and does not read the other."""
    program = compiled(
        "Mid(X, X, X) :- V(X).\nMid(X, Y, X) :- Out(X, Y).\nOut(W, Y) :- Mid('none', V, W), Mid(Y, W, Y)."
    )
    facts: list[Fact] = [("V", "a"), ("V", "b")]
    budget = Budget()
    engine_over(tiny, facts, strategy="loop").evaluate(program, budget).result()
    assert budget.steps == embedded(program, facts)[1]


def test_what_one_relation_was_supplied_with_changes_no_columns_of_another(tiny: SparkSession) -> None:
    from lace.engines.spark.new_rows import Candidates, compute_new
    from lace.engines.spark.relation import Relation

    rows = tiny.createDataFrame([("a",), ("b",)], "c0 string")
    plain, supplied = Predicate("P", 1), Predicate("Q", 1)
    both = (Relation(plain), Relation(supplied, rows.filter("c0 = 'a'"), 1))
    found = compute_new([Candidates(relation, 0, [rows]) for relation in both])
    # A later round without the other has to find these parts with the same columns, to put them together.
    assert found[plain].frame.columns == ["c0", "step"]
    assert found[supplied].frame.columns == ["c0", "step", "given"]
    assert [(new.count, new.fresh) for new in found.values()] == [(2, 2), (2, 1)]


def test_to_ask_twice_whether_a_closure_is_taken_at_once_costs_no_steps(
    tiny: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lace.engines.spark.loop import closes_at_once
    from lace.engines.spark.state import State

    monkeypatch.setattr("lace.engines.spark.loop.SMALL", 0)
    monkeypatch.setattr("lace.engines.spark.loop.NODES", 2)
    edge, budget = Predicate("Edge", 2), Budget()
    program = compiled("Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Path(X,Y), Edge(Y,Z).")
    (component,) = program.components
    frame = tiny.createDataFrame([("a", "b"), ("b", "c")], "c0 string, c1 string")
    # Parts ask, and where a limit is in doubt the loop asks again.
    state = State(tiny, {edge: frame}, {edge: 2})
    assert not any(closes_at_once(state, component, budget, program.derived()) for _ in range(2))
    assert budget.steps == 0


def test_the_engine_and_what_it_gives_are_what_the_port_says(tiny: SparkSession) -> None:
    engine = engine_over(tiny, [("B", "x"), ("Other", "o", "p")])
    assert isinstance(engine, Engine)
    evaluation = engine.evaluate(compiled("A(X) :- B(X)."))
    assert isinstance(evaluation, Evaluation)
    result = evaluation.result()
    assert isinstance(result, Result)
    a, b, other = Predicate("A", 1), Predicate("B", 1), Predicate("Other", 2)
    assert (result.facts(a), result.count(a), result.size(a), result.count(b), result.size(b)) == (
        [("x",)], 1, 1, 0, 1,
    )  # fmt: skip
    assert result.frame(a).columns == ["c0"]
    assert result.frame(Predicate("Nothing", 2)).count() == 0
    assert (result.step(a, ("x",)), result.step(a, ("y",)), result.step(b, ("x",))) == (0, None, None)
    assert (result.is_given(b, ("x",)), result.is_given(a, ("x",)), result.is_given(b, ("q",))) == (
        True, False, False,
    )  # fmt: skip
    assert list(result.lookup(other, (None, "p"))) == [("o", "p")]
    assert (result.size(other), list(result.finder(other, ("o", None), (1,))(("q",)))) == (1, [])
    [told] = evaluation.report.components
    assert (told.strategy, told.iterations, told.rows) == ("local", 1, {a: 1})
    assert evaluation.report.to_json()["components"][0]["rows"] == {"A/1": 1}


def test_large_relations_are_asked_by_jobs(tiny: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lace.engines.spark.result.FEW", 0)
    text = "Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Path(X,Y), Edge(Y,Z)."
    result = engine_over(tiny, [("Edge", "a", "b"), ("Edge", "b", "c")]).evaluate(compiled(text)).result()
    path = Predicate("Path", 2)
    assert [result.step(path, pair) for pair in (("a", "b"), ("a", "c"), ("c", "a"))] == [0, 1, None]
    assert sorted(result.lookup(path, ("a", None))) == [("a", "b"), ("a", "c")]
    assert list(result.finder(Predicate("Edge", 2), (None, "c"), (0,))(("b",))) == [("b", "c")]


def test_facts_come_and_go(tiny: SparkSession) -> None:
    text = "A(X) :- B(X), not C(X)."
    program, a = parse_program(text), Predicate("A", 1)
    evaluation = engine_over(tiny, [("B", "x"), ("B", "y")]).evaluate(
        compile_program(program), facts=[("B", "z")]
    )
    held: set[Fact] = {("B", "x"), ("B", "y"), ("B", "z")}
    first = evaluation.result()
    assert first.facts(a) == [("x",), ("y",), ("z",)]
    for added, taken in (({("C", "x"), ("B", "y")}, set()), (set(), {("B", "y"), ("B", "z"), ("C", "q")})):
        held = (held - taken) | added
        assert evaluation.change(added, taken).all_facts() == evaluate(program, held)
    assert first.facts(a) == [("x",), ("y",), ("z",)], "a version stays as it was"
    with pytest.raises(DerivedPredicate):
        evaluation.insert([("A", "x")])


def test_a_program_sees_through_a_view(tiny: SparkSession) -> None:
    from lace.algebra import restrict

    text = (
        "Own(P) :- Field(P,'Name',_,_), not Field(P,'Hidden',_,_).\n"
        "Many(P) :- V(P), Cardinality(Field(P,_,_,_),'>','1')."
    )
    program = restrict(compiled(text), Predicate("See", 1), [Predicate("Field", 4)])
    facts: list[Fact] = [("V", at) for at in "abc"]
    facts += [("Field", at, name, "0", "v") for at in "abc" for name in ("Name", "App")]
    facts += [("Field", "b", "Hidden", "0", "v"), ("See", "a"), ("See", "b")]
    wanted, steps = embedded(program, facts)
    for strategy in FORCED:
        budget = Budget()
        found = engine_over(tiny, facts, strategy=strategy, parts=2).evaluate(program, budget).result()
        check_same(found, wanted, program)
        assert found.facts(Predicate("Own", 1)) == [("a",)]
        assert budget.steps == steps
