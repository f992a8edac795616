"""One side of an exchange: whose policy, over shared facts, and who must be there."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from threading import Event, Thread, get_ident
from typing import Any

import pytest

from lace.algebra import EvaluationLimits
from lace.datalog import compile_program
from lace.drive import Wired
from lace.errors import LaceError
from lace.facts import Predicate
from lace.iltp import PREFACE, make_resource
from lace.interlace import Cause, Claim, Cursor, InterlaceResult, Link, PreparedPolicyRefused, Schema
from lace.interlace.merkle import make_entries
from lace.policy import OperandLimits, lower
from lace.porcelain import (
    ExchangeChoices,
    Exchanges,
    Guard,
    Lace,
    PolicyBook,
    Worth,
    parse_policy,
    run_sync,
)
from lace.porcelain.exchanges import sharing
from lace.porcelain.exchanges.exchange import LONG_TEXT, ExchangeEnd
from lace.porcelain.exchanges.sharedevaluation import SharedEvaluation
from lace.porcelain.exchanges.sharing import Sharing
from lace.stores import MemoryStore
from lace.text import Verifier
from lace.transports import Proven
from tests.iltp.samples import LACEGRAM_TEXT, RULES, resource_bytes
from tests.porcelain.talking import ALICE, BOB, OPEN, Answering, ids, interlacing, notes, stocked

FOR_ALICE = f"""\
[select for {ALICE.verifier}]
SelectHave(P) :- Have(P), Field(P,'App',_,'a').
SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'App',_,'a').
"""
ONLY_ALICE = OPEN.replace("[select]", f"[select for {ALICE.verifier}]")


def sync(answering: Answering, records: Any = (), **asked: Any) -> tuple[InterlaceResult, Lace]:
    lace = stocked(records)
    return run_sync(interlacing(lace, answering, **asked)), lace


def refusal(result: InterlaceResult) -> str:
    assert isinstance(result.error, PreparedPolicyRefused)
    cause = result.error.__cause__
    assert isinstance(cause, LaceError)
    return cause.code


def test_a_side_that_only_sends_does_not_tell_what_it_has() -> None:
    """Rules that cost too much, as soon as somebody runs them over what their author advertises."""
    digits = "".join(f"D('{number}') :- true.\n" for number in range(20))
    bait = f"{digits}Many(A,B,C,P) :- D(A), D(B), D(C), Advertised(P,_).\n"
    probing = OPEN.replace(
        "[expose", f"{bait}SelectAdvertised(P,S) :- Advertised(P,S), Many(_,_,_,P).\n[expose"
    )
    known, other = notes("a", 2)
    few = OperandLimits(peer=EvaluationLimits(derived_total=4000))
    ends = []
    for record in (known, other):
        there = stocked([record])
        there._exchanges = Exchanges(there.store, sends_only=True)
        answering = Answering(there, f"{OPEN}[send]\nAllowSend(P) :- Field(P,'App',_,'b').\n")
        answering.choices = ExchangeChoices(evaluation=few)
        result, _ = sync(answering, [known], given=probing)
        ends.append((result.cause, result.sent_hashes, result.loops, answering.results[0].error))
        assert ids(there.store) == {record.id}
    assert ends[0] == ends[1] == (Cause.FIXED_POINT, (), 1, None)


def test_both_laces_have_what_they_want_and_note_it() -> None:
    answering = Answering(stocked(notes("a", 3)))
    result, lace = sync(answering, notes("b", 2) + notes("c", 1, group="v"))
    assert result.cause is Cause.FIXED_POINT
    assert ids(lace.store) >= ids(answering.lace.store)
    assert len(ids(answering.lace.store)) == 5
    (entry,) = lace.history()
    assert (entry.left, entry.came, entry.address) == (2, 3, None)


def test_sections_for_a_peer_that_proves_itself_in_hello_narrow_what_was_presented() -> None:
    answering = Answering(stocked(notes("a", 3) + notes("b", 2)), OPEN + FOR_ALICE)
    result, lace = sync(answering, notes("c", 2) + notes("a", 5), sign=ALICE)
    assert result.complete
    # Apps b and c are not for Alice, in either direction.
    assert {app_of(lace, each) for each in result.received_hashes} <= {"a"}
    assert {app_of(lace, each) for each in result.sent_hashes} == {"a"}
    assert len(result.sent_hashes) == 2
    (entry,) = answering.lace.history()
    (agreement,) = answering.lace.exchange(entry.number).agreements
    texts = [section.text for section in agreement.in_force.sections]
    assert any("AllowSend(P) :- _own_SelectHave(P)." in text for text in texts)
    fresh = run_sync(interlacing(Lace(), answering, sign=ALICE))
    (sending,) = answering.lace.why_sent(fresh.received_hashes[0]).sendings
    assert (sending.worth, sending.proof is not None) == (Worth.AS_IT_WAS, True)


def app_of(lace: Lace, record: str) -> str:
    return next(fact[4] for fact in lace.facts(record) if fact[0] == "Field" and fact[2] == "App")


def test_the_same_sections_do_not_concern_others() -> None:
    answering = Answering(stocked(notes("a", 3) + notes("b", 2)), OPEN + FOR_ALICE)
    result, _ = sync(answering)
    assert len(result.received_hashes) == 5
    result, _ = sync(answering, sign=BOB)
    assert len(result.received_hashes) == 5


def test_what_is_presented_to_somebody_unknown_says_nothing_about_one_peer() -> None:
    end = Lace().exchanges.begin(parse_policy(OPEN + FOR_ALICE), Proven(None).link(), index=1)
    text = str(end.host.presented.module)
    assert "'App'" in text, "the field must be asked for"
    assert "'a'" not in text, "its value is nobody's business"


def test_a_policy_for_one_peer_alone_is_good_for_that_peer_and_nobody_else() -> None:
    answering = Answering(stocked(notes("a", 3)), ONLY_ALICE)
    result, _ = sync(answering, sign=ALICE)
    assert (result.complete, len(result.received_hashes)) == (True, 3)
    result, _ = sync(answering)
    assert (result.cause, result.received_hashes) == (Cause.PEER_CLOSED, ())
    assert refusal(answering.results[-1]) == "policy/no-selector"


def test_a_peer_that_the_transport_proves_gets_its_operand_from_the_beginning() -> None:
    users = Proven("unix:/x", uid=7), Proven("unix:/x", uid=7)
    link = users[1].link(verifiers={7: ALICE.verifier})
    end = Lace().exchanges.begin(parse_policy(OPEN + FOR_ALICE), link, index=1)
    assert "'App'" in str(end.host.presented.module)
    assert end.host.presented.late(ALICE.verifier) == ()


READS_CLAIMS = f"""\
[select for {ALICE.verifier}]
SelectHave(P) :- Have(P), not Advertised(P,_).
SelectAdvertised(P,S) :- Advertised(P,S).
"""


def test_a_late_section_that_reads_claims_is_refused_and_an_expected_one_is_not() -> None:
    answering = Answering(stocked(notes("a", 3)), OPEN + READS_CLAIMS)
    sync(answering, sign=ALICE)
    assert refusal(answering.results[-1]) == "exchange/late-section"
    lace = stocked(notes("b", 1))
    answering = Answering(stocked(notes("a", 3)), choices=ExchangeChoices(secret=ALICE))
    expecting = interlacing(lace, answering, OPEN + READS_CLAIMS, expected=ALICE.verifier)
    assert run_sync(expecting).complete


@pytest.mark.parametrize("secret", [BOB, None])
def test_somebody_else_than_expected_gets_nothing(secret: Any) -> None:
    answering = Answering(stocked(notes("a", 3)), choices=ExchangeChoices(secret=secret))
    result, lace = sync(answering, notes("b", 2), expected=ALICE.verifier)
    assert refusal(result) == "exchange/peer-not-proven"
    assert ("it proved nothing" if secret is None else BOB.verifier) in str(result.error)
    assert ids(answering.lace.store).isdisjoint(ids(lace.store))


def test_whoever_is_not_admitted_gets_nothing() -> None:
    asked: list[Verifier | None] = []

    class Keeper(Guard):
        def admit(self, peer: Verifier | None) -> None:
            asked.append(peer)
            raise LaceError(reason="not you")

    answering = Answering(stocked(notes("a", 3)), choices=ExchangeChoices(secret=BOB), guard=Keeper())
    result, _ = sync(answering, sign=ALICE)
    assert (asked, result.received_hashes) == ([ALICE.verifier], ())


def test_a_book_has_a_policy_for_each_peer() -> None:
    mine = parse_policy(OPEN.replace("'u'", "'v'"))
    records = notes("a", 3) + notes("b", 2, group="v")
    answering = Answering(stocked(records), PolicyBook(parse_policy(OPEN), {ALICE.verifier: mine}))
    everything = OPEN.replace(", Field(P,'Group',_,'u')", "").replace(
        ", AdvertisedField(P,S,'Group',_,'u')", ""
    )
    assert len(sync(answering, given=everything)[0].received_hashes) == 3
    assert len(sync(answering, given=everything, sign=ALICE)[0].received_hashes) == 2
    nobody_else = Answering(stocked(records), PolicyBook(None, {ALICE.verifier: mine}))
    assert sync(nobody_else, given=everything)[0].received_hashes == ()
    assert refusal(nobody_else.results[-1]) == "exchange/no-policy"
    assert len(sync(nobody_else, given=everything, sign=ALICE)[0].received_hashes) == 2


def test_who_dials_holds_what_is_read_until_somebody_reads_more_and_who_is_dialled_everything() -> None:
    def held(lace: Lace) -> set[str]:
        facts = lace.exchanges._snapshots.facts
        return {name for _, name, _, _ in facts.rows_of(Predicate("Field", 4), ids(lace.store), None)}

    answering = Answering(stocked(notes("a", 3)))
    result, lace = sync(answering)
    assert result.complete
    assert held(lace) == {"Group"}
    assert held(answering.lace) == {"App", "Data-Length", "Group", "Name", "TAI", "Type"}
    # The same process is dialled now, and dials again.
    dialled = Answering(lace)
    assert sync(dialled)[0].complete
    assert held(lace) == held(answering.lace)
    assert run_sync(interlacing(lace, answering)).complete
    assert held(lace) == held(answering.lace)


def test_what_an_evaluation_reads_later_it_reads_when_the_facts_are_its_own() -> None:
    shared_by_all, turns = Sharing(), []

    class Decided:
        may_send = may_request = have = frozenset({"P.x.H3"})

        def fields(self, records: Collection[str], schema: Schema) -> Mapping[str, Sequence[Claim]]:
            taking = Thread(target=shared_by_all.take)
            taking.start()
            while taking.is_alive() and not shared_by_all.wanted:
                pass
            turns.append(taking.is_alive())  # nobody else gets them now
            return {record: [("App", "0", "ding")] for record in records}

    shared = SharedEvaluation(Decided(), shared_by_all)
    assert shared.may_request == shared.may_send == {"P.x.H3"}
    # Last: whoever takes the facts here keeps them.
    assert shared.fields(["P.x.H3"], None) == {"P.x.H3": [("App", "0", "ding")]}
    assert ("P.x.H3" in shared.have, turns) == (True, [True])


def test_what_is_remembered_is_compared_when_the_facts_are_its_own() -> None:
    cursors: dict[str, Cursor] = {}
    end = Exchanges(MemoryStore(), cursors=cursors).begin(parse_policy(OPEN), Link(), index=0)
    host, taken = end.host, []

    class Decided:
        @property
        def may_send(self) -> frozenset[str]:
            taken.append(host._sharing._taken)
            return frozenset({"P.x.H3"})

    host._key, host.decision = "a link", Decided()  # type: ignore[assignment]
    for claims in ({"P.y.H3": ()}, {"P.x.H3": ()}):
        host.remember(Cursor("Opq_a", None, claims))
        assert list(cursors) == ["a link"] * ("P.y.H3" in claims)
    assert taken == [True, True]


def test_a_peers_rules_are_compiled_before_the_facts_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mebibyte of them takes seconds, in which everybody else evaluates."""
    answering = Answering(stocked(notes("a", 3)))
    compiled: list[bool] = []
    holding: set[int] = set()
    take, give = Sharing.take, Sharing.give

    def taking(shared: Sharing) -> None:
        take(shared)
        holding.add(get_ident())

    def giving(shared: Sharing) -> None:
        holding.discard(get_ident())
        give(shared)

    def compiling(*given: Any) -> Any:
        compiled.append(get_ident() in holding)
        return compile_program(*given)

    monkeypatch.setattr(Sharing, "take", taking)
    monkeypatch.setattr(Sharing, "give", giving)
    monkeypatch.setattr(lower, "compile_program", compiling)
    assert run_sync(interlacing(stocked(notes("b", 2)), answering)).complete
    assert compiled == [False] * 4, "two operands on either side"


def test_many_exchanges_share_the_facts_of_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each look at the clock is a chance for somebody else: as many changes of hands as there can be.
    monkeypatch.setattr(sharing, "SLICE_SECONDS", 0.0)
    answering = Answering(stocked(notes("a", 40)), OPEN + FOR_ALICE)
    laces = [stocked(notes(f"b{number}", 5)) for number in range(8)]

    async def all_at_once() -> list[InterlaceResult]:
        async def one(number: int) -> InterlaceResult:
            async with interlacing(laces[number], answering, sign=ALICE if number % 2 else None) as exchange:
                return await exchange.result()

        return await asyncio.gather(*map(one, range(8)))

    results = asyncio.run(all_at_once())
    assert all(result.complete for result in results)
    for number, result in enumerate(results):
        assert len(result.sent_hashes) == (0 if number % 2 else 5)
        assert len(result.received_hashes) >= 40
    assert len(ids(answering.lace.store)) == 60


def test_the_second_exchange_of_a_lace_hashes_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []

    def counting(digests: Sequence[bytes]) -> list[bytes]:
        hashed.append(len(digests))
        return make_entries(digests)

    monkeypatch.setattr("lace.interlace.claims.make_entries", counting)
    answering = Answering(stocked(notes("a", 3)))
    lace = stocked(notes("b", 2))
    counts = []
    for _ in range(3):
        hashed.clear()
        assert run_sync(interlacing(lace, answering)).complete
        counts.append(sum(hashed))
    assert counts[0] > 0
    assert counts[2] == 0


@pytest.mark.parametrize(
    ("ours", "theirs", "start"),
    [
        (ExchangeChoices(stays_open=True), ExchangeChoices(stays_open=True), 1),
        (ExchangeChoices(), ExchangeChoices(stays_open=True), 0),
        (ExchangeChoices(partition_start=2), ExchangeChoices(stays_open=True), 1),
        (ExchangeChoices(partition_start=None), ExchangeChoices(stays_open=True), 2),
        (ExchangeChoices(stays_open=True, partition_start=0), ExchangeChoices(stays_open=True), 0),
    ],
)
def test_an_exchange_that_stays_open_has_a_root_for_each_first_character(
    ours: ExchangeChoices, theirs: ExchangeChoices, start: int
) -> None:
    laces = stocked(notes("a", 2)), stocked(notes("b", 2))
    ends = [
        lace.exchanges.begin(parse_policy(OPEN), Link("unix:/nowhere"), index=index, choices=choices)
        for index, (lace, choices) in enumerate(zip(laces, (ours, theirs), strict=True))
    ]
    for end in ends:
        end.begin()
    join_ends(*ends)
    assert {end.side.machine.exchange.agreed.terms.partition_start for end in ends} == {start}
    assert [len([*lace.store.ids()]) for lace in laces] == [4, 4]


def test_an_open_exchange_goes_on_under_another_policy(tmp_path: Path) -> None:
    answering = Answering(
        stocked(notes("a", 2) + notes("b", 3, group="v")),
        OPEN.replace("'u'", "'v'"),
        ExchangeChoices(stays_open=True),
    )
    everything = OPEN.replace(", Field(P,'Group',_,'u')", "").replace(
        ", AdvertisedField(P,S,'Group',_,'u')", ""
    )
    (tmp_path / "all.policy").write_text(everything)

    async def run() -> list[int]:
        seen = []
        async with interlacing(Lace(), answering, stays_open=True) as exchange:
            async for observed in exchange:
                if type(observed).__name__ == "RoundEnded":
                    seen.append(exchange.progress().received)
                    exchange.change_policy(tmp_path / "all.policy") if len(seen) == 1 else exchange.finish()
        return seen

    assert asyncio.run(run()) == [0, 3]


def join_ends(left: ExchangeEnd, right: ExchangeEnd) -> None:
    """Pass bytes on until neither side has more to say."""
    moved = True
    while moved:
        moved = False
        for one, other in ((left, right), (right, left)):
            while data := one.data_to_send():
                other.receive_data(data)
                moved = True


def test_what_is_noted_is_the_policy_that_was_agreed_on_and_not_the_one_that_comes_next() -> None:
    near, far = stocked(notes("a", 2)), Lace()
    choices = ExchangeChoices(stays_open=True)
    first, second = parse_policy(OPEN, "first"), parse_policy(OPEN.replace("'u'", "'v'"), "second")
    left = near.exchanges.begin(first, Link("unix:/nowhere"), index=0, choices=choices)
    right = far.exchanges.begin(first, Link("unix:/nowhere"), index=1, choices=choices)
    left.begin()
    right.begin()
    left.change_policy(second)  # a server file is read again while somebody is at the door
    join_ends(left, right)
    (entry,) = near.history()
    agreements = near.exchange(entry.number).agreements
    assert [{str(each.name).partition("(")[2].partition(":")[0] for each in agreed.in_force.sections}
            for agreed in agreements] == [{"first"}, {"second"}]  # fmt: skip


def long_rules(size: int) -> bytes:
    """Return canonical rules of at least so many bytes, as a resource."""
    parts = b", ".join([b"Field(P,'%d',_,'x')" % n for n in range(size // 18)])
    text = LACEGRAM_TEXT.replace(b"Have(P).", b"Have(P), %b." % parts)
    return PREFACE + resource_bytes(make_resource("lacegram", text).id, text)


@pytest.mark.parametrize("size", [70_000, 30_000], ids=["one text", "texts together"])
def test_those_who_bring_much_to_read_are_read_one_after_the_other(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes hundreds of mebibytes while it is read, and its share of the time from everybody else."""
    lace = Lace()
    ends = [lace.exchanges.begin(parse_policy(OPEN), Link(), index=1) for _ in range(5)]
    for end in ends:
        end.begin()
    text = long_rules(size)
    first, last = text[:-2], text[-2:]
    if size < LONG_TEXT:
        last = text.removeprefix(PREFACE)
        first = text + 3 * last
    reading: list[ExchangeEnd] = []
    most = 0

    go_on = Event()

    def receive_data(end: ExchangeEnd, data: bytes) -> None:
        nonlocal most
        if end is not short:
            reading.append(end)
            most = max(most, len(reading))
            assert go_on.wait(60)
        receive(end, data)
        if end is not short:
            reading.remove(end)

    *longs, short = ends
    for end in longs:
        end.receive_data(first)
    receive = Wired.receive_data
    monkeypatch.setattr(Wired, "receive_data", receive_data)
    threads = [Thread(target=end.receive_data, args=(last,)) for end in longs]
    for thread in threads:
        thread.start()
    short.receive_data(PREFACE + resource_bytes(RULES.id, LACEGRAM_TEXT))
    threads[0].join(0.1)
    assert all(thread.is_alive() for thread in threads), "who brings little has not waited for them"
    go_on.set()
    for thread in threads:
        thread.join()
    assert most == 1
    assert not any(end.result for end in ends)
