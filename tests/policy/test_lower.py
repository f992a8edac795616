"""Two forms of the lowered plan give the same facts, and the peer's share alone is seen through the view."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from lace.algebra import scans, whole
from lace.datalog import compile_program, evaluate, parse_program
from lace.engines import Database
from lace.facts import GATED, RECORD_PREDICATES, Fact, SetSource
from lace.policy import MAY_REQUEST, MAY_SEND, Lowered, Precompiled, read_restriction
from tests.policy.sides import ALICE, ALL, Store, expose, plan_of, policy, record, snapshot
from tests.policy.worlds import EXPOSED, LOCALS, random_module, random_pair

ENCRYPTED = read_restriction("AllowSend(P) :- Have(P), TransportEncrypted().", "send")
RANKED = (
    "Before(P,Q) :- C(P,TP), C(Q,TQ), LexCompare(TQ,'>',TP).\nC(P,T) :- Have(P), Field(P,'TAI',_,T).\n"
    "SelectHave(P) :- C(P,_), Cardinality(Before(P,_),'<','2').\nSelectAdvertised(P,S) :- Advertised(P,S)."
)
PATHS = (
    "Path(P,Q) :- RecordLink(P,_,_,_,Q).\nPath(P,R) :- Path(P,Q), RecordLink(Q,_,_,_,R).\n"
    "SelectHave(P) :- Path(_,P).\nSelectAdvertised(P,S) :- Advertised(P,S)."
)


@pytest.mark.req("040-056")
def test_names_say_nothing_about_origins_or_viewers() -> None:
    plan = plan_of(LOCALS[0], random_module(1))
    lowered = Lowered(plan, 0, (ENCRYPTED,))
    names = {each.rule.head.name for each in lowered.flat_rules(ALICE)}
    names |= {atom.name for each in lowered.flat_rules(ALICE) for atom in each.rule.mentions()}
    labels = [operand.origin.label for operand in plan.operands]
    assert not [name for name in names if any(label in name for label in (*labels, ALICE, "Opq_"))]


@pytest.mark.req("040-065", "040-066")
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("text", [*LOCALS, RANKED, PATHS, *map(random_module, range(20))])
def test_every_scan_of_a_record_relation_in_the_peers_scope_has_the_view_and_no_other_has(
    text: str, side: int
) -> None:
    lowered = Lowered(plan_of(text, text), side)
    for program in (lowered.peer, lowered.whole, lowered.whole.unranked, lowered.peer.unranked):
        for component in () if program is None else program.components:
            theirs = component.predicates[0].name.startswith(f"o{1 - side}_")
            read = [*([component.closure] if component.closure else [])]
            for rule in component.rules:
                read += [*scans(whole(rule)), *scans(rule.source)]
            for scan in read:
                assert (scan.view == lowered.gate) == (theirs and scan.predicate in RECORD_PREDICATES)
                assert scan.view in (None, lowered.gate)


def test_a_trusted_peers_rules_are_not_gated() -> None:
    lowered = Lowered(plan_of(ALL, ALL), 0, trusted=True)
    assert lowered.gate not in lowered.whole.reads()
    assert lowered.flat_rules(ALICE) == lowered.generated


@pytest.mark.req("020-069", "040-054", "040-068", "040-069")
def test_all_forms_give_the_same_facts() -> None:
    for seed in range(60):
        dice = Random(f"forms {seed}")
        local, peer, pair = LOCALS[seed % 2], random_module(seed), random_pair(dice)
        runtime = pair.runtime + ((("TransportEncrypted",),) if seed % 3 else ())
        side = policy(local, peer, expose(*EXPOSED[0]), side=seed % 2, restrictions=(ENCRYPTED,))
        moment = snapshot(pair.right, runtime, pair.advertised)
        decision = side.evaluate(moment)
        view = decision.view
        assert view.records is not None
        # Rules rewritten, with the view written out, by the oracle.
        flat = Lowered(side.plan, side.side, (ENCRYPTED,)).flat(ALICE)
        gates = [("CanQueryRecord", ALICE, each) for each in view.records]
        given = [*pair.right, *runtime, *pair.advertised, *gates]
        written = evaluate(flat, given)
        assert decision.may_send == {fact[1] for fact in written if (fact[0], len(fact) - 1) == MAY_SEND}
        assert decision.may_request == {
            fact[1] for fact in written if (fact[0], len(fact) - 1) == MAY_REQUEST
        }
        # One relational program, read through the view.
        lowered = Lowered(side.plan, side.side, (ENCRYPTED,))
        shown = [(lowered.gate.name, each) for each in view.records]
        joint = Store(pair.right).evaluate(lowered.whole, None, [*runtime, *pair.advertised, *shown]).result()
        assert decision.may_send == {values[0] for values in joint.facts(MAY_SEND)}
        assert decision.may_request == {values[0] for values in joint.facts(MAY_REQUEST)}
        # The same text by the engine.
        assert Database(given).evaluate(compile_program(flat)).result().all_facts() == written
        # Operands in separate environments, the peer's over a resolver.
        source = view.resolve(SetSource(pair.right))
        seen: list[Fact] = [(p.name, *values) for p in GATED for values in source.iterate(*p)]
        apart = evaluate(parse_program(peer, "selector"), [*seen, *runtime, *pair.advertised])
        have, advertised = decision.selected(1 - side.side)
        assert {fact[1:] for fact in apart if fact[0] == "SelectHave"} == set(have)
        assert {fact[1:] for fact in apart if fact[0] == "SelectAdvertised"} == set(advertised)
        ours = evaluate(parse_program(local, "selector"), [*pair.right, *runtime, *pair.advertised])
        both = {fact[1] for fact in apart & ours if fact[0] == "SelectHave"}
        assert decision.may_send == (both if ("TransportEncrypted",) in runtime else set())


@pytest.mark.req("040-090")
def test_a_kept_program_decides_as_a_fresh_one() -> None:
    kept = Precompiled()
    for seed in range(8):
        pair = random_pair(Random(seed))
        text = random_module(seed % 2)
        moment = snapshot(pair.left, pair.runtime, pair.advertised)
        fresh = policy(LOCALS[0], text, expose(*EXPOSED[0])).evaluate(moment)
        again = policy(LOCALS[0], text, expose(*EXPOSED[0]), precompiled=kept).evaluate(moment)
        assert (fresh.may_send, fresh.may_request, fresh.steps) == (
            again.may_send,
            again.may_request,
            again.steps,
        )


@pytest.mark.req("040-090")
def test_programs_are_kept_by_plan_side_restrictions_and_view() -> None:
    kept, plan = Precompiled(most=2), plan_of(ALL, ALL)
    first = kept.lower(plan, 0)
    assert kept.lower(plan, 0) is first
    assert kept.lower(plan, 1) is not first
    assert kept.lower(plan, 0, trusted=True) is not first
    assert kept.lower(plan, 0) is not first, "only so many are kept"
    assert kept.lower(plan, 0, (ENCRYPTED,)).restrictions == (ENCRYPTED,)


def test_the_text_of_what_is_kept_is_bounded() -> None:
    """A peer chooses its operand: a mebibyte of rules is some hundred mebibytes when it is compiled."""
    long = plan_of(ALL, ALL + "\n" + "\n".join(f"SelectHave(P) :- Field(P,'{n}',_,'x')." for n in range(99)))
    short = plan_of(ALL, ALL)
    most = Lowered(long, 0).text_bytes
    assert Lowered(long, 0, (ENCRYPTED,)).text_bytes > most > 20 * Lowered(short, 0).text_bytes

    kept = Precompiled(most_bytes=most)
    first = kept.lower(short, 0)
    assert kept.lower(long, 0, (ENCRYPTED,)) is not kept.lower(long, 0, (ENCRYPTED,)), "that is too long"
    assert kept.lower(short, 0) is first, "and others stay"
    assert kept.lower(long, 0) is kept.lower(long, 0), "that is not"
    again = kept.lower(short, 0)
    assert again is not first, "others make room for it"
    assert kept.lower(short, 0) is again


def test_a_program_that_is_not_kept_is_made_once_for_each_exchange() -> None:
    made: list[Lowered] = []

    class Counting(Precompiled):
        def lower(self, *given: Any, **more: Any) -> Lowered:
            made.append(super().lower(*given, **more))
            return made[-1]

    side = policy(ALL, ALL, expose(*EXPOSED[0]), precompiled=Counting(most_bytes=0))
    before = snapshot(record("x", "X"))
    assert side.evaluate(before).may_send == side.evaluate(before.next()).may_send
    assert len(made) == 1


def test_a_store_of_any_engine_can_be_asked() -> None:
    side = policy(ALL, ALL, expose(*EXPOSED[0]))
    assert side.evaluate(snapshot([])).may_send == set()
    assert isinstance(Store([]).evaluate(Lowered(side.plan, 0).whole).result().facts(MAY_SEND), list)


def test_what_is_evaluated_holds_no_rules_beside_what_was_compiled_of_them() -> None:
    """A peer's rules may be long, and are held as long as its exchange is open; proofs are made of others."""
    lowered = Lowered(plan_of(RANKED, RANKED), 0)
    programs = [lowered.peer, lowered.ours]
    programs += [each.unranked for each in programs if each.unranked is not None]
    assert len(programs) > 2
    assert all(each.source is None for each in programs)
    assert lowered.whole.source is not None
