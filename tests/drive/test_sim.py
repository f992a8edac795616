"""The simulator finds nothing, finds everything that is planted, and finds it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from lace.drive.sim import (
    POLICIES,
    InvariantBroken,
    SimulatedFault,
    Simulation,
    invariants,
    simulate,
    simulate_ring,
)
from lace.drive.sim.policies import make_sim_record
from lace.drive.sim.world import SimHost, SimStore
from lace.engines import Database
from lace.errors import RecordError
from lace.facts import facts_of_record
from lace.interlace import (
    Advertisements,
    Cause,
    Cursor,
    InterlaceMachine,
    InterlaceResult,
    NeedEvaluation,
    OperandChanged,
    Phase,
    Purpose,
    SendRecords,
    advertise,
    request,
    settle,
    transfer,
)
from lace.interlace import machine as machine_file
from lace.interlace.own import OwnAdvertisements
from lace.interlace.state import Agreed
from lace.policy import Exposure, GrownSet, LocalPolicy, Snapshot, Views, make_plan, read_expose
from lace.record import make_blob, parse_record
from lace.text import Tai

BATCH = 150
LONG_BATCH = 1000


@pytest.mark.parametrize("start", range(0, 3000, BATCH))
def test_3000_bad_days_break_no_invariant(start: int) -> None:
    causes: Counter[str] = Counter()
    for seed in range(start, start + BATCH):
        causes += simulate(seed).causes
    # A simulation that sees only one kind of end sees nothing.
    assert {"fixed-point", "peer-lost", "protocol", "phase-timeout", "cancelled", "store"} <= set(causes)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(3000, 103_000, LONG_BATCH))
def test_100000_bad_days_break_no_invariant(start: int) -> None:
    for seed in range(start, start + LONG_BATCH):
        simulate(seed)


def test_what_one_peer_of_a_ring_stores_reaches_all() -> None:
    for seed in range(6):
        outcome = simulate_ring(seed)
        assert outcome.exchanges >= 5


@pytest.mark.slow
@pytest.mark.parametrize("start", range(6, 206, 20))
def test_200_rings_come_to_rest(start: int) -> None:
    for seed in range(start, start + 20):
        simulate_ring(seed)


def test_a_seed_is_the_whole_day() -> None:
    for seed in (3, 7, 50):
        first, second = simulate(seed, trace=True), simulate(seed, trace=True)
        assert first == second
        assert first.trace
        assert first.trace[0].endswith(("True", "False"))


@pytest.mark.parametrize("names", list(product(POLICIES, repeat=2)), ids="/".join)
def test_the_functions_decide_what_the_rules_decide(names: tuple[str, str]) -> None:
    tai = [Tai(f"{1640995200 + n}:000000000") for n in (0, 10, 20, 30)]
    first = make_sim_record(1, "u", tai[0])
    records = [
        first,
        make_sim_record(2, "X", tai[1]),
        make_sim_record(3, "u", tai[2], (first.id,)),
        make_sim_record(4, "u", tai[3], (make_sim_record(5, "u", tai[0]).id,)),
    ]
    claims = {
        make_sim_record(5, "u", tai[0]).id: (("Group", "0", "u"),),
        make_sim_record(6, "X", tai[0]).id: (("Group", "0", "X"),),
        first.id: (("Group", "0", "u"),),
    }
    policies = POLICIES[names[0]], POLICIES[names[1]]
    plan = make_plan(policies[0].module(), policies[1].module())
    runtime = {("TickTAI", tai[1]), ("StartTAI", tai[0]), ("ClockSkewSeconds", "0")}
    for side, shows_all in product((0, 1), (True, False)):
        for advertised in ({}, claims):
            source = plan.operands[1 - side].origin.label
            need = NeedEvaluation(
                Purpose.REQUEST, frozenset(runtime), Advertisements(source, dict(advertised))
            )
            host = SimHost(SimStore({r.id: r for r in records}), policies, side, shows_all)
            quick = host.evaluate(need).evaluation  # type: ignore[union-attr]
            shown = "Have(P)" if shows_all else "Have(P), Field(P,'Group',_,'u')"
            exposure = Exposure((read_expose(f"AllowQueryRecord(V,P) :- _Viewer(V), {shown}."),))
            facts = [fact for record in records for fact in facts_of_record(record)]
            said = [("Advertised", p, source) for p in advertised]
            said += [("AdvertisedField", p, source, *c) for p, cs in advertised.items() for c in cs]
            decision = LocalPolicy(plan, side, Views("here", exposure)).evaluate(
                Snapshot(Database(facts), runtime, said)
            )
            assert quick.may_send == decision.may_send
            assert quick.may_request == decision.may_request


Plant = Callable[[pytest.MonkeyPatch], None]


def only_what_shrinks(patch: pytest.MonkeyPatch) -> None:
    """Let all policies be such as take back what they gave: these bugs show only there."""
    shrinking = {name: policy for name, policy in POLICIES.items() if not policy.monotonic}
    patch.setattr("lace.drive.sim.day.POLICIES", shrinking)


def sends_what_it_may_not(patch: pytest.MonkeyPatch) -> None:
    only_what_shrinks(patch)
    patch.setattr(transfer, "may_serve", lambda exchange, evaluation, requested: list(requested))


def decides_once_a_loop(patch: pytest.MonkeyPatch) -> None:
    """050: "re-evaluate after newly validated records, advertisement-state changes" and so on."""
    only_what_shrinks(patch)
    first: dict[int, Any] = {}
    real_advertise, real_serve = advertise.advertise, transfer.serve

    def remembering(exchange: Any, evaluation: Any, now: Any) -> Any:
        first[id(exchange)] = evaluation
        return real_advertise(exchange, evaluation, now)

    patch.setattr(advertise, "advertise", remembering)
    patch.setattr(transfer, "serve", lambda exchange, _: real_serve(exchange, first[id(exchange)]))


def requests_what_it_may_not(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        request, "requestable", lambda exchange, evaluation: sorted(exchange.agreed.advertised.claims)
    )


def requests_what_was_not_advertised(patch: pytest.MonkeyPatch) -> None:
    real = request.requestable
    stranger = "P." + "0" * 43 + ".H3"
    patch.setattr(
        request, "requestable", lambda exchange, evaluation: [*real(exchange, evaluation), stranger]
    )


def advertises_what_it_may_not_send(patch: pytest.MonkeyPatch) -> None:
    update = OwnAdvertisements.update

    class Everything:
        def __init__(self, evaluation: Any) -> None:
            self.may_send = frozenset(evaluation.snapshot)
            self.have, self.fields = evaluation.have, evaluation.fields

    patch.setattr(OwnAdvertisements, "update", lambda self, given: update(self, Everything(given)))


def stores_without_validating(patch: pytest.MonkeyPatch) -> None:
    def lenient(raw: bytes, limits: Any) -> Any:
        try:
            return parse_record(raw, limits)
        except RecordError:
            return make_blob(raw)

    patch.setattr(transfer, "parse_record", lenient)


def takes_claims_for_records(patch: pytest.MonkeyPatch) -> None:
    """050: "do not create record facts from advertisements"."""
    patch.setattr(GrownSet, "among", lambda self, given: [*given])


def keeps_its_plan_to_itself(patch: pytest.MonkeyPatch) -> None:
    def alone(machine: InterlaceMachine, event: Any, before: Phase) -> list[Any]:
        agreed = machine.exchange.epoch.agreed
        if agreed is not None:
            agreed.plan = make_plan(event.module, event.module)
        machine.phase = before
        return []

    patch.setitem(machine_file.HANDLERS, OperandChanged, alone)


def stops_too_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(settle, "needs_another_loop", lambda exchange: False)


def forgets_the_loop_limit(patch: pytest.MonkeyPatch) -> None:
    real = InterlaceMachine._settle

    def settle(machine: InterlaceMachine) -> Any:
        loops, machine.exchange.round.loops = machine.exchange.round.loops, 0
        try:
            return real(machine)
        finally:
            machine.exchange.round.loops = loops

    patch.setattr(InterlaceMachine, "_settle", settle)


def forgets_the_transfer_limit(patch: pytest.MonkeyPatch) -> None:
    real_serve, real_receive = transfer.serve, transfer.receive_record

    def serve(exchange: Any, evaluation: Any) -> Any:
        said = real_serve(exchange, evaluation)
        return [replace(each, within=1 << 40) if isinstance(each, SendRecords) else each for each in said]

    def receive(exchange: Any, event: Any) -> Any:
        before, exchange.round.bytes_received = exchange.round.bytes_received, -(1 << 40)
        try:
            return real_receive(exchange, event)
        finally:
            exchange.round.bytes_received = before + len(event.raw)

    patch.setattr(transfer, "serve", serve)
    patch.setattr(transfer, "receive_record", receive)


def takes_its_cursor_at_its_word(patch: pytest.MonkeyPatch) -> None:
    """PROFILE 9: "A cursor is a guess that the roots confirm, never something the sender relies on"."""
    patch.setattr("lace.drive.sim.day.POLICIES", {"by hearing": POLICIES["by hearing"]})
    real = Agreed.remember

    def remember(agreed: Agreed, cursor: Cursor | None) -> None:
        real(agreed, cursor)
        if (
            cursor is not None
            and cursor.source == agreed.peer_source
            and cursor.fields == agreed.terms.fields
        ):
            agreed.advertised.claims = dict(cursor.claims)

    patch.setattr(Agreed, "remember", remember)


def leaves_what_came_lying(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("lace.drive.side.PAUSE_SECONDS", 1e9)


PLANTS: list[Plant] = [
    sends_what_it_may_not,
    decides_once_a_loop,
    requests_what_it_may_not,
    requests_what_was_not_advertised,
    advertises_what_it_may_not_send,
    stores_without_validating,
    takes_claims_for_records,
    keeps_its_plan_to_itself,
    stops_too_early,
    forgets_the_loop_limit,
    forgets_the_transfer_limit,
    takes_its_cursor_at_its_word,
    leaves_what_came_lying,
]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    seed, said = next((seed, said) for seed in range(600) if (said := broken_by(seed)) is not None)
    assert broken_by(seed) == said, "and found again, at the same step"


def broken_by(seed: int) -> str | None:
    """Return what a seed breaks."""
    try:
        simulate(seed)
    except InvariantBroken as broken:
        return str(broken)
    return None


def test_a_broken_invariant_names_its_seed_and_step() -> None:
    error = InvariantBroken(seed=7, step=3, what="something")
    assert str(error) == "seed 7, step 3: something"
    simulation = Simulation(1)
    simulation.fail(None)
    with pytest.raises(InvariantBroken):
        simulation.fail("no")


def test_a_store_that_was_told_to_fail_does_so_once() -> None:
    store = SimStore(faults=1)
    with pytest.raises(SimulatedFault):
        store.get("x")
    assert store.get("x") is None


def test_a_result_without_a_name_is_noticed() -> None:
    side = Simulation(1).link.sides[0]
    assert invariants.check_result(side, InterlaceResult(Cause.STORE))
    assert invariants.check_result(side, InterlaceResult(Cause.FIXED_POINT)) is None
