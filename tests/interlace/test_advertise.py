"""The send set and the block that says it: what is in it, for whom, and from where."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.errors import StoreError
from lace.facts import Fact
from lace.interlace import (
    Evaluated,
    EvaluationFailed,
    Hashed,
    NeedEvaluation,
    Phase,
    Prepared,
    Purpose,
    SendBlock,
    Wake,
)
from lace.interlace.claims import hash_advertisements
from lace.interlace.own import OwnAdvertisements
from lace.interlace.partitions import Partitions
from lace.policy import GrowingSet
from lace.record import Record, make_blob, make_plex
from lace.text import RecordId, Tai
from tests.interlace.pair import ALL, make_pair
from tests.interlace.replay import machine_in
from tests.interlace.scenarios import FOLLOWS, GROUP_U

ID = "P." + "0" * 43
START = Tai("1640995200:000000000")


class Decided:
    """An evaluation that says what it is told to say."""

    def __init__(self, may_send: Any = (), have: Any = (), may_request: Any = ()) -> None:
        self.may_send: AbstractSet[str] = frozenset(may_send)
        self.may_request = frozenset(may_request)
        self.have: AbstractSet[str] = frozenset(have)

    def fields(self, records: Any, schema: Any) -> dict[str, list[tuple[str, str, str]]]:
        return {record: [("Group", "0", "u"), ("App", "0", "ding")] for record in records}


@pytest.mark.req("050-131", "050-001", "050-005")
@pytest.mark.parametrize(
    ("may_send", "have", "advertised"), [(1, 1, True), (1, 0, False), (0, 1, False), (0, 0, False)]
)
def test_what_is_advertised_may_be_sent_and_is_there(may_send: bool, have: bool, advertised: bool) -> None:
    record = ID + ".H3"
    own = OwnAdvertisements("Opq_a", "Opq_b", None, frozenset({"H3"}), summarizes=True)
    differs = own.update(Decided([record] * may_send, [record] * have))
    assert differs == advertised
    assert own.ids == ({record} if advertised else frozenset())
    assert len(own.tree) == len(own.mirror) == advertised


def test_the_length_of_an_advertisement_is_the_same_at_every_look() -> None:
    own = OwnAdvertisements("Opq_a", "Opq_b", None, frozenset({"H3"}), summarizes=True)
    own.update(Decided([ID + ".H3"], [ID + ".H3"]))
    assert 0 < own.mean_bytes == own.mean_bytes


def test_records_of_another_format_are_not_advertised() -> None:
    own = OwnAdvertisements("Opq_a", "Opq_b", None, frozenset({"H3"}), summarizes=False)
    own.update(Decided([ID + ".H3", ID + ".H9"], [ID + ".H3", ID + ".H9"]))
    assert own.ids == {ID + ".H3"}


@pytest.mark.req("050-138", "050-069")
def test_each_record_of_the_send_set_is_advertised_once_with_the_agreed_fields() -> None:
    records: list[Record] = [make_plex("u", "ding", f"n/{n}", START, b"") for n in range(4)]
    by_app = ALL.replace("Advertised(P,S).", "Advertised(P,S), AdvertisedField(P,S,'App',_,'ding').")
    policies = (GROUP_U, by_app)
    pair = make_pair([*records, make_blob(b"x")], [], policies=policies, settings={"partitions": False})
    pair.run()
    block = pair.blocks(0)[2]
    source = pair.sides[0].machine.exchange.agreed.source
    wanted: list[Fact] = []
    for record in sorted(records, key=lambda each: each.id):
        wanted += [
            ("Advertised", record.id, source),
            ("AdvertisedField", record.id, source, "App", "0", "ding"),
            ("AdvertisedField", record.id, source, "Group", "0", "u"),
        ]
    assert list(block.facts) == wanted


def test_a_record_that_leaves_the_store_while_it_is_asked_about_is_still_described() -> None:
    """The answer comes from the loop's own snapshot; the record itself is then not available."""
    records = [make_plex("u", "ding", f"n/{n}", START, b"") for n in range(4)]
    pair = make_pair(records, [], policies=(GROUP_U, GROUP_U))
    pair.begin()
    while pair.sides[0].machine.phase is not Phase.ASK:
        pair.deliver(0), pair.deliver(1)
    pair.stores[0].remove([RecordId(records[0].id)])
    pair.flow()
    assert all(result.complete for result in pair.results)
    assert pair.results[1].not_available_hashes == (records[0].id,)


@pytest.mark.req("050-132")
def test_the_first_evaluation_of_a_round_uses_what_the_peer_said_in_this_exchange_or_nothing() -> None:
    """A cursor is not that: it is a guess for the hashes, and what nobody confirmed decides nothing."""
    for remembers in (False, True):
        machine, now = machine_in(Phase.PREPARE)
        cursor = machine.exchange.agreed.advertised.cursor()
        remembered = type(cursor)(cursor.source, cursor.fields, {ID + ".H3": ()})
        (need,) = machine.receive(Prepared(remembered if remembers else None), now)
        assert isinstance(need, NeedEvaluation)
        assert need.purpose is Purpose.ADVERTISE
        assert need.advertised.claims == {}
        assert need.advertised.came == frozenset()
    records = [make_plex("u", "ding", f"n/{n}", START, b"") for n in range(4)]
    pair = make_pair([], records, settings={"stays_open": True})
    pair.begin()
    pair.flow()
    (need,) = pair.sides[0].machine.receive(Wake(), pair.clocks[0].now())
    assert isinstance(need, NeedEvaluation)
    assert need.purpose is Purpose.ADVERTISE
    assert set(need.advertised.claims) == {record.id for record in records}


@pytest.mark.parametrize(("change", "expected"), [("source", 0), ("fields", 0), ("nothing", 1)])
def test_a_cursor_of_another_source_or_schema_is_nothing(change: str, expected: int) -> None:
    machine, now = machine_in(Phase.PREPARE)
    cursor = machine.exchange.agreed.advertised.cursor()
    other = type(cursor)(
        "Opq_~" if change == "source" else cursor.source,
        frozenset({"Name"}) if change == "fields" else cursor.fields,
        {ID + ".H3": ()},
    )
    machine.receive(Prepared(other), now)
    assert len(machine.exchange.agreed.advertised.tree) == expected


@pytest.mark.req("050-133", "050-151")
def test_each_evaluation_is_told_all_it_may_read() -> None:
    machine, now = machine_in(Phase.SELECT)
    outputs = machine.receive(Evaluated(Decided()), now)
    assert outputs == [SendBlock(())]
    machine, _ = machine_in(Phase.CHOOSE)
    agreed = machine.exchange.agreed
    names = {fact[0] for fact in agreed.runtime(machine.exchange.settings)}
    assert names == {"StartTAI", "TickTAI", "ClockSkewSeconds"}
    records = [make_plex("u", "ding", f"n/{n}", START, b"") for n in range(4)]
    pair = make_pair([], records, settings={"more_fields": frozenset({"Name"})})
    told: dict[Purpose, NeedEvaluation] = {}
    evaluate = pair.sides[0].host.evaluate

    def evaluating(need: NeedEvaluation) -> Evaluated | EvaluationFailed:
        told.setdefault(need.purpose, need)
        return evaluate(need)

    pair.sides[0].host.evaluate = evaluating  # type: ignore[method-assign]
    pair.run()
    exchange, need = pair.sides[0].machine.exchange, told[Purpose.REQUEST]
    agreed = exchange.agreed
    assert need.runtime == agreed.runtime(exchange.settings)
    assert need.advertised.source == agreed.peer_source
    assert need.advertised.claims == {r.id: (("Name", "0", r.name),) for r in records}
    assert need.advertised.came == {record.id for record in records}


@pytest.mark.parametrize(("policy", "reads"), [(ALL, False), (FOLLOWS, True)], ids=["all", "follows"])
def test_who_may_be_sent_what_is_decided_without_claims_unless_a_select_have_reads_them(
    policy: str, reads: bool
) -> None:
    records = [make_plex(group, "ding", group, START, b"") for group in ("u", "X")]
    pair = make_pair(records, records[1:], policies=(policy, ALL))
    told: dict[Purpose, bool] = {}
    host = pair.sides[0].host
    evaluate = host.evaluate

    def evaluating(need: NeedEvaluation) -> Evaluated | EvaluationFailed:
        told[need.purpose] = told.get(need.purpose, False) or bool(need.advertised.came)
        return evaluate(need)

    host.evaluate = evaluating  # type: ignore[method-assign]
    pair.run()
    assert [store.count("Have", 1) for store in pair.stores] == [2, 2]
    assert Purpose.REQUEST not in told, "everything was here, and nothing read what the peer claims"
    assert any(told.values()) is reads


SETS = st.frozensets(st.integers(0, 12), max_size=8)


@given(st.lists(SETS, min_size=1, max_size=4), SETS, st.booleans())
def test_what_another_exchange_hashed_says_nothing_of_its_own(
    before: list[frozenset[int]], now: frozenset[int], mirrored: bool
) -> None:
    """Only the evaluation decides: the set, its claims and its roots are those of one that began empty."""

    def decided(numbers: frozenset[int]) -> Decided:
        ids = [make_blob(b"%d" % number).id for number in numbers]
        return Decided(ids, ids)

    def begin() -> OwnAdvertisements:
        return OwnAdvertisements("Opq_a", "Opq_b", None, frozenset({"H3"}), summarizes=True)

    earlier, taken, fresh, beside = begin(), begin(), begin(), begin()
    for numbers in before:
        earlier.update(decided(numbers))
        if mirrored:
            earlier.mirror.summary("")
        earlier.tree.summaries(2)
    shared = earlier.hashed()
    assert (shared is None) is (not before or not before[-1])
    if shared is not None:
        taken.take_over(shared)
        beside.take_over(shared)
    assert taken.ids == frozenset()
    for own in (taken, fresh):
        assert own.update(decided(now)) is bool(now)
        assert (own.added, own.removed) == (own.ids, frozenset())
    for length in range(4):
        assert taken.tree.summaries(length) == fresh.tree.summaries(length)
        assert taken.mirror.summaries(length) == fresh.mirror.summaries(length)
    assert taken.claims_of(taken.ids, "Opq_a") == fresh.claims_of(fresh.ids, "Opq_a")
    if now:
        assert taken.mean_bytes == fresh.mean_bytes
    # Whoever had it before, or has it too, still has what it had.
    for own in (earlier, beside):
        alone = begin()
        last = decided(before[-1] if before else frozenset())
        own.update(last), alone.update(last)
        for length in range(3):
            assert own.tree.summaries(length) == alone.tree.summaries(length)
            assert own.mirror.summaries(length) == alone.mirror.summaries(length)
        assert own.claims_of(own.ids, "Opq_a") == alone.claims_of(alone.ids, "Opq_a")


class Unreadable(Decided):
    """An evaluation over a store that fails while its fields are read."""

    def fields(self, records: Any, schema: Any) -> dict[str, list[tuple[str, str, str]]]:
        raise StoreError


def test_what_was_hashed_in_part_or_for_others_is_not_taken_over() -> None:
    def begin(peer: str = "Opq_b", schema: frozenset[str] | None = None) -> OwnAdvertisements:
        return OwnAdvertisements("Opq_a", peer, schema, frozenset({"H3"}), summarizes=True)

    record = ID + ".H3"
    broken, other, narrow = begin(), begin("Opq_c"), begin(schema=frozenset({"App"}))
    broken.update(Decided([record], [record]))
    more = [record, make_blob(b"more").id]
    with pytest.raises(StoreError):
        broken.update(Unreadable(more, more))
    other.update(Decided([record], [record]))
    narrow.update(Decided([record], [record]))
    own = begin()
    assert broken.hashed() is None
    for each in (other, narrow):
        shared = each.hashed()
        assert shared is not None
        own.take_over(shared)
        assert len(own.tree) == 0
        assert not own.join(shared)
    own.update(Decided([record], [record]))
    shared = own.hashed()
    assert shared is not None
    later, beside = begin(), begin()
    for each in (later, beside):
        each.take_over(shared)
        assert len(each.tree) == 1
        assert each.hashed() is shared, "nobody has said anything yet"
    assert later.update(Decided()) is False, "what it took over was never said"
    assert len(later.tree) == len(later.mirror) == 0
    assert len(beside.tree) == len(own.tree) == 1
    assert later.hashed() is None


def test_exchanges_that_hold_the_same_hold_it_together_until_one_changes() -> None:
    """Many follow one server: what is said to them is hashed once and takes room once."""
    ids = [make_blob(b"%d" % number).id for number in range(400)]

    def begin(count: int) -> OwnAdvertisements:
        own = OwnAdvertisements("Opq_a", "Opq_b", None, frozenset({"H3"}), summarizes=True)
        own.update(Decided(ids[:count], ids[:count]))
        own.tree.summaries(1), own.mirror.summaries(1)
        return own

    first, second, behind = begin(399), begin(399), begin(300)
    assert first.is_worth_sharing
    shared = first.hashed()
    assert shared is not None
    assert not first.is_worth_sharing
    assert second.join(shared)
    assert not second.is_worth_sharing
    assert not behind.join(shared)
    bucket = ids[0][2:4]
    for one, other in ((first.tree, second.tree), (first.mirror, second.mirror)):
        assert one.under(bucket) is other.under(bucket)
        assert one.under(bucket) is not behind.tree.under(bucket)
    second.update(Decided(ids, ids))
    assert not second.is_worth_sharing, "one of four hundred"
    for own, count in ((first, 399), (second, 400)):
        alone = begin(count)
        for length in range(4):
            assert own.tree.summaries(length) == alone.tree.summaries(length)
            assert own.mirror.summaries(length) == alone.mirror.summaries(length)
    assert first.tree.under(ids[399][2:4]) is not second.tree.under(ids[399][2:4])
    assert shared.ids == set(ids[:399])
    assert len(shared.tree) == len(shared.mirror) == 399


def test_what_did_not_change_is_not_made_anew_for_others() -> None:
    """Short exchanges end while others go on: however many did, those that came in between hold one set."""
    ids = [make_blob(b"%d" % number).id for number in range(40)]

    def begin(shared: Hashed | None, wanted: list[str]) -> Hashed:
        own = OwnAdvertisements("Opq_a", "Opq_b", None, frozenset({"H3"}), summarizes=True)
        if shared is not None:
            own.take_over(shared)
        own.update(Decided(wanted, wanted))
        own.mirror.summaries(1)
        found = own.hashed()
        assert found is not None
        assert found.ids == set(wanted) == found.claims.keys()
        return found

    first = begin(None, ids)
    again = begin(first, ids)
    assert again.ids is first.ids
    assert again.claims is first.claims
    assert again.mirror.known("") == first.mirror.known("")
    assert begin(again, ids[1:]).ids is not first.ids


@pytest.mark.parametrize(("wanted", "taken_out"), [(0, 0), (1, 0), (19, 0), (20, 20), (39, 1)])
def test_who_may_say_little_of_what_others_hashed_takes_nothing_out_of_it(
    monkeypatch: pytest.MonkeyPatch, wanted: int, taken_out: int
) -> None:
    """How soon a first block comes would tell a peer how much is said to others."""
    ids = [make_blob(b"%d" % number).id for number in range(40)]
    one, other, alone = (
        OwnAdvertisements("Opq_a", "Opq_b", None, frozenset({"H3"}), summarizes=True) for _ in range(3)
    )
    one.update(Decided(ids, ids))
    assert len(one.mirror) == 40
    shared = one.hashed()
    assert shared is not None
    other.take_over(shared)
    taken: list[str] = []
    change = Partitions.change

    def changing(self: Partitions, added: Any, removed: Any) -> None:
        taken.extend(removed)
        change(self, added, removed)

    monkeypatch.setattr(Partitions, "change", changing)
    decided = Decided(ids[:wanted], ids[:wanted])
    other.update(decided), alone.update(decided)
    assert len(taken) == 2 * taken_out, "of the tree and of the mirror"
    for length in range(3):
        assert other.tree.summaries(length) == alone.tree.summaries(length)
        assert other.mirror.summaries(length) == alone.mirror.summaries(length)
    assert other.claims_of(other.ids, "Opq_a") == alone.claims_of(alone.ids, "Opq_a")
    assert len(shared.tree) == len(shared.mirror) == 40


def test_what_may_be_sent_before_it_is_there_is_advertised_when_it_is_stored() -> None:
    """`MaySend` of a record that somebody names by its id gains nothing when the record comes."""
    early, late = ID[:-1] + "1.H3", ID[:-1] + "2.H3"
    allowed, have = GrowingSet([early, late]), GrowingSet([early])
    own = OwnAdvertisements("Opq_a", "Opq_b", None, frozenset({"H3"}), summarizes=True)

    def decide() -> Decided:
        decided = Decided()
        decided.may_send, decided.have = allowed.version(), have.version()
        return decided

    assert own.update(decide())
    assert own.ids == {early}
    assert not own.update(decide())
    have.add([late])
    assert own.update(decide())
    assert (own.ids, own.added, own.removed) == ({early, late}, {late}, set())
    entries = hash_advertisements(own.claims_of(own.ids, "Opq_a"), "Opq_a")
    assert own.tree.summary("") == Partitions(entries).summary("")
