"""The engine without blocks ends where two machines end."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import pytest

from lace.drive import Host, Party, Side, interlace_in_process
from lace.interlace import (
    Cause,
    Cursor,
    Evaluated,
    EvaluationFailed,
    ExchangeLimits,
    InterlaceResult,
    LocalLimits,
    NeedEvaluation,
    PlanAgreed,
    Prepared,
    Purpose,
    RecordsSent,
    RecordsStored,
    SendRecords,
    Settings,
    StoreFailed,
)
from lace.policy import ModuleRefused
from lace.record import Record, RecordLimits, make_blob, make_plex, make_seal, parse_record
from lace.stores import MemoryStore, StoreClosed
from lace.text import RecordId
from tests.interlace.pair import ALL, EXPOSE_ALL, Clock, Pair, Tai, dice, exposure, make_pair, module
from tests.interlace.scenarios import (
    GROUP_U,
    LINKED,
    MODES,
    NON_MONOTONIC,
    UNLESS_BLOCKED,
    Scenario,
    chain,
    draw,
    run_in_process,
)
from tests.record.samples import stored
from tests.strategies import AUX, SECRETS

START = Tai("1640995200:000000000")


def of(result: InterlaceResult) -> tuple[object, ...]:
    """Return what must agree."""
    return (
        result.cause,
        result.exchange_plan_id,
        result.link_id,
        result.peer_verifier,
        set(result.received_hashes),
        set(result.rejected_hashes),
        set(result.not_available_hashes),
        set(result.deferred_hashes),
        set(result.sent_hashes),
        set(result.held_back_hashes),
        result.bytes_received,
        result.bytes_sent,
        result.loops,
        result.cursor_updated,
    )


def check_same(pair: Pair, results: tuple[InterlaceResult, InterlaceResult]) -> None:
    for index in (0, 1):
        assert of(results[index]) == of(pair.results[index])


# What is sent depends on what the peer advertises, and the peer takes back some of it.
LISTENING = (
    """SelectHave(P) :- Have(P), not Blocked(P), not Heard().
SelectHave(P) :- Have(P), RecordLink(P,'+Link',_,_,_).
SelectHave(P) :- Have(P), Field(P,'Group',_,'u'), not Blocked(P).
SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'u').
SelectAdvertised(P,S) :- Advertised(P,S), not Heard().
Blocked(Q) :- Have(P), RecordLink(P,'+Link',_,_,Q).
Heard() :- Advertised(P,S), AdvertisedField(P,S,'App',_,'ding').""",
    """SelectHave(P) :- Have(P), not Blocked(P), not Heard().
SelectHave(P) :- Have(P), RecordLink(P,'+Link',_,_,_).
SelectAdvertised(P,S) :- Advertised(P,S).
Blocked(Q) :- Have(P), RecordLink(P,'+Link',_,_,Q).
Heard() :- Advertised(P,S), AdvertisedField(P,S,'Type',_,'P').""",
    UNLESS_BLOCKED,
)


@pytest.mark.req("050-213", "050-215")
@pytest.mark.parametrize(
    "policies", [None, NON_MONOTONIC, LISTENING], ids=["growing", "shrinking", "listening"]
)
def test_it_ends_where_two_machines_end(policies: tuple[str, ...] | None) -> None:
    for seed in range(3000, 3020):
        scenario = draw(seed, policies) if policies else draw(seed)
        for name in ("full listing", "small steps"):
            mode = {**MODES[name], "limits": ExchangeLimits(max_loop_iterations=40)}
            pair = scenario.pair({**mode, "partitions": False})
            pair.run()
            results, stores = run_in_process(scenario, mode)
            check_same(pair, results)
            for index in (0, 1):
                assert {record for _, record in stores[index].ids()} == pair.ids(index)


def run_hosts(
    settings: Sequence[Settings], hosts: Sequence[Host], *, joined: bool
) -> tuple[InterlaceResult, InterlaceResult]:
    """Run an exchange between two hosts, in one process or over a pretend link."""
    if joined:
        parties = [Party(settings[index], hosts[index]) for index in (0, 1)]
        return interlace_in_process(parties[0], parties[1], Clock().now())
    clocks = Clock(), Clock()
    sides = [Side(settings[index], hosts[index], clocks[index].now) for index in (0, 1)]
    return Pair((sides[0], sides[1]), (MemoryStore(), MemoryStore()), clocks).run()


class Losing(Host):
    """A host whose store loses a record after it was decided to send it."""

    lost: RecordId

    def load(self, wanted: SendRecords) -> Generator[list[bytes], None, RecordsSent | StoreFailed]:
        self.store.remove([self.lost])
        return (yield from super().load(wanted))

    def load_records(self, wanted: SendRecords) -> Generator[Record, None, RecordsSent | StoreFailed]:
        self.store.remove([self.lost])
        return (yield from super().load_records(wanted))


@pytest.mark.req("050-213")
def test_what_comes_is_checked_and_what_is_gone_is_not_available_as_over_a_wire() -> None:
    sound, gone, large = make_blob(b"sound"), make_blob(b"gone"), make_blob(bytes(100))
    limits = RecordLimits(data_bytes=50)
    seal = make_seal(make_plex("u", "ding", "n", START, b""), SECRETS[0], AUX)
    payload = seal.raw.split(b"\n", 1)[1].replace(SECRETS[0].verifier.encode(), SECRETS[1].verifier.encode())
    forged = parse_record(stored("S", payload), check_signature=False)
    for joined in (True, False):
        stores = MemoryStore(), MemoryStore()
        stores[0].put_many([sound, gone, large, forged])
        hosts = Losing(stores[0], exposure(EXPOSE_ALL)), Host(stores[1], exposure(EXPOSE_ALL))
        hosts[0].lost = gone.id
        settings = [
            Settings(index=index, module=module(ALL), dice=dice(index), record_limits=limits)
            for index in (0, 1)
        ]
        results = run_hosts(settings, hosts, joined=joined)
        assert results[1].received_hashes == (sound.id,)
        assert set(results[1].rejected_hashes) == {large.id, forged.id}
        assert results[1].rejections[forged.id].code == "record/signature"
        assert results[1].not_available_hashes == results[0].held_back_hashes == (gone.id,)
        assert {record for _, record in stores[1].ids()} == {sound.id}


@pytest.mark.req("050-213")
def test_both_sides_decide_what_they_send_before_anything_comes() -> None:
    blocked = make_blob(b"blocked")
    blocker = make_plex("u", "ding", "n", START, b"", (("+Link", f"no {blocked.id}"),))
    shy = """SelectHave(P) :- Have(P), not Blocked(P).
SelectAdvertised(P,S) :- Advertised(P,S).
Blocked(Q) :- Have(P), RecordLink(P,'+Link',_,_,Q)."""
    for records in (([blocked], [blocker]), ([blocker], [blocked])):
        scenario = Scenario([*records[0]], [*records[1]], (shy, shy), (EXPOSE_ALL, EXPOSE_ALL))
        pair = scenario.pair({"partitions": False})
        pair.run()
        results, stores = run_in_process(scenario, {})
        check_same(pair, results)
        for index in (0, 1):
            assert {record for _, record in stores[index].ids()} == pair.ids(index)
            assert pair.ids(index) == {blocked.id, blocker.id}


class Asking(Host):
    """Remembers what it was asked to evaluate."""

    asked: list[Purpose]

    def evaluate(self, need: NeedEvaluation) -> Evaluated | EvaluationFailed:
        self.asked.append(need.purpose)
        return super().evaluate(need)


def test_a_policy_is_not_asked_what_it_could_not_change() -> None:
    """050: only what is advertised and not there is requested; where nothing is, no policy has a say."""
    missing, shared = make_blob(b"missing"), make_blob(b"shared")
    hosts = []
    for records in ([missing, shared], [shared]):
        store = MemoryStore()
        store.put_many(records)
        hosts.append(Asking(store, exposure(EXPOSE_ALL)))
        hosts[-1].asked = []
    zero, one = (
        Party(Settings(index=index, module=module(ALL), dice=dice(index)), host)
        for index, host in enumerate(hosts)
    )
    results = interlace_in_process(zero, one, Clock().now())
    assert results[1].received_hashes == (missing.id,)
    assert all(result.complete for result in results)
    # The left side has everything in both loops. It serves by what it advertised by, since nothing changed.
    assert hosts[0].asked[0] is Purpose.ADVERTISE
    assert Purpose.REQUEST not in hosts[0].asked
    assert hosts[1].asked == [Purpose.ADVERTISE, Purpose.REQUEST, Purpose.ADVERTISE]


def test_what_was_forgotten_is_not_asked_for_in_one_process_either() -> None:
    """The second loop goes on with an evaluation that was made to advertise."""
    stores = MemoryStore(), MemoryStore()
    forgotten, *others = [make_blob(b"%d" % number) for number in range(3)]
    stores[0].put_many([forgotten, *others])
    stores[1].forget([forgotten.id])
    local = LocalLimits(request_records=1)
    zero, one = (
        Party(
            Settings(index=index, module=module(ALL), dice=dice(index), local=local),
            Host(store, exposure(EXPOSE_ALL)),
        )
        for index, store in enumerate(stores)
    )
    results = interlace_in_process(zero, one, Clock().now())
    assert all(result.complete for result in results)
    assert set(results[1].received_hashes) == {record.id for record in others}
    assert (results[1].rejected_hashes, results[1].bytes_received) == ((), sum(each.size for each in others))


def test_signers_are_proved_in_one_process_too() -> None:
    scenario = Scenario([make_blob(b"a")], [], (GROUP_U, GROUP_U), (None, None))
    zero, one = run_in_process(scenario, {"secret": SECRETS[0]})[0]
    assert zero.peer_verifier == one.peer_verifier == SECRETS[0].verifier
    assert zero.link_id == one.link_id is not None


@pytest.mark.parametrize("whose", [0, 1])
def test_a_limit_is_told_to_each_side_as_its_own_or_the_others(whose: int) -> None:
    stores = (MemoryStore(), MemoryStore())
    stores[0].put_many([make_blob(b"one"), make_blob(b"two")])
    few = ExchangeLimits(max_total_transferred_bytes=make_blob(b"one").size)
    zero, one = (
        Party(
            Settings(
                index=index,
                module=module(ALL),
                dice=dice(index),
                limits=few if index == whose else ExchangeLimits(),
            ),
            Host(stores[index], exposure(EXPOSE_ALL)),
        )
        for index in (0, 1)
    )
    results = interlace_in_process(zero, one, Clock().now())
    assert {result.cause for result in results} == {Cause.TRANSFER_LIMIT}
    assert ["the peer set it" in str(result.error) for result in results] == [whose == 1, whose == 0]


def test_limits_hold_in_one_process_too() -> None:
    records: list[Record] = [*chain(6)]
    scenario = Scenario(records, [], (LINKED, LINKED), (EXPOSE_ALL, EXPOSE_ALL))
    zero, one = run_in_process(scenario, {"limits": ExchangeLimits(max_loop_iterations=3)})[0]
    assert zero.cause is one.cause is Cause.LOOP_LIMIT
    assert len(one.received_hashes) == 3
    size = records[0].size
    zero, one = run_in_process(scenario, {"limits": ExchangeLimits(max_total_transferred_bytes=size + 1)})[0]
    assert zero.cause is one.cause is Cause.TRANSFER_LIMIT
    assert one.received_hashes == (records[0].id,)
    zero, one = run_in_process(scenario, {"local": LocalLimits(service_records=1)})[0]
    assert one.complete


def test_what_was_put_off_is_told_in_one_process_too() -> None:
    records: list[Record] = [make_blob(b"%d" % number) for number in range(6)]
    scenario = Scenario(records, [], (ALL, ALL), (EXPOSE_ALL, EXPOSE_ALL))
    mode = {"local": LocalLimits(service_records=2), "limits": ExchangeLimits(max_loop_iterations=2)}
    pair = scenario.pair({**mode, "partitions": False})
    pair.run()
    results = run_in_process(scenario, mode)[0]
    check_same(pair, results)
    assert len(results[1].deferred_hashes) == 2


def test_what_cannot_be_agreed_on_ends_both_sides() -> None:
    parties = [
        Party(
            Settings(index=index, module=module(GROUP_U), dice=dice(index), formats=frozenset({suffix})),
            Host(MemoryStore()),
        )
        for index, suffix in enumerate(("H3", "H9"))
    ]
    results = interlace_in_process(parties[0], parties[1], Clock().now())
    assert not any(result.complete for result in results)
    assert {result.error.code for result in results if result.error} == {"interlace/record-format"}
    assert {result.cause for result in results} <= {Cause.PROTOCOL, Cause.PEER_CLOSED}


class Failing(Host):
    """A host that fails in one thing."""

    def __init__(self, store: MemoryStore, what: str) -> None:
        super().__init__(store, exposure(EXPOSE_ALL))
        self._what = what

    def prepare(self, agreed: PlanAgreed) -> Prepared | EvaluationFailed:
        return EvaluationFailed(BROKEN) if self._what == "prepare" else super().prepare(agreed)

    def evaluate(self, need: NeedEvaluation) -> Evaluated | EvaluationFailed:
        failing = need.purpose.value == self._what
        if self._what == "serve" and need.purpose is Purpose.REQUEST:
            # What is decided for sending is decided anew only where something came in between.
            self.store.put(make_blob(b"meanwhile"))
        return EvaluationFailed(BROKEN) if failing else super().evaluate(need)

    def commit(self) -> RecordsStored | StoreFailed | None:
        return StoreFailed(GONE) if self._what == "commit" and self.waiting else super().commit()

    def load(self, wanted: SendRecords) -> Generator[list[bytes], None, RecordsSent | StoreFailed]:
        if self._what == "load":
            return StoreFailed(GONE)
        return (yield from super().load(wanted))

    def load_records(self, wanted: SendRecords) -> Generator[Record, None, RecordsSent | StoreFailed]:
        if self._what == "load":
            return StoreFailed(GONE)
        return (yield from super().load_records(wanted))


BROKEN = ModuleRefused(facet="selector", what="it is broken", diagnostics=())
GONE = StoreClosed(where="memory")


@pytest.mark.parametrize(
    ("what", "cause"),
    [
        ("prepare", Cause.POLICY),
        ("advertise", Cause.POLICY),
        ("request", Cause.POLICY),
        ("serve", Cause.POLICY),
        ("load", Cause.STORE),
        ("commit", Cause.STORE),
    ],
)
@pytest.mark.parametrize("side", [0, 1])
def test_a_side_that_cannot_go_on_ends_the_exchange_with_a_name(what: str, cause: Cause, side: int) -> None:
    stores = MemoryStore(), MemoryStore()
    for index, store in enumerate(stores):
        store.put(make_blob(b"of %d" % index))
    for joined in (True, False):
        settings = [Settings(index=index, module=module(ALL), dice=dice(index)) for index in (0, 1)]
        hosts = [Failing(stores[index], what if index == side else "") for index in (0, 1)]
        results = run_hosts(settings, hosts, joined=joined)
        assert results[side].cause is cause
        error = results[side].error
        assert error in (BROKEN, GONE) or (error is not None and str(BROKEN) in str(error))
        assert not any(result.complete for result in results)


def test_a_cursor_is_kept_for_the_next_time() -> None:
    cursors: dict[str, Cursor] = {}
    stores = MemoryStore(), MemoryStore()
    stores[0].put_many([make_blob(b"a")])
    for _ in range(2):
        parties = [
            Party(
                Settings(
                    index=index,
                    module=module(ALL),
                    dice=dice(index),
                ),
                Host(
                    stores[index],
                    exposure(EXPOSE_ALL),
                    cursors=cursors if index else None,
                    cursor_key="the other",
                ),
            )
            for index in (0, 1)
        ]
        results = interlace_in_process(parties[0], parties[1], Clock().now())
        assert all(result.complete for result in results)
    assert [set(cursor.claims) for cursor in cursors.values()] == [{make_blob(b"a").id}]
    assert make_pair(stores=stores).run()[1].received_hashes == ()
