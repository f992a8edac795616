"""The local executable: golden views, limits of each operand, and the same answer from any way there."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from lace.algebra import EvaluationLimits
from lace.datalog import parse_program
from lace.engines import Database
from lace.facts import Fact, NotAView, SetSource, query_view
from lace.policy import (
    NOTHING_EXPOSED,
    OUR_LIMITS,
    PEER_LIMITS,
    Decision,
    ExchangePlan,
    Exposure,
    FlatRules,
    LocalPolicy,
    OperandLimits,
    OperandStopped,
    Origin,
    Snapshot,
    Views,
    make_plan,
    read_expose,
    read_module,
    read_restriction,
)
from lace.policy.operand import Operand
from lace.text import Verifier
from tests.golden import load_vectors
from tests.policy.sides import (
    ALICE,
    ALL,
    BOB,
    EXPOSE_ALL,
    EXPOSE_X,
    Store,
    advertise,
    expose,
    plan_of,
    policy,
    record,
    snapshot,
)
from tests.policy.worlds import LOCALS, random_module, random_pair, random_record

CASES = load_vectors("views")["cases"]
PAIRS = load_vectors("views")["pairs"]


def facts_of(rows: list[list[str]]) -> list[Fact]:
    return [tuple(row) for row in rows]


def golden_policy(case: dict[str, Any]) -> LocalPolicy:
    modules = [
        read_expose(each["source"], None if each["scope"] == "all" else each["scope"])
        for each in case["modules"]
    ]
    plan = make_plan(read_module(case["local"]), read_module(case["peer"]))
    return LocalPolicy(plan, 0, Views("me", Exposure(tuple(modules))), viewer=case["viewer"])


def golden_result(decision: Decision) -> dict[str, Any]:
    have, advertised = decision.selected(1)
    return {
        "may_request": sorted(decision.may_request),
        "may_send": sorted(decision.may_send),
        "peer_select_advertised": [list(values) for values in advertised],
        "peer_select_have": [values[0] for values in have],
        "view": sorted(decision.view.records or ()),
    }


@pytest.mark.req("040-006", "040-008", "040-009", "040-023")
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_every_golden_view_comes_out(case: dict[str, Any]) -> None:
    # The golden records are made-up names, loaded into a database as a store would.
    moment = Snapshot(
        Database(facts_of(case["facts"])), facts_of(case["runtime"]), facts_of(case["advertised"])
    )
    assert golden_result(golden_policy(case).evaluate(moment)) == case["result"]


@pytest.mark.parametrize("case", PAIRS, ids=[f"{at} {case['name']}" for at, case in enumerate(PAIRS)])
def test_every_golden_pair_gives_one_result(case: dict[str, Any]) -> None:
    runtime, advertised = facts_of(case["runtime"]), facts_of(case["advertised"])
    moments = [Snapshot(Database(facts_of(case[key])), runtime, advertised) for key in ("facts_a", "facts_b")]
    decisions = [golden_policy(case).evaluate(moment) for moment in moments]
    assert [golden_result(decision) for decision in decisions] == [case["result"]] * 2
    assert decisions[0].steps[1] == decisions[1].steps[1]
    raw = LocalPolicy(
        golden_policy(case).plan, 0, Views("me", Exposure(trusted=frozenset({ALICE}))), viewer=ALICE
    )
    told = [golden_result(raw.evaluate(moment)) for moment in moments]
    if case["raw_store_would_tell"]:
        assert told[0] != told[1]


# Whose rules see what


@pytest.mark.req("020-052", "020-063", "040-065", "040-066")
def test_each_sides_rules_see_everything_at_home_and_what_is_exposed_abroad() -> None:
    alices, bobs = record("a1", "X") + record("a2", "Y"), record("b1", "X") + record("b2", "Y")
    plan = plan_of(ALL, f"{ALL}\nX(P) :- Have(P).").prove(0, Verifier(ALICE)).prove(1, Verifier(BOB))
    on_alice = LocalPolicy(plan, 0, Views("alice", expose(EXPOSE_X))).evaluate(snapshot(alices))
    on_bob = LocalPolicy(plan, 1, Views("bob", expose(EXPOSE_X))).evaluate(snapshot(bobs))
    seen = [
        [values[0] for values in side.selected(author)[0]] for side in (on_alice, on_bob) for author in (0, 1)
    ]
    assert seen == [["a1", "a2"], ["a1"], ["b1"], ["b1", "b2"]]
    assert (on_alice.view.viewer, on_bob.view.viewer) == (BOB, ALICE)


@pytest.mark.req("040-045", "040-108", "030-116")
def test_the_same_text_from_two_origins_is_not_the_same() -> None:
    prefix = (
        "SelectHave(P) :- Have(P), Field(P,'Group',_,'u'), Field(P,'App',_,'ding'), Field(P,'Name',_,K),"
        " TextShape(K,'links/','','').\nSelectAdvertised(P,S) :- Advertised(P,S)."
    )
    facts = record("p", "u", App="ding", Name="links/a") + record("q", "u", App="ding", Name="links/b")
    exposure = expose("AllowQueryRecord(V,P) :- _Viewer(V), Field(P,'Name',_,'links/a').")
    decision = policy(prefix, prefix, exposure).evaluate(snapshot(facts))
    assert decision.selected(0)[0] == [("p",), ("q",)]
    assert decision.selected(1)[0] == [("p",)]
    by_viewer = Exposure((read_expose(EXPOSE_ALL, [ALICE]),))
    chosen = [
        policy(ALL, ALL, by_viewer, viewer=viewer).evaluate(snapshot(facts)).may_send
        for viewer in (ALICE, BOB)
    ]
    assert chosen == [{"p", "q"}, set()]


@pytest.mark.parametrize("side", [0, 1])
def test_what_the_peers_rules_pass_over_is_what_they_see_and_leave(side: int) -> None:
    facts = [fact for at, group in enumerate(["X", "X", "Y", "Z"]) for fact in record(f"p{at}", group)]
    local = "SelectHave(P) :- Field(P,'Group',_,'X').\nSelectHave(P) :- Field(P,'Group',_,'Y')."
    peer = "SelectHave(P) :- Field(P,'Group',_,'X')."
    advertised = "\nSelectAdvertised(P,S) :- Advertised(P,S)."
    local, peer = local + advertised, peer + advertised

    def passed_over(exposed: str, theirs: str, *restrictions: str) -> set[str]:
        narrowed = tuple(read_restriction(each, "send") for each in restrictions)
        ours = policy(local, theirs, expose(exposed), side=side, restrictions=narrowed)
        return set(ours.evaluate(snapshot(facts)).passed_over())

    assert passed_over(EXPOSE_ALL, ALL) == set()
    assert passed_over(EXPOSE_ALL, peer) == {"p2"}
    # What it cannot see is held back by our own exposure, and what a restriction takes by that.
    assert passed_over(EXPOSE_X, peer) == set()
    assert passed_over(EXPOSE_ALL, ALL, "AllowSend(P) :- Field(P,'Group',_,'Y').") == set()


@pytest.mark.req("040-027", "040-010")
def test_without_exposure_a_peer_still_sees_claims_and_runtime_facts() -> None:
    peer = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- AdvertisedField(P,S,'Group',_,'X'), Peer(S)."
    moment = snapshot(record("p", "X"), [("Peer", ALICE)], advertise("q", ALICE, Group="X"))
    decision = policy(ALL, peer).evaluate(moment)
    assert decision.selected(1) == ([], [("q", ALICE)])
    assert (decision.may_send, decision.may_request) == (frozenset(), {"q"})
    assert decision.words == NOTHING_EXPOSED == "nothing is exposed to this peer"
    assert policy(ALL, peer, expose(EXPOSE_ALL)).evaluate(moment).words is None


@pytest.mark.req("040-010")
def test_a_claim_can_be_judged_by_records_that_are_visible() -> None:
    peer = (
        "SelectHave(P) :- Have(P).\n"
        "SelectAdvertised(P,S) :- AdvertisedField(P,S,'Signed-By',_,K), Member(K).\n"
        "Member(K) :- Field(P,'App',_,'member'), Field(P,'Name',_,K)."
    )
    facts = record("m", "X", App="member", Name="k1") + record("n", "Y", App="member", Name="k2")
    claims: list[Fact] = [("Advertised", q, ALICE) for q in ("q1", "q2")]
    claims += [("AdvertisedField", f"q{n}", ALICE, "Signed-By", "0", f"k{n}") for n in (1, 2)]
    moment = snapshot(facts, advertised=claims)
    assert policy(ALL, peer, expose(EXPOSE_X)).evaluate(moment).may_request == {"q1"}
    assert policy(ALL, peer, expose(EXPOSE_ALL)).evaluate(moment).may_request == {"q1", "q2"}


@pytest.mark.req("020-081", "040-097")
def test_a_local_rule_over_private_facts_is_allowed() -> None:
    local = "SelectHave(P) :- Have(P), Field(_,'Group',_,'Y').\nSelectAdvertised(P,S) :- Advertised(P,S)."
    side = policy(local, ALL, expose(EXPOSE_X))
    assert side.evaluate(snapshot(record("p", "X"))).may_send == set()
    assert side.evaluate(snapshot(record("p", "X") + record("y", "Y"))).may_send == {"p"}


@pytest.mark.req("040-021")
def test_expose_rules_and_restrictions_are_no_part_of_the_plan() -> None:
    held = read_restriction("AllowSend(P) :- Have(P), TransportEncrypted().", "send")
    sides = [policy(ALL, ALL), policy(ALL, ALL, expose(EXPOSE_X)), policy(ALL, ALL, restrictions=(held,))]
    assert len({side.plan.id for side in sides}) == 1
    assert "AllowQueryRecord" not in str(sides[1].plan.transcript)


@pytest.mark.req("040-102")
def test_annotations_and_provenance_are_no_facts_for_rules() -> None:
    claimed = "SelectAdvertised(P,S) :- Advertised(P,S), RuleOrigin(_,_)."
    peer = f"SelectHave(P) :- Have(P), RuleSource(_,_,_).\n{claimed}"
    moment = snapshot(record("p", "X"), advertised=advertise("q", ALICE))
    decision = policy(ALL, peer, expose(EXPOSE_ALL)).evaluate(moment)
    assert (decision.may_send, decision.may_request) == (frozenset(), frozenset())


# What it takes


@pytest.mark.req("040-086", "040-091", "040-110")
def test_only_a_plan_with_computed_origins_is_run() -> None:
    views = Views("me")
    for flat in (parse_program("MaySend(P) :- Have(P)."), read_module(ALL), "E.x"):
        with pytest.raises(FlatRules):
            LocalPolicy(flat, 0, views)  # type: ignore[arg-type]
    zero, one = plan_of(ALL, ALL).operands
    forged = Operand(one.module, Origin(1, one.origin.full, "Opq_!"))
    with pytest.raises(FlatRules):
        LocalPolicy(ExchangePlan((zero, forged)), 0, views)


@pytest.mark.req("020-046")
def test_whatever_is_no_view_stops_before_the_peers_rules_run() -> None:
    class Raw:
        def view(self, viewer: str, snapshot: Snapshot) -> Any:
            return SetSource([("Have", "p")])

    class Other:
        def view(self, viewer: str, snapshot: Snapshot) -> Any:
            return query_view("me", BOB, [("CanQueryRecord", BOB, "p")])

    for views in (Raw(), Other()):
        with pytest.raises(NotAView):
            LocalPolicy(plan_of(ALL, ALL), 0, views, viewer=ALICE).evaluate(snapshot(record("p", "X")))


@pytest.mark.req("040-089")
def test_a_decision_is_two_sets_and_the_plans_id() -> None:
    side = policy(ALL, ALL, expose(EXPOSE_X))
    decision = side.evaluate(snapshot(record("p", "X") + record("y", "Y"), advertised=advertise("q", ALICE)))
    assert decision.plan == side.plan.id
    assert (decision.may_send, decision.may_request, decision.counts()) == ({"p"}, {"q"}, (1, 1))
    assert [decision.may_send_record(each) for each in ("p", "y", "?")] == [True, False, False]
    assert [decision.may_request_record(each) for each in ("q", "p")] == [True, False]


# Limits

WIDE = "SelectHave(P) :- Have(P), Have(A), Have(B), A != B.\nSelectAdvertised(P,S) :- Advertised(P,S)."


def test_the_peers_operand_stops_at_its_own_limit() -> None:
    many = [fact for n in range(9) for fact in record(f"p{n}", "X")]
    tight = OperandLimits(peer=EvaluationLimits(steps=50))
    with pytest.raises(OperandStopped) as caught:
        policy(ALL, WIDE, expose(EXPOSE_ALL), limits=tight).evaluate(snapshot(many))
    assert caught.value.fields["index"] == 1
    assert "the peer's operand 1" in str(caught.value)
    assert policy(WIDE, ALL, expose(EXPOSE_ALL), limits=tight).evaluate(snapshot(many)).counts() == (9, 0)


def test_our_operand_stops_at_ours() -> None:
    many = [fact for n in range(9) for fact in record(f"p{n}", "X")]
    tight = OperandLimits(ours=EvaluationLimits(steps=50), peer=EvaluationLimits(steps=50))
    with pytest.raises(OperandStopped) as caught:
        policy(WIDE, ALL, expose(EXPOSE_ALL), side=1, limits=tight).evaluate(snapshot(many))
    assert "our operand 1" in str(caught.value)


def test_a_limit_does_not_see_what_is_hidden() -> None:
    shown = [fact for n in range(3) for fact in record(f"p{n}", "X")]
    hidden = [fact for n in range(30) for fact in record(f"h{n}", "Y")]
    limits = OperandLimits(peer=EvaluationLimits(base_facts=9, steps=60, derived_per_predicate=3))
    for facts in (shown, shown + hidden):
        decision = policy(ALL, WIDE, expose(EXPOSE_X), limits=limits).evaluate(snapshot(facts))
        assert decision.selected(1)[0] == [("p0",), ("p1",), ("p2",)]


def test_a_clock_stops_an_operand_that_takes_too_long() -> None:
    ticks = iter(range(0, 1_000_000, 100))
    many = [fact for n in range(9) for fact in record(f"p{n}", "X")]
    side = LocalPolicy(
        plan_of(ALL, WIDE), 0, Views("me", expose(EXPOSE_ALL)), viewer=ALICE, now=lambda: float(next(ticks))
    )
    with pytest.raises(OperandStopped) as caught:
        side.evaluate(snapshot(many))
    assert (caught.value.fields["limit"], caught.value.fields["index"]) == ("seconds", 1)


def test_the_defaults_leave_the_peer_time_to_wait() -> None:
    assert OUR_LIMITS.seconds is not None
    assert PEER_LIMITS.seconds is not None
    assert OUR_LIMITS.seconds + PEER_LIMITS.seconds < 30
    assert PEER_LIMITS.steps < OUR_LIMITS.steps
    assert PEER_LIMITS.derived_per_predicate >= 1 << 18
    assert PEER_LIMITS.iterations >= 1000


def test_too_many_claims_are_a_limit_of_the_peers_operand() -> None:
    claims = [fact for n in range(5) for fact in advertise(f"q{n}", ALICE)]
    limits = OperandLimits(peer=EvaluationLimits(runtime_facts=4))
    with pytest.raises(OperandStopped) as caught:
        policy(ALL, ALL, limits=limits).evaluate(snapshot([], advertised=claims))
    assert caught.value.fields["limit"] == "runtime_facts"


def test_after_a_limit_the_next_snapshot_is_decided_as_ever() -> None:
    side = policy(ALL, WIDE, expose(EXPOSE_ALL), limits=OperandLimits(peer=EvaluationLimits(steps=100)))
    few, many = (record("p0", "X"), [fact for n in range(9) for fact in record(f"p{n}", "X")])
    first = snapshot(few)
    side.evaluate(first)
    second = first.next(added=many[2:], records=Store(many))
    with pytest.raises(OperandStopped):
        side.evaluate(second)
    third = second.next(removed=many[2:], records=Store(few))
    assert (
        side.evaluate(third).may_send
        == policy(ALL, WIDE, expose(EXPOSE_ALL)).evaluate(snapshot(few)).may_send
    )


# One exchange

SHRINKING = (
    "AllowQueryRecord(V,P) :- _Viewer(V), Have(P), not _Blocked(P).\n_Blocked(P) :- Field(B,'Group',_,'Z'),"
    " RecordLink(B,_,_,_,P)."
)


@pytest.mark.parametrize("seed", range(40))
def test_going_on_gives_what_starting_anew_gives(seed: int) -> None:
    dice = Random(f"exchange {seed}")
    peer, exposure = random_module(seed), expose(SHRINKING)
    held = (read_restriction("AllowSend(P) :- Have(P), not Field(P,'App',_,'c').", "send"),)
    side = policy(LOCALS[seed % 2], peer, exposure, restrictions=held)
    pair = random_pair(dice)
    store, claims = set(pair.right), set(pair.advertised)
    moment = snapshot(store, pair.runtime, claims)
    side.evaluate(moment)
    for turn in range(6):
        names = sorted({fact[1] for fact in store})
        gone = {
            fact for fact in store if fact[1] in dice.sample(names, min(len(names), dice.choice((0, 0, 1))))
        }
        came = (
            set(random_record(dice, f"n{turn}", dice.choice("XYZ"), names)) if dice.random() < 0.7 else set()
        )
        store = (store - gone) | came
        if dice.random() < 0.5:
            claims = set(dice.sample(sorted(claims), len(claims) // 2)) | set(
                advertise(f"c{turn}", ALICE, App="a")
            )
        moment = moment.next(added=came, removed=gone, records=Store(sorted(store)), advertised=claims)
        if dice.random() < 0.7:
            went_on = side.evaluate(moment)
            anew = policy(LOCALS[seed % 2], peer, exposure, restrictions=held).evaluate(
                snapshot(store, pair.runtime, claims)
            )
            assert went_on.view == anew.view
            assert [went_on.selected(at) for at in (0, 1)] == [anew.selected(at) for at in (0, 1)]
            assert (went_on.may_send, went_on.may_request) == (anew.may_send, anew.may_request)


@pytest.mark.parametrize("seed", range(40))
def test_following_a_database_gives_what_starting_anew_gives(seed: int) -> None:
    """Records come that were advertised before, the view shrinks, claims come and go."""
    dice = Random(f"resident exchange {seed}")
    peer, exposure = random_module(seed), expose(SHRINKING)
    side = policy(LOCALS[seed % 2], peer, exposure)
    pair = random_pair(dice)
    database, store, claims = Database(pair.right), list(pair.right), set(pair.advertised)
    held = list(store)
    moment = Snapshot(database, pair.runtime, claims)
    kept = [(side.evaluate(moment), moment)]
    for turn in range(6):
        names = sorted({fact[1] for fact in store})
        claims = {fact for fact in sorted(claims) if dice.random() < 0.8}
        claims.update(advertise(f"n{turn + 1}", ALICE, App="a"))
        if dice.random() < 0.8:
            came = random_record(dice, f"n{turn}", dice.choice("XYZ"), names)
            store += came
            database.add(came)
        if turn == 4:
            # What is told beside a version holds until the next version says otherwise.
            told = random_record(dice, "told", "X", names)
            moment, now = moment.next(added=told, advertised=claims), held + told
        else:
            now = held = list(store)
            moment = moment.next(records=database, advertised=claims)
        went_on = side.evaluate(moment)
        anew = policy(LOCALS[seed % 2], peer, exposure).evaluate(snapshot(now, pair.runtime, claims))
        assert went_on.view == anew.view
        assert [went_on.selected(at) for at in (0, 1)] == [anew.selected(at) for at in (0, 1)]
        assert (went_on.may_send, went_on.may_request) == (anew.may_send, anew.may_request)
        kept.append((went_on, moment))
    for decision, earlier in kept:
        if earlier.complete:
            anew = policy(LOCALS[seed % 2], peer, exposure).evaluate(earlier)
            assert (decision.may_send, decision.selected(1)) == (anew.may_send, anew.selected(1))


def test_a_decision_stays_as_it_was_when_the_exchange_goes_on() -> None:
    side = policy(ALL, ALL, expose(EXPOSE_ALL))
    first = snapshot(record("p", "X"))
    before = side.evaluate(first)
    side.evaluate(first.next(added=record("q", "X"), records=Store(record("p", "X") + record("q", "X"))))
    assert before.may_send == {"p"}


def test_a_viewer_that_becomes_trusted_is_seen_at_the_next_snapshot() -> None:
    class Changing:
        def __init__(self) -> None:
            self.views = [Views("me", expose(EXPOSE_X)), Views("me", Exposure(trusted=frozenset({ALICE})))]

        def view(self, viewer: str, snapshot: Snapshot) -> Any:
            return self.views.pop(0).view(viewer, snapshot)

    side = LocalPolicy(plan_of(ALL, ALL), 0, Changing(), viewer=ALICE)
    moment = snapshot(record("p", "X") + record("y", "Y"))
    assert side.evaluate(moment).may_send == {"p"}
    assert side.evaluate(moment.next()).may_send == {"p", "y"}
