"""A server with honest peers: who gets what, how much, and how it goes on and ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lace.drive import Wired
from lace.interlace import Cause, InterlaceResult, LocalLimits
from lace.porcelain import DayLimits, Door, Lace, PeerGroup, Terms, parse_policy, parse_who, tell_section
from lace.porcelain.exchanges.exchange import LONG_TEXT
from lace.porcelain.exchanges.turns import Turn
from lace.porcelain.server.visitors import Visitor
from lace.record import make_blob, make_plex
from lace.stores import MemoryStore
from lace.transports import Proven, Pump, exchange
from tests.porcelain.pairs import OPEN
from tests.porcelain.policy_texts import EXPOSE_NOTES, SELECT_ALL
from tests.serving.house import House, Visit
from tests.strategies import SECRETS
from tests.transports.ends import LEFT, NOW, RIGHT, ids, make_end
from tests.transports.hurried import hurry

NOTHING = f"[select]\n{SELECT_ALL}"
NOTES = f"[select]\n{SELECT_ALL}[expose to anyone]\n{EXPOSE_NOTES}"
NOTE = make_plex("u", "notes", "n", NOW, b"a note")
ALICE = SECRETS[0]
TCP = Proven("tcp:192.0.2.7:5000", remote="192.0.2.7:5000")
UNIX = Proven("unix:/run/lace.sock", remote="a user", uid=1000)


class Guest:
    """Somebody who is connected."""

    def __init__(self, house: House, records: Any = (), proven: Proven | None = None, **more: Any) -> None:
        self.visit: Visit = house.join(proven=proven)
        self.store = MemoryStore()
        link = self.visit.stream.proven.link()
        self.end: Wired = make_end(self.visit.stream, records, store=self.store, link=link, **more)
        self.pump = Pump(self.visit.stream, self.end)
        self.running = asyncio.create_task(self.pump.run())

    async def result(self) -> InterlaceResult:
        found = await self.running
        await self.visit.served
        return found

    async def finish(self) -> InterlaceResult:
        self.pump.post(self.end.finish)
        return await self.result()


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


def test_what_one_peer_brings_reaches_those_who_stay() -> None:
    async def run() -> None:
        house = House()
        staying = Guest(house, stays_open=True)
        await until(lambda: bool(staying.end.side.fixed_points))
        await house.honest()
        await until(lambda: ids(staying.store) == ids(house.store))
        assert {record.id for record in LEFT} <= ids(staying.store)
        assert asyncio.get_running_loop().time() < 1, "nobody waited for the next look at the store"
        assert (await staying.finish()).complete
        assert house.ended["rounds"] == 2

    hurry(run())


def test_a_round_is_counted_also_where_the_exchange_closes_with_it() -> None:
    async def run() -> None:
        house = House(stays_open=False)
        await house.honest()
        assert house.ended["rounds"] == 1
        assert house.serving.metrics.value("lace_rounds_total") == 1

    hurry(run())


def test_a_record_that_somebody_else_stores_is_seen_at_the_next_look() -> None:
    async def run() -> None:
        house = House()
        staying = Guest(house, stays_open=True)
        await until(lambda: bool(staying.end.side.fixed_points))
        house.store.put(NOTE)
        await until(lambda: NOTE.id in ids(staying.store))
        await staying.finish()

    hurry(run())


# Who.


@pytest.mark.parametrize(
    ("door", "proven", "code"),
    [
        (Door(deny=(parse_who("192.0.2.0/24"),)), TCP, "serve/denied"),
        (Door(deny=(parse_who("tcp"),)), TCP, "serve/denied"),
        (Door(allow=(parse_who("user:1"),)), UNIX, "serve/denied"),
        (Door(allow=(parse_who("user:1000"),)), UNIX, None),
        (Door(allow=(parse_who("192.0.2.7"),), deny=(parse_who("unix"),)), TCP, None),
    ],
)
def test_lists_decide_at_the_door(door: Door, proven: Proven, code: str | None) -> None:
    """Somebody who is not let in sees a peer that closes, before anything is said about records."""

    async def run() -> None:
        house = House(door=door)
        guest = Guest(house, LEFT, proven)
        result = await guest.result()
        if code is None:
            assert result.complete
            return
        assert (result.cause, result.error) == (Cause.PEER_CLOSED, None)
        assert house.told("refused")[0]["code"] == code
        assert house.serving.metrics.value("lace_refused_total", code=code) == 1
        assert not house.told("connected")

    hurry(run())


@pytest.mark.parametrize(
    ("allow", "deny", "secret", "served"),
    [
        ((), (ALICE.verifier,), ALICE, False),
        ((), ("anonymous",), None, False),
        ((), ("anonymous",), ALICE, True),
        ((ALICE.verifier,), (), ALICE, True),
        ((ALICE.verifier,), (), SECRETS[1], False),
        (("proven",), (), None, False),
    ],
)
def test_lists_decide_again_when_the_peer_has_proved_who_it_is(
    allow: tuple[str, ...], deny: tuple[str, ...], secret: Any, served: bool
) -> None:
    async def run() -> None:
        house = House(door=Door(tuple(map(parse_who, allow)), tuple(map(parse_who, deny))))
        result = await Guest(house, LEFT, secret=secret).result()
        assert result.complete is served
        assert (house.ended.get("code") == "serve/denied") is not served
        assert bool({record.id for record in LEFT} & ids(house.store)) is served

    hurry(run())


def test_each_group_has_its_policy() -> None:
    """By verifier, by user, by transport; whoever is in none has the policy of everybody."""

    def group(name: str, policy: str, **members: Any) -> PeerGroup:
        return PeerGroup(name, parse_policy(policy, name), Terms(), **members)

    async def run() -> None:
        groups = (
            group("friends", OPEN, peers=frozenset({ALICE.verifier})),
            group("here", NOTES, users=frozenset({1000})),
            group("net", NOTHING, transports=frozenset({"tcp"})),
        )
        house = House([NOTE, *RIGHT], NOTES, groups=groups)
        everything = {NOTE.id, *(record.id for record in RIGHT)}
        for secret, proven, gets, name in (
            (ALICE, None, everything, "friends"),
            (ALICE, UNIX, everything, "friends"),
            (None, UNIX, {NOTE.id}, "here"),
            (None, TCP, set(), "net"),
            (SECRETS[1], None, {NOTE.id}, None),
        ):
            guest = Guest(house, proven=proven, secret=secret)
            assert (await guest.result()).complete
            assert ids(guest.store) == gets
            assert house.told("agreed")[-1].get("group") == name

    hurry(run())


def test_the_history_says_by_which_section_of_a_group_a_record_left_and_whom_a_list_denied() -> None:
    town = "SelectHave(P) :- Have(P), Field(P,'App',_,'notes')."
    wants = "SelectAdvertised(P,S) :- Advertised(P,S)."
    shows = "[expose to anyone]\nAllowQueryRecord(V,P) :- _Viewer(V), Have(P)."
    held = "[send]\nAllowSend(P) :- Field(P,'Group',_,'u')."
    policy = parse_policy(f"[select]\n{town}\n{wants}\n{shows}\n{held}\n", "friends.policy")

    async def run() -> None:
        lace = Lace()
        friends = PeerGroup("friends", policy, Terms(), peers=frozenset({ALICE.verifier}))
        door = Door(deny=(parse_who(SECRETS[1].verifier),))
        house = House((NOTE,), store=lace.store, history=lace.kept, groups=(friends,), door=door)
        await Guest(house, secret=ALICE).result()
        await Guest(house, secret=SECRETS[1]).result()
        denied, _ = lace.history()
        assert denied.error_code == house.ended["code"] == "serve/denied", "the log and the history agree"
        (sending,) = lace.why_sent(NOTE.id).sendings
        assert sending.selected_by[0] == ("SelectHave(P) :- Have(P).",), "what everybody is shown"
        assert [(each.section, each.rule) for each in sending.let_go_by] == [
            ("[send] (friends.policy:6)", "AllowSend(P) :- Field(P,'Group',_,'u')."),
            ("[select] (friends.policy:1)", town),
        ]
        assert f"  let go by [select] (friends.policy:1): {town}" in list(sending.lines())
        assert sending.to_json()["let_go_by"][1] == {"section": "[select] (friends.policy:1)", "rule": town}
        assert sending.agreement is not None
        told = [*map(tell_section, sending.agreement.in_force.sections)]
        assert told == [
            "[send] (friends.policy:6)",
            "[expose to anyone] (friends.policy:4)",
            "[select] (friends.policy:1), for what is sent",
            "[select] (friends.policy:1), for what is asked for",
            "[select], made for this exchange",
        ]

    hurry(run())


def test_whom_no_policy_is_for_gets_nothing() -> None:
    async def run() -> None:
        friends = PeerGroup("friends", parse_policy(OPEN), Terms(), peers=frozenset({ALICE.verifier}))
        house = House(groups=(friends,))
        house.serving.reload(replace(house.serving.arrangement, policy=None))
        for secret, code in ((ALICE, None), (SECRETS[1], "exchange/no-policy"), (None, "exchange/no-policy")):
            guest = Guest(house, secret=secret)
            assert (await guest.result()).complete is (code is None)
            assert house.ended.get("code") == code
            assert bool(ids(guest.store)) is (code is None)

    hurry(run())


def test_a_member_does_not_pay_for_its_neighbours() -> None:
    """The host has had its bytes of the day; whoever proves to be somebody has its own."""

    async def run() -> None:
        day = Terms(day=DayLimits(stored=1))
        friends = PeerGroup("friends", None, Terms(), peers=frozenset({ALICE.verifier}))
        house = House([], terms=day, groups=(friends,))
        assert not (await Guest(house, LEFT).result()).complete
        assert house.ended["code"] == "serve/quota"
        assert not ids(house.store)
        assert (await Guest(house, LEFT, secret=ALICE).result()).complete
        assert ids(house.store) == {record.id for record in LEFT}

    hurry(run())


def test_a_user_of_this_machine_is_whose_verifier_it_is_said_to_have() -> None:
    async def run() -> None:
        house = House(users={1000: ALICE.verifier}, door=Door(allow=(parse_who(ALICE.verifier),)))
        assert (await Guest(house, proven=UNIX).result()).complete
        assert house.ended["peer"] == ALICE.verifier
        assert not (await Guest(house, proven=replace(UNIX, uid=1001)).result()).complete

    hurry(run())


# How much.


@pytest.mark.parametrize(
    ("arranged", "limit"),
    [
        ({"exchanges": 1}, "exchanges"),
        ({"per_host": 1}, "exchanges-per-host"),
        ({"terms": Terms(per_peer=1)}, "exchanges-per-peer"),
    ],
)
def test_exchanges_at_once_are_limited(arranged: dict[str, Any], limit: str) -> None:
    async def run() -> None:
        house = House(**arranged)
        first = Guest(house, proven=TCP, stays_open=True)
        await until(lambda: bool(first.end.side.fixed_points))
        refused = await Guest(house, proven=TCP).result()
        assert refused.cause is Cause.PEER_CLOSED
        assert house.told("refused")[0]["code"] == "serve/busy"
        assert house.serving.metrics.value("lace_quota_hits_total", limit=limit) == 1
        assert (await first.finish()).complete
        assert (await Guest(house, proven=TCP).result()).complete

    hurry(run())


def test_what_a_peer_may_store_in_a_day_is_limited() -> None:
    """An honest peer is told how much there is room for, and stops before; the next day it goes on."""

    async def run() -> None:
        room = 2 * len(LEFT[0].raw) + 10
        house = House([], terms=Terms(day=DayLimits(stored=room)))
        first = await Guest(house, LEFT, proven=TCP).result()
        assert first.cause is Cause.TRANSFER_LIMIT
        assert "the peer set it" in str(first.error), "and not we, who allow a gibibyte"
        assert len(ids(house.store)) == 2
        assert house.ended["cause"] == "peer-closed"
        assert house.serving.quotas.stored_today == 2 * len(LEFT[0].raw)
        for day in range(2):
            await asyncio.sleep(86_400)
            await Guest(house, LEFT, proven=TCP).result()
            assert len(ids(house.store)) == min(len(LEFT), 4 + 2 * day)

    hurry(run())


def test_what_a_peer_may_store_holds_whoever_it_proves_to_be_and_whatever_it_was_told() -> None:
    """Two connections at once were each told of the same room; together they do not get more."""

    async def run() -> None:
        house = House([], terms=Terms(day=DayLimits(stored=300)))
        records = [make_blob(b"%03d" % n * 40) for n in range(6)]
        guests = [Guest(house, records[n::2], secret=ALICE) for n in range(2)]
        for guest in guests:
            await guest.result()
        assert {each.get("code") for each in house.told("ended")} & {"serve/quota"}
        assert house.serving.quotas.stored_today <= 300
        refused = await Guest(house, records, secret=ALICE).result()
        assert not refused.complete
        assert (await Guest(house, [make_blob(b"x")], secret=SECRETS[1]).result()).complete

    hurry(run())


@pytest.mark.parametrize(
    ("terms", "limit"),
    [(Terms(rounds=2), "rounds"), (Terms(day=DayLimits(traffic=1)), "traffic-per-day")],
)
def test_an_exchange_that_has_had_enough_is_closed_at_its_fixed_point(terms: Terms, limit: str) -> None:
    async def run() -> None:
        house = House(terms=terms)
        guest = Guest(house, stays_open=True)
        if limit == "rounds":
            await until(lambda: bool(guest.end.side.fixed_points))
            house.store.put(NOTE)
        result = await guest.result()
        assert result.complete
        assert (house.ended["limit"], house.ended["cause"]) == (limit, "fixed-point")

    hurry(run())


def test_a_peer_that_takes_its_time_holds_up_nobody() -> None:
    async def run() -> None:
        house = House(terms=Terms(per_peer=32))
        silent = [house.join() for _ in range(20)]
        await house.honest()
        assert asyncio.get_running_loop().time() < 1
        assert len(house.serving.attending) == 20
        await asyncio.gather(*(visit.served for visit in silent))
        assert {each["code"] for each in house.told("ended")[1:]} == {"interlace/phase-timeout"}

    hurry(run())


# Other policies, and the end.


def test_a_new_policy_is_negotiated_with_those_who_are_there() -> None:
    async def run() -> None:
        house = House([NOTE, *RIGHT], NOTHING)
        staying = Guest(house, stays_open=True)
        await until(lambda: bool(staying.end.side.fixed_points))
        assert not ids(staying.store)
        before = house.serving.arrangement
        assert house.serving.reload(before) == 0, "nothing is another policy"
        assert house.serving.reload(replace(before, policy=parse_policy(NOTES))) == 1
        await until(lambda: ids(staying.store) == {NOTE.id})
        assert house.serving.reload(replace(before, policy=parse_policy(OPEN))) == 1
        await until(lambda: ids(staying.store) == ids(house.store))
        assert (await staying.finish()).complete
        assert [each["epoch"] for each in house.told("agreed")] == [1, 2, 3]

    hurry(run())


def test_a_policy_that_is_changed_and_changed_back_holds_for_those_who_are_there() -> None:
    """The first change waits for the end of a round, and the second one must not be taken for none."""

    async def run() -> None:
        house = House([NOTE, *RIGHT], NOTHING)
        staying = Guest(house, stays_open=True)
        await until(lambda: bool(staying.end.side.fixed_points))
        before = house.serving.arrangement
        assert house.serving.reload(replace(before, policy=parse_policy(OPEN))) == 1
        assert house.serving.reload(before) == 1
        await until(lambda: len(house.told("agreed")) > 1)
        house.store.put(make_blob(b"later"))
        await asyncio.sleep(10)
        assert (await staying.finish()).complete
        assert not ids(staying.store)

    hurry(run())


def test_a_policy_that_is_changed_while_somebody_comes_in_holds_for_it() -> None:
    async def run() -> None:
        house = House([NOTE, *RIGHT], OPEN)
        before, begin, loop = house.serving.arrangement, house.exchanges.begin, asyncio.get_running_loop()

        async def change() -> None:
            house.serving.reload(replace(before, policy=parse_policy(NOTES)))

        def begin_late(*given: Any, **more: Any) -> Any:
            end = begin(*given, **more)
            if house.serving.arrangement is before:
                asyncio.run_coroutine_threadsafe(change(), loop).result()
            return end

        house.exchanges.begin = begin_late  # type: ignore[method-assign]
        staying = Guest(house, stays_open=True)
        await until(lambda: bool(staying.end.side.fixed_points))
        assert (await staying.finish()).complete
        assert ids(staying.store) == {NOTE.id}
        assert [each["epoch"] for each in house.told("agreed")] == [1]

    hurry(run())


def test_who_proves_only_later_who_it_is_has_the_policy_that_is_then_its_own() -> None:
    """While it is nobody, nothing that is about it changes for it; a new epoch is another matter."""

    async def run() -> None:
        known = PeerGroup("known", parse_policy(OPEN), Terms(), frozenset({ALICE.verifier}))
        house = House([NOTE, *RIGHT], NOTHING, groups=(known,))
        staying = Guest(house, stays_open=True)
        await until(lambda: bool(staying.end.side.fixed_points))
        narrowed = replace(known, policy=parse_policy(NOTES))
        renegotiated = house.serving.reload(replace(house.serving.arrangement, groups=(narrowed,)))
        assert renegotiated == 0, "nothing is another policy for it"
        await asyncio.sleep(10)

        def prove() -> None:
            exchange = staying.end.side.machine.exchange
            exchange.settings = replace(exchange.settings, secret=ALICE)
            staying.end.change_operand(exchange.epoch.module)

        staying.pump.post(prove)
        await until(lambda: len(house.told("agreed")) > 1)
        await until(lambda: NOTE.id in ids(staying.store))
        await asyncio.sleep(10)
        assert (await staying.finish()).complete
        assert house.told("agreed")[-1]["peer"] == ALICE.verifier
        assert ids(staying.store) == {NOTE.id}

    hurry(run())


def test_who_is_denied_from_now_on_is_sent_away() -> None:
    async def run() -> None:
        house = House()
        staying = [Guest(house, stays_open=True, secret=secret) for secret in (ALICE, SECRETS[1])]
        for each in staying:
            await until(lambda each=each: bool(each.end.side.fixed_points))
        door = Door(deny=(parse_who(ALICE.verifier),))
        house.serving.reload(replace(house.serving.arrangement, door=door))
        assert (await staying[0].result()).complete, "it was at its fixed point"
        assert house.ended["cause"] == "cancelled"
        assert house.told("refused")[0]["code"] == "serve/denied"
        assert (await staying[1].finish()).complete

    hurry(run())


@pytest.mark.parametrize(
    ("door", "secret"),
    [
        (Door(deny=(parse_who(ALICE.verifier),)), ALICE),
        (Door(allow=(parse_who(SECRETS[1].verifier),)), ALICE),
        (Door(deny=(parse_who("anonymous"),)), None),
    ],
    ids=["denied", "not-allowed", "anonymous"],
)
def test_who_is_denied_while_it_is_let_in_is_sent_away(door: Door, secret: Any) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()

        async def change() -> None:
            house.serving.reload(replace(house.serving.arrangement, door=door))

        class Slow(Door):
            def admit(self, visitor: Visitor) -> None:
                super().admit(visitor)
                asyncio.run_coroutine_threadsafe(change(), loop).result()

        house = House(door=Slow())
        staying = Guest(house, stays_open=True, secret=secret)
        async with asyncio.timeout(60):
            await staying.result()
        assert house.told("refused")[-1]["code"] == "serve/denied"
        assert not ids(staying.store)

    hurry(run())


def test_who_is_denied_before_all_is_ready_is_told_nothing() -> None:
    async def run() -> None:
        house = House()
        begin, loop = house.exchanges.begin, asyncio.get_running_loop()
        door = Door(deny=(parse_who("192.0.2.0/24"),))

        async def change() -> None:
            house.serving.reload(replace(house.serving.arrangement, door=door))

        def begin_late(*given: Any, **more: Any) -> Any:
            end = begin(*given, **more)
            if house.serving.arrangement.door is not door:
                asyncio.run_coroutine_threadsafe(change(), loop).result()
            return end

        house.exchanges.begin = begin_late  # type: ignore[method-assign]
        refused = await Guest(house, proven=TCP).result()
        assert refused.cause is Cause.PEER_CLOSED
        assert [each["code"] for each in house.told("refused")] == ["serve/denied"]
        assert not house.told("agreed")
        assert not house.told("ended"), "nothing had begun"

    hurry(run())


def test_exchanges_end_when_the_server_stops() -> None:
    async def run() -> None:
        house = House()
        staying = Guest(house, stays_open=True)
        await until(lambda: bool(staying.end.side.fixed_points))
        house.serving.stop()
        assert (await staying.result()).complete
        assert house.ended["cause"] == "fixed-point"

    hurry(run())


@pytest.mark.parametrize("stops", [True, False], ids=["stopped", "aborted"])
def test_who_only_waits_to_be_read_is_let_go_when_the_server_stops(stops: bool) -> None:
    """Each would be read for seconds, one after the other."""
    long = ", ".join(f"Field(P,'{number}',_,'x')" for number in range(LONG_TEXT // 16))
    policy = f"SelectHave(P) :- Have(P), {long}.\nSelectAdvertised(P,S) :- Advertised(P,S)."

    async def run() -> None:
        house = House(terms=Terms(local=LocalLimits()))
        turns = house.serving._exchanges._turns
        with Turn(turns).held():
            async with asyncio.timeout(30), house.serving.open():
                waiting = [Guest(house, policy=policy) for _ in range(3)]
                await until(lambda: len(turns.queue) == 4)
                if stops:
                    house.serving.stop()
                    assert [(await guest.result()).cause for guest in waiting] == [Cause.PEER_CLOSED] * 3
            # What is aborted ends behind the step that it is at.
            async with asyncio.timeout(30):
                for guest in waiting:
                    await guest.visit.served
        assert [each["cause"] for each in house.told("ended")] == ["cancelled"] * 3
        for guest in waiting:
            await guest.running

    asyncio.run(run())


def test_an_exchange_that_is_cancelled_is_told_of_and_keeps_what_came() -> None:
    async def run() -> None:
        house = House()
        visit = house.join()
        running = asyncio.create_task(exchange(visit.stream, make_end(visit.stream, LEFT, stays_open=True)))
        await until(lambda: ids(house.store) >= {record.id for record in LEFT})
        visit.served.cancel()
        with pytest.raises(asyncio.CancelledError):
            await visit.served
        await running
        assert house.ended["cause"] == "cancelled"
        assert not house.serving.attending
        await house.honest()

    hurry(run())


@pytest.mark.parametrize("later", [None, SECRETS[1]])
def test_after_a_reload_nobody_keeps_the_policy_of_whom_it_no_longer_proves_to_be(later: Any) -> None:
    async def run() -> None:
        known = PeerGroup("known", parse_policy(OPEN), Terms(), frozenset({ALICE.verifier}))
        other = PeerGroup("other", parse_policy(NOTES), Terms(), frozenset({SECRETS[2].verifier}))
        house = House([NOTE, *RIGHT], NOTHING, groups=(known,))
        staying = Guest(house, stays_open=True, secret=ALICE)
        await until(lambda: NOTE.id in ids(staying.store))
        house.serving.reload(replace(house.serving.arrangement, groups=(known, other)))

        def prove() -> None:
            exchange = staying.end.side.machine.exchange
            exchange.settings = replace(exchange.settings, secret=later)
            staying.end.change_operand(exchange.epoch.module)

        agreed = len(house.told("agreed"))
        await asyncio.sleep(10)
        staying.pump.post(prove)
        await until(lambda: len(house.told("agreed")) > agreed)
        news = make_plex("u", "notes", "news", NOW, b"for Alice")
        house.store.put(news)
        await asyncio.sleep(10)
        assert house.told("agreed")[-1].get("peer") == (later and later.verifier)
        assert news.id not in ids(staying.store)
        await staying.finish()

    hurry(run())
