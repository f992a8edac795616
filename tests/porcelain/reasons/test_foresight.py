"""What an exchange would do is asked of a lace, with what is supposed about the peer."""

from __future__ import annotations

from typing import Any

import pytest

from lace.algebra import Budget, EvaluationLimits
from lace.engines import DatabaseVersion
from lace.facts import write_fact_line
from lace.porcelain import (
    ExchangeChoices,
    Lace,
    NoOperand,
    NoPolicyForPeer,
    PolicyBook,
    PolicyFile,
    UnknownOption,
    WrongArgument,
    diff_rehearsals,
    parse_policy,
)
from lace.porcelain.exchanges.peerpolicy import present
from lace.stores import StoreClosed
from tests.porcelain import talking
from tests.porcelain.policy_texts import ALICE, BOB, EXPOSE_TOWN, SELECT_ALL, SELECT_TOWN, SEND, TOWN

ALL = f"[select]\n{SELECT_ALL}[expose selected]\n"


@pytest.fixture
def lace() -> Lace:
    lace = Lace()
    lace.put(b"x", group="town", app="notes", name="first")
    lace.put(b"x", group="home", app="notes", name="first")
    return lace


def names(lace: Lace, records: Any) -> set[str]:
    return {f"{row.cells[0]}/{row.cells[1]}" for row in lace.ls(["Group", "Name"]) if row.id in records}


def test_a_preview_says_what_goes_and_what_holds_the_rest(lace: Lace) -> None:
    found = lace.preview(parse_policy(TOWN), peer=ALICE)
    assert names(lace, found.may_send) == {"town/first"}
    assert (found.viewer, found.stored, found.exposed) == (ALICE, 2, 1)
    [held] = found.held
    assert (held.by, held.where, names(lace, held.records)) == (
        "select",
        "[select] (policy:1)",
        {"home/first"},
    )


def test_what_may_be_asked_for_is_not_known_until_it_is_known_what_the_peer_advertises(lace: Lace) -> None:
    policy = parse_policy(TOWN)
    assert lace.preview(policy, peer=ALICE).may_request is None
    assert lace.preview(policy, peer=ALICE, advertised=[]).may_request == frozenset()
    record = "P." + "0" * 43 + ".H3"
    claims = [("Advertised", record, ALICE), ("AdvertisedField", record, ALICE, "Group", "0", "town")]
    assert lace.preview(policy, peer=ALICE, advertised=claims).may_request == {record}
    lines = map(write_fact_line, claims)
    assert lace.preview(policy, peer=ALICE, advertised=lines).may_request == {record}


def test_the_lace_of_the_peer_says_what_it_would_advertise(lace: Lace) -> None:
    there = Lace()
    new = there.put(b"y", group="town", app="notes", name="second")
    there.put(b"y", group="home", app="notes", name="second")
    assert lace.preview(parse_policy(TOWN), peer=ALICE, there=there).may_request == {new.id}
    assert lace.preview(
        parse_policy(ALL), peer=ALICE, there=there, theirs=parse_policy(TOWN)
    ).may_request == {new.id}


def test_rules_about_time_hold_on_both_sides(lace: Lace) -> None:
    timed = SELECT_ALL.replace("Have(P).", "Have(P), StartTAI(_), TickTAI(_), ClockSkewSeconds('0').")
    policy = parse_policy(f"[select]\n{timed}[expose selected]\n")
    there = Lace()
    new = there.put(b"y")
    found = lace.preview(policy, there=there, theirs=policy)
    assert len(found.may_send) == 2
    assert found.may_request == {new.id}
    assert lace.rehearse(policy, runtime=[("TickTAI", "1640995200:000000000")]).snapshot.runtime >= {
        ("TickTAI", "1640995200:000000000")
    }


def test_what_is_between_the_two_is_supposed(lace: Lace) -> None:
    policy = parse_policy(f"{TOWN}[send]\n{SEND}")
    assert not lace.preview(policy).may_send
    assert len(lace.preview(policy, encrypted=True).may_send) == 1
    assert len(lace.preview(policy, runtime=[("TransportEncrypted",)]).may_send) == 1


def test_a_book_gives_each_peer_its_own_policy(lace: Lace) -> None:
    book = PolicyBook(None, {ALICE: parse_policy(ALL), BOB: parse_policy(TOWN)})
    assert [len(lace.preview(book, peer=peer).may_send) for peer in (ALICE, BOB)] == [2, 1]
    with pytest.raises(NoPolicyForPeer):
        lace.preview(book)


GIVES_TOWN = "SelectHave(P) :- Field(P,'Group',_,'town').\nSelectAdvertised(P,S) :- Advertised(P,S).\n"
MEETINGS = {
    "we are told of by name": (ALL, f"{ALL}[select for {talking.ALICE.verifier}]\n{GIVES_TOWN}"),
    "the peer is told of by name": (f"{ALL}[select for {talking.BOB.verifier}]\n{GIVES_TOWN}", ALL),
    "a receive section reads a field": (
        ALL,
        f"{ALL}[receive]\nAllowRequest(P,S) :- AdvertisedField(P,S,'Group',_,'town').\n",
    ),
}


@pytest.mark.parametrize("policies", MEETINGS.values(), ids=MEETINGS)
def test_what_is_foreseen_is_what_an_exchange_then_does(lace: Lace, policies: tuple[str, str]) -> None:
    there, here, peer = Lace(), talking.ALICE, talking.BOB
    there.put(b"y", group="town", app="notes", name="second")
    there.put(b"y", group="home", app="notes", name="second")
    ours, theirs = map(parse_policy, policies)
    to = lace.preview(ours, theirs=theirs, there=there, here=here.verifier, peer=peer.verifier)
    back = there.preview(theirs, theirs=ours, there=lace, here=peer.verifier, peer=here.verifier)
    answering = talking.Answering(there, theirs, ExchangeChoices(secret=peer))
    result = lace.sync("unix:/nowhere", ours, over=answering.connect, sign=here)
    assert result.peer_verifier == peer.verifier
    assert set(result.received_hashes) == to.may_request
    assert set(result.sent_hashes) == back.may_request
    assert set(result.sent_hashes) <= to.may_send


def test_what_was_forgotten_is_not_said_to_be_asked_for(lace: Lace) -> None:
    there, policy = Lace(), parse_policy(ALL)
    gone, new = (there.put(data, group="town", app="notes", name="second") for data in (b"y", b"z"))
    lace.put_records([gone])
    lace.forget(gone.id)
    found = lace.preview(policy, there=there, theirs=policy)
    assert (found.may_request, found.kept_out) == ({new.id}, {gone.id})
    result = lace.sync("unix:/nowhere", policy, over=talking.Answering(there, policy).connect)
    assert set(result.received_hashes) == found.may_request
    lace.allow(gone.id)
    assert lace.preview(policy, there=there, theirs=policy).may_request == {gone.id}


WANTS_NOTHING = "SelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S), not Advertised(P,S).\n"


def test_what_our_own_selector_lets_nobody_ask_for_is_told(lace: Lace) -> None:
    """Whoever wants nothing of others writes a selector that gives them nothing either."""
    one_way, theirs = parse_policy(f"[select]\n{WANTS_NOTHING}[expose selected]\n"), parse_policy(ALL)
    there, answering = Lace(), talking.Answering(Lace(), theirs)
    found = lace.preview(one_way, theirs=theirs, there=there)
    assert (len(found.may_send), found.unasked) == (2, found.may_send)
    result = lace.sync("unix:/nowhere", one_way, over=answering.connect)
    assert (result.error, result.sent_hashes) == (None, ())
    assert not lace.preview(theirs).unasked
    town = SELECT_TOWN.replace(", Field(P,'Group',_,'town')", "")
    some = lace.preview(parse_policy(f"[select]\n{town}[expose selected]\n"))
    assert names(lace, some.unasked) == {"home/first"}


def test_who_is_known_only_later_may_ask_for_what_anybody_may(lace: Lace) -> None:
    peer = talking.BOB
    late = f"[select for {peer.verifier}]\n{WANTS_NOTHING}"
    book = PolicyBook(None, {peer.verifier: parse_policy(f"[select]\n{WANTS_NOTHING}[expose selected]\n")})
    for ours in (parse_policy(ALL + late), book):
        found = lace.preview(ours, peer=peer.verifier)
        assert (len(found.may_send), found.unasked) == (2, frozenset())
        answering = talking.Answering(Lace(), ALL, ExchangeChoices(secret=peer))
        assert len(lace.sync("unix:/nowhere", ours, over=answering.connect).sent_hashes) == 2


def test_more_than_a_limit_allows_is_not_looked_into(lace: Lace, monkeypatch: pytest.MonkeyPatch) -> None:
    rehearsal = lace.rehearse(parse_policy(f"[select]\n{WANTS_NOTHING}[expose selected]\n"))
    assert len(rehearsal.unasked()) == 2
    within, evaluate = Budget(EvaluationLimits(derived_total=1)), DatabaseVersion.evaluate
    monkeypatch.setattr(DatabaseVersion, "evaluate", lambda *given: evaluate(*given[:2], within, *given[3:]))
    assert rehearsal.unasked() == frozenset()


def test_a_peer_with_a_book_presents_what_is_for_all_of_them(lace: Lace) -> None:
    me, nothing = talking.ALICE, SELECT_ALL.replace("Advertised(P,S).", "Advertised(P,S), Have(P).")
    ours, theirs = parse_policy(ALL), parse_policy(f"[select]\n{nothing}[expose selected]\n")
    book = PolicyBook(None, {me.verifier: theirs})
    there = Lace()
    new = there.put(b"y", group="town", app="notes", name="second")
    foreseen = {"there": there, "here": me.verifier}
    assert lace.preview(ours, theirs=theirs, **foreseen).may_request == frozenset()
    found = lace.preview(ours, theirs=book, **foreseen)
    result = lace.sync("unix:/nowhere", ours, over=talking.Answering(there, book).connect, sign=me)
    assert (set(result.received_hashes), result.sent_hashes) == (found.may_request, ())
    assert found.may_request == {new.id}


def test_a_record_that_is_sent_has_a_reason(lace: Lace) -> None:
    policy = parse_policy(f"[select]\n{SELECT_TOWN}[expose to anyone]\n{EXPOSE_TOWN}")
    sent = lace.why_send("//town//notes//first", policy, peer=ALICE)
    assert sent.sent
    assert sent.proof is not None
    assert sent.proof.goal == ("MaySend", sent.record)
    assert [where for where, _ in sent.exposed_by] == ["[expose to anyone] (policy:4)"]
    held = lace.why_not_send("//home//notes//first", policy, peer=ALICE)
    assert (held.sent, held.exposed, held.held_by) == (False, False, ("select", "expose"))
    assert not lace.why_send("//home//notes//first", policy, peer=ALICE).sent
    assert lace.why_not_send("//town//notes//first", policy, peer=ALICE).sent


def test_the_same_exchange_is_looked_at_under_another_policy(lace: Lace) -> None:
    before = lace.rehearse(parse_policy(TOWN), peer=ALICE, encrypted=True)
    after = before.under(parse_policy(ALL))
    assert (after.peer, after.snapshot.runtime) == (ALICE, before.snapshot.runtime)
    assert names(lace, diff_rehearsals(before, after).newly_sent) == {"home/first"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"peer": "alice"}, "peer is a verifier V.….H3, such as secret.verifier, or None"),
        ({"here": 3}, "here is a verifier"),
        ({"runtime": "TransportEncrypted()"}, "runtime is a list of facts"),
        ({"advertised": "x"}, "advertised is a list of facts"),
        ({"advertised": [3]}, "fact is a tuple of texts"),
        ({"advertised": [()]}, "fact is a tuple of texts"),
        ({"encrypted": "no"}, "encrypted is True or False"),
        ({"runtime": [("Peer", ALICE)]}, "runtime is what is known besides peer= and here="),
        ({"there": "copy"}, "there is the Lace of the peer; Lace.open"),
        ({"session": object()}, "session is for what Lace.open_lake opened; one for a MemoryStore was given"),
    ],
)
def test_what_is_supposed_wrongly_is_refused(lace: Lace, given: dict[str, Any], words: str) -> None:
    with pytest.raises(WrongArgument) as caught:
        lace.preview(parse_policy(TOWN), **given)
    assert words in str(caught.value)


def test_an_option_that_nobody_knows_is_refused(lace: Lace) -> None:
    unknown: dict[str, Any] = {"adverts": []}
    with pytest.raises(UnknownOption, match="did you mean advertised"):
        lace.preview(parse_policy(TOWN), **unknown)
    ours: dict[str, Any]
    for ours in ({"now": "1640995200:000000000"}, {"sends_only": True}, {"store": lace.store}):
        with pytest.raises(UnknownOption):
            lace.preview(parse_policy(TOWN), **ours)


def test_a_closed_lace_has_nothing_to_look_at(lace: Lace) -> None:
    lace.close()
    with pytest.raises(StoreClosed):
        lace.preview(parse_policy(TOWN))


def test_a_book_too_long_for_strangers_can_be_looked_at_for_a_peer_of_its_own(lace: Lace) -> None:
    """All its policies together ask for more fields than one selector can; each of them does not."""

    def reading(letter: str) -> PolicyFile:
        fields = [f"AllowRequest(P,S) :- AdvertisedField(P,S,'{letter}{n}',_,_)." for n in range(150)]
        return parse_policy("\n".join(["[select]", SELECT_TOWN, "[expose selected]", "[receive]", *fields]))

    book = PolicyBook(None, {ALICE: reading("A"), BOB: reading("B")})
    with pytest.raises(NoOperand):
        present(book)
    assert names(lace, lace.preview(book, peer=ALICE).may_send)


def test_a_book_of_something_else_is_refused_in_words(lace: Lace) -> None:
    with pytest.raises(WrongArgument, match="policy is the path of a policy file"):
        lace.preview(PolicyBook({}))  # type: ignore[arg-type]
