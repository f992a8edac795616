"""Each of the twenty filters matters: without any one of them the check of non-interference fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from lace.algebra import (
    AntiJoin,
    Component,
    CountTest,
    Join,
    Pipeline,
    RelationProgram,
    RuleProgram,
    SemiJoin,
    Step,
)
from lace.facts import GATED, RECORD_PREDICATES, Fact, Predicate
from lace.policy import ExchangePlan, Lowered, Precompiled, Restriction
from tests.policy.noninterference import Exchange
from tests.policy.sides import ALICE, EXPOSE_X, advertise, expose, record
from tests.policy.worlds import Pair

POSITIONS = ("positive", "negated", "counted", "helper")
TAIL = "\nSelectAdvertised(P,S) :- Advertised(P,S)."
SAME = "SelectHave(P) :- Field(P,'Group',_,'X').\nSelectAdvertised(P,S) :- Advertised(P,S)."

# An atom of each predicate that no record of Group X satisfies, and the hidden record that does.
ATOMS = {
    "Have": ("Have('h')", []),
    "Field": ("Field(_,'Group',_,'Y')", []),
    "RecordLink": ("RecordLink(_,_,_,'evidence',_)", [("RecordLink", "+Link", "0", "evidence", "x")]),
    "BlobHash": ("BlobHash(_,'b')", [("BlobHash", "b")]),
    "PlexHash": ("PlexHash(_,'y')", [("PlexHash", "y")]),
}
FORMS = {
    "positive": "SelectHave(P) :- Have(P), {atom}.",
    "negated": "SelectHave(P) :- Have(P), not {atom}.",
    "counted": "SelectHave(P) :- Have(P), Cardinality({atom},'>=','1').",
    "helper": "SelectHave(P) :- Have(P), Some().\nSome() :- {atom}.",
}


def curious(name: str, position: str) -> str:
    """Return a selector that asks about hidden facts of one predicate in one position."""
    return FORMS[position].format(atom=ATOMS[name][0]) + TAIL


def pair(name: str) -> Pair:
    """Return two stores, one of which hides a record that such a selector asks about."""
    shown = tuple(record("x", "X"))
    hidden: list[Fact] = record("h", "Y", *ATOMS[name][1])
    return Pair(shown, shown + tuple(hidden), (), (), (), tuple(advertise("q", ALICE)))


class Leaky(Precompiled):
    """Lowers as ever and then lets one predicate be read raw in one position."""

    def __init__(self, predicate: Predicate, position: str) -> None:
        super().__init__()
        self._hole = (predicate, position)

    def lower(
        self, plan: ExchangePlan, side: int, restrictions: tuple[Restriction, ...] = (), trusted: bool = False
    ) -> Lowered:
        lowered = Lowered(plan, side, restrictions, trusted)
        lowered.__dict__["peer"] = self._leak(lowered.peer, lowered.exported(lowered.peer_index))
        return lowered

    def _leak(self, program: RelationProgram, exported: tuple[Predicate, ...]) -> RelationProgram:
        predicate, position = self._hole

        def step(each: Step) -> Step:
            if not isinstance(each, Join | SemiJoin | AntiJoin | CountTest):
                return each
            kind = {AntiJoin: "negated", CountTest: "counted"}.get(type(each), "positive")
            if each.scan.predicate == predicate and position in ("helper", kind):
                return replace(each, scan=replace(each.scan, view=None))
            return each

        def rule(each: RuleProgram) -> RuleProgram:
            if (each.head in exported) == (position == "helper"):
                return each
            return replace(each, source=_steps(each.source, step))

        def component(each: Component) -> Component:
            return replace(each, rules=tuple(map(rule, each.rules)))

        return program.with_components(tuple(map(component, program.components)))


def _steps(pipeline: Pipeline, change: Callable[[Step], Step]) -> Pipeline:
    return replace(pipeline, steps=tuple(map(change, pipeline.steps)))


def test_every_record_predicate_is_gated() -> None:
    assert set(GATED) == set(RECORD_PREDICATES)
    assert {predicate.name for predicate in GATED} == set(ATOMS)


@pytest.mark.req("020-064", "020-065", "020-066", "020-067", "020-068", "020-070", "020-071")
@pytest.mark.req("020-072", "020-073", "030-009", "030-051", "030-080", "040-067")
@pytest.mark.parametrize("resident", [False, True], ids=["told", "resident"])
@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("predicate", GATED, ids=lambda predicate: predicate.name)
def test_a_hidden_fact_is_not_seen_in_any_position(
    predicate: Predicate, position: str, resident: bool
) -> None:
    exchange = Exchange(SAME, curious(predicate.name, position), expose(EXPOSE_X), resident=resident)
    exchange.check(pair(predicate.name))
    assert exchange.raw_tells(pair(predicate.name)), "the question is about something that is hidden"


@pytest.mark.parametrize("resident", [False, True], ids=["told", "resident"])
@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("predicate", GATED, ids=lambda predicate: predicate.name)
def test_without_one_filter_the_check_fails(predicate: Predicate, position: str, resident: bool) -> None:
    leaky = Exchange(
        SAME,
        curious(predicate.name, position),
        expose(EXPOSE_X),
        precompiled=Leaky(predicate, position),
        resident=resident,
    )
    with pytest.raises(AssertionError):
        leaky.check(pair(predicate.name))
    shown, hidden = pair(predicate.name)[:2]
    arriving = pair(predicate.name)._replace(right=shown, more_right=hidden[len(shown) :])
    with pytest.raises(AssertionError):
        leaky.check_later(arriving)
