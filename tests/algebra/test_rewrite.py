"""The passes, each by what it does to a program that shows it."""

from __future__ import annotations

import pytest

from lace.algebra import (
    Filter,
    Join,
    Part,
    Pipeline,
    RankTest,
    RelationProgram,
    SemiJoin,
    delta,
    deltas,
    show_program,
    whole,
)
from lace.algebra.rewrite import order
from lace.datalog import compile_program, parse_program
from lace.facts import Predicate
from tests.datalog.programs import random_case


def compiled(text: str, *wanted: str) -> RelationProgram:
    program = parse_program(text)
    return compile_program(program, [p for p in program.heads if p.name in wanted] if wanted else None)


def only_rule(text: str) -> Pipeline:
    return whole(compiled(text).components[0].rules[0])


def test_tests_run_as_soon_as_what_they_read_is_bound() -> None:
    steps = only_rule("A(X,Y) :- B(X), C(X,Y), TextShape(X,'a','',''), not D(X).").steps
    assert [str(step) for step in steps] == [
        "join B(X)",
        "filter TextShape(X,'a','','')",
        "keep where not D(X)",
        "join C(X,Y)",
    ]


def test_the_scan_with_most_constants_comes_first_and_bound_ones_before_loose_ones() -> None:
    steps = only_rule("A(X,Z) :- B(X,Y), C(Y,Z), D('k',X), E(Z).").steps
    assert [str(step) for step in steps][:3] == ["join D('k',X)", "join B(X,Y)", "join C(Y,Z)"]


def test_a_join_that_nobody_reads_from_only_keeps() -> None:
    steps = only_rule("A(X) :- B(X), C(X,Y), D(Z), E(W,W).").steps
    assert [str(step) for step in steps] == [
        "join B(X)",
        "keep where C(X,_)",
        "keep where D(_)",
        "keep where E(W,W)",
    ]


def test_what_is_said_twice_is_done_once() -> None:
    assert len(only_rule("A(X) :- B(X), B(X), X != 'a', B(X), X != 'a'.").steps) == 2


@pytest.mark.parametrize(
    "step",
    ["Path(X,Y), Edge(Y,Z)", "Edge(Y,Z), Path(X,Y)", "Edge(X,Y), Path(Y,Z)", "Path(X,Y), Path(Y,Z)"],
)
def test_three_ways_to_write_a_closure_are_found(step: str) -> None:
    program = compiled(f"Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- {step}.")
    assert str(program.components[0].closure) == "Edge(X,Y)"


def test_a_closure_over_one_kind_of_link_is_found() -> None:
    program = compiled("P(X,Y) :- RecordLink(X,'e',_,_,Y).\nP(X,Z) :- P(X,Y), RecordLink(Y,'e',_,_,Z).")
    assert str(program.components[0].closure) == "RecordLink(X,'e',_,_,Y)"


@pytest.mark.parametrize(
    "text",
    [
        "Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Path(X,Y), Edge(Y,Z), X != Z.",
        "Path(X,Y) :- Edge(Y,X).\nPath(X,Z) :- Path(X,Y), Edge(Y,Z).",
        "Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Path(Y,X), Edge(Y,Z).",
        "Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Path(X,Y), Other(Y,Z).",
        "Path(X,Y) :- Edge(X,Y).\nPath(X,X) :- Path(X,Y), Edge(Y,X).",
        "Path(X,Y) :- Edge(X,'k',Y).\nPath(X,Z) :- Path(X,Y), Edge(Y,'l',Z).",
        "Path(X,Y) :- Edge(X,Y).\nPath(X,Z) :- Path(X,Y), Edge(Y,Z).\nPath(X,X) :- Edge(X,_).",
    ],
)
def test_what_only_looks_like_a_closure_is_left_alone(text: str) -> None:
    assert compiled(text).components[0].closure is None


NEWEST = (
    "Before(P,Q) :- C(P,T), C(Q,T), LexCompare(Q,'>',P).\n"
    "Before(P,Q) :- C(P,TP), C(Q,TQ), LexCompare(TQ,'>',TP).\n"
    "Newest(P) :- C(P,_), Cardinality(Before(P,Q),'<','100')."
)


def test_a_count_over_an_order_becomes_a_rank_and_the_pairs_are_gone() -> None:
    program = compiled(NEWEST, "Newest")
    assert program.derived() == {Predicate("Newest", 1)}
    assert any(isinstance(step, RankTest) for step in program.components[0].rules[0].source.steps)


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ("", ("Newest", "Before")),
        ("\nPair(P,Q) :- Before(P,Q).", ("Newest", "Pair")),
        ("\nAlone(P) :- C(P,_), not Before(P,P).", ("Newest", "Alone")),
        ("\nBoth(P) :- C(P,_), C(Q,_), Cardinality(Before(P,Q),'<','1').", ("Newest", "Both")),
        ("\nBefore(P,Q) :- Given(P,Q).", ("Newest",)),
    ],
)
def test_pairs_that_somebody_reads_stay(more: str, wanted: tuple[str, ...]) -> None:
    assert Predicate("Before", 2) in compiled(NEWEST + more, *wanted).derived()


def test_components_that_no_wanted_output_needs_are_left_out() -> None:
    program = compiled("A(X) :- B(X).\nC(X) :- A(X).\nD(X) :- B(X).", "C")
    assert [p.name for c in program.components for p in c.predicates] == ["A", "C"]


def test_a_delta_starts_from_what_is_new_and_finds_each_combination_once() -> None:
    rule = compiled("A(X,Z) :- B(X,Y), C(Y,Z), D(Z).").components[0].rules[0]
    assert [str(join.scan) for join in deltas(rule)] == ["B(X,Y)", "C(Y,Z)", "D(Z)"]
    middle = delta(rule, 1)
    assert isinstance(middle.steps[0], Join)
    assert middle.steps[0].scan.part is Part.NEW
    parts = {
        step.scan.predicate.name: step.scan.part for step in middle.steps if isinstance(step, Join | SemiJoin)
    }
    assert parts == {"B": Part.ALL, "C": Part.NEW, "D": Part.OLD}


def test_every_node_prints() -> None:
    text = (
        "A(X) :- B(X,Y), not C(Y), Cardinality(D(X,_),'>','2'), IntCompare(Y,'<','9'), X != Y.\n"
        "A('k') :- true."
    )
    shown = show_program(compiled(text), deltas=True)
    for part in (
        "join B(X,Y)",
        "keep where not C(Y)",
        "count D(X,_) > 2",
        "IntCompare(Y,'<','9')",
        "ΔB(X,Y)",
    ):
        assert part in shown
    assert "wanted: A/1" in shown


def test_ten_thousand_different_atoms_are_ordered_soon() -> None:
    body = ", ".join(f"B(X{at},X{at + 1})" for at in range(10_000))
    pipeline = only_rule(f"A(X0) :- {body}.")
    assert len(pipeline.steps) == 10_000
    assert not any(isinstance(step, Filter) for step in pipeline.steps)


@pytest.mark.parametrize("seed", range(0, 200, 4))
def test_few_steps_are_ordered_as_many_are(seed: int) -> None:
    for pipeline in parse_program(random_case(seed).program).pipelines:
        joins = [step for step in pipeline.steps if isinstance(step, Join)]
        for first in (None, *joins):
            few = order._order_few(pipeline.steps, pipeline.project, first)
            assert few == order._order_many(pipeline.steps, pipeline.project, first)
