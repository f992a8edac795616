"""A rehearsal says what an exchange would do, and which section holds what back."""

from __future__ import annotations

import pytest

from lace.engines import Database
from lace.facts import Fact, facts_of_record
from lace.policy import NOTHING_EXPOSED
from lace.porcelain import Lace, Rehearsal, ResidentFacts, parse_policy
from lace.record import make_plex
from tests.porcelain.policy_texts import (
    ALICE,
    BOB,
    EXPOSE_NOTES,
    EXPOSE_TOWN,
    SELECT_ALL,
    SELECT_TOWN,
    SEND,
    TOWN,
)


def plex(group: str, app: str) -> tuple[str, list[Fact]]:
    record = make_plex(group, app, "n", "1640995200:000000000", b"x")
    return record.id, facts_of_record(record)


TOWN_NOTE, TOWN_FACTS = plex("town", "notes")
TOWN_OTHER, OTHER_FACTS = plex("town", "other")
HOME_NOTE, HOME_FACTS = plex("home", "notes")
ALL = {TOWN_NOTE, TOWN_OTHER, HOME_NOTE}
STORE = Database(TOWN_FACTS + OTHER_FACTS + HOME_FACTS)
NOT_NOTES = "AllowSend(P) :- Have(P), not Field(P,'App',_,'notes').\n"


def held(rehearsal: Rehearsal) -> dict[str, set[str]]:
    return {each.where: set(each.records) for each in rehearsal.preview().held}


def test_a_preview_says_what_goes_and_what_stays() -> None:
    found = Rehearsal(STORE, parse_policy(TOWN), peer=ALICE).preview()
    assert found.may_send == {TOWN_NOTE, TOWN_OTHER}
    assert (found.viewer, found.words, found.stored, found.exposed) == (ALICE, None, 3, 2)
    assert [(each.by, each.where, set(each.records)) for each in found.held] == [
        ("select", "[select] (policy:1)", {HOME_NOTE})
    ]


@pytest.mark.req("040-026")
def test_where_nothing_is_exposed_it_says_so_in_words() -> None:
    rehearsal = Rehearsal(STORE, parse_policy(f"[select]\n{SELECT_ALL}"))
    found = rehearsal.preview()
    assert (found.may_send, found.words, found.exposed) == (frozenset(), NOTHING_EXPOSED, 0)
    assert held(rehearsal) == {NOTHING_EXPOSED: ALL}


def test_what_the_peer_names_goes_although_it_is_hidden_and_is_not_told_as_held() -> None:
    naming = f"SelectHave('{HOME_NOTE}') :- true.\nSelectHave('{TOWN_OTHER}') :- true.\n{SELECT_TOWN}"
    theirs = parse_policy(f"[select]\n{naming}")
    ours = f"[select]\n{SELECT_ALL}[expose to anyone]\n{EXPOSE_NOTES}[send]\n"
    rehearsal = Rehearsal(STORE, parse_policy(f"{ours}AllowSend(P) :- Have(P).\n"), theirs=theirs)
    assert rehearsal.preview().may_send == ALL
    assert rehearsal.preview().exposed == 2
    assert held(rehearsal) == {}
    rehearsal = Rehearsal(
        STORE, parse_policy(f"{ours}AllowSend(P) :- Field(P,'App',_,'notes').\n"), theirs=theirs
    )
    assert held(rehearsal) == {"[send] (policy:6)": {TOWN_OTHER}}


def test_a_record_that_is_not_here_is_not_exposed() -> None:
    linked = "AllowQueryRecord(V,Q) :- _Viewer(V), BlobHash(_,Q).\n"
    policy = parse_policy(f"[select]\n{SELECT_ALL}[expose union]\n[expose to anyone]\n{EXPOSE_TOWN}{linked}")
    found = Rehearsal(STORE, policy).preview()
    assert (found.exposed, found.stored) == (2, 3), "blobs inside of records are no records of their own"


def test_a_record_that_is_not_here_is_not_sent() -> None:
    inner = "SelectHave(Q) :- BlobHash(_,Q).\n"
    policy = parse_policy(f"[select]\n{SELECT_ALL}{inner}[expose selected]\n")
    rehearsal = Rehearsal(STORE, policy, theirs=policy)
    assert len(rehearsal.decision.may_send) > len(ALL), "both sides name the blobs inside"
    found = rehearsal.preview()
    assert (found.stored, found.exposed, found.selected, found.may_send) == (3, 3, ALL, ALL)
    with Lace() as lace:
        note = lace.put(b"x", group="town", app="notes", name="n")
        told = Rehearsal(ResidentFacts(lace.store).database, policy, theirs=policy).advertise(lace.store)
        assert {fact[1] for fact in told} == {note.id}


def test_an_anonymous_peer_is_seen_by_its_label() -> None:
    text = f"[select]\n{SELECT_ALL}[expose to proven peers]\n{EXPOSE_TOWN}"
    assert Rehearsal(STORE, parse_policy(text)).preview().words == NOTHING_EXPOSED
    assert Rehearsal(STORE, parse_policy(text)).viewer.startswith("Opq_")
    assert len(Rehearsal(STORE, parse_policy(text), peer=BOB).preview().may_send) == 2


def test_each_select_section_answers_for_what_it_leaves_out() -> None:
    notes = SELECT_TOWN.replace("'Group'", "'App'").replace("'town'", "'notes'")
    rehearsal = Rehearsal(
        STORE, parse_policy(f"[select]\n{SELECT_TOWN}[select storage]\n{notes}[expose selected]\n")
    )
    assert rehearsal.preview().may_send == {TOWN_NOTE}
    assert held(rehearsal) == {
        "[select] (policy:1)": {HOME_NOTE},
        "[select storage] (policy:4)": {TOWN_OTHER},
    }


def test_each_expose_section_answers_for_what_it_hides() -> None:
    text = f"[select]\n{SELECT_ALL}[expose to anyone]\n{EXPOSE_TOWN}[expose to {ALICE}]\n{EXPOSE_NOTES}"
    assert held(Rehearsal(STORE, parse_policy(text), peer=ALICE)) == {
        "[expose to anyone] (policy:4)": {HOME_NOTE},
        f"[expose to {ALICE}] (policy:6)": {TOWN_OTHER},
    }
    assert held(Rehearsal(STORE, parse_policy(text), peer=BOB)) == {
        "[expose to anyone] (policy:4)": {HOME_NOTE}
    }
    union = Rehearsal(STORE, parse_policy(text + "[expose union]\n"), peer=ALICE)
    assert union.preview().may_send == ALL


def test_an_expose_section_beside_expose_selected_answers_for_itself() -> None:
    text = f"[select]\n{SELECT_TOWN}[expose selected]\n[expose to anyone]\n{EXPOSE_NOTES}"
    rehearsal = Rehearsal(STORE, parse_policy(text))
    assert rehearsal.preview().may_send == {TOWN_NOTE}
    assert held(rehearsal)["[expose to anyone] (policy:5)"] == {TOWN_OTHER}


def test_a_union_that_hides_something_names_all_its_sections() -> None:
    text = f"[select]\n{SELECT_ALL}[expose union]\n[expose to anyone]\n{EXPOSE_TOWN}"
    where = "none of [expose to anyone] (policy:5)"
    assert held(Rehearsal(STORE, parse_policy(text))) == {where: {HOME_NOTE}}


def test_each_restriction_answers_for_what_it_holds() -> None:
    text = f"{TOWN}[send]\n{NOT_NOTES}[send]\n{SEND}"
    assert held(Rehearsal(STORE, parse_policy(text), runtime=[("TransportEncrypted",)])) == {
        "[select] (policy:1)": {HOME_NOTE},
        "[send] (policy:6)": {TOWN_NOTE},
    }
    assert held(Rehearsal(STORE, parse_policy(text)))["[send] (policy:8)"] == {TOWN_NOTE, TOWN_OTHER}


def test_what_the_peer_does_not_want_is_told_apart() -> None:
    theirs = parse_policy("[select]\n" + SELECT_ALL.replace("Have(P).", "Field(P,'App',_,'notes')."))
    rehearsal = Rehearsal(STORE, parse_policy(TOWN), theirs=theirs)
    assert rehearsal.preview().may_send == {TOWN_NOTE}
    assert held(rehearsal)["the peer's selector"] == {TOWN_OTHER}


def test_a_trusted_peer_sees_everything() -> None:
    rehearsal = Rehearsal(STORE, parse_policy(f"[select]\n{SELECT_ALL}[trust {ALICE}]\n"), peer=ALICE)
    assert rehearsal.preview().may_send == ALL
    assert rehearsal.preview().exposed == 3
    assert rehearsal.why_send(HOME_NOTE) is not None


def test_what_is_here_is_not_asked_for() -> None:
    policy = parse_policy(TOWN)
    source = Rehearsal(STORE, policy).source
    claims: list[Fact] = []
    for record in (TOWN_NOTE, "P.new", "P.other"):
        group = "town" if record != "P.other" else "home"
        claims += [("Advertised", record, source), ("AdvertisedField", record, source, "Group", "0", group)]
    rehearsal = Rehearsal(STORE, policy, advertised=claims)
    assert rehearsal.preview().may_request == {"P.new"}
    assert rehearsal.why_request("P.new") is not None
    assert rehearsal.held_by(rehearsal.why_not_request("P.other")) == ["select"]


def test_two_rehearsals_of_one_exchange_agree() -> None:
    with Lace() as lace:
        record = lace.put(b"x", group="town", app="notes", name="n")
        theirs = Rehearsal(
            Database(lace.facts(record.id)),
            parse_policy(TOWN),
            peer=ALICE,
            theirs=parse_policy(TOWN),
            here=BOB,
            side=1,
        )
        claims = theirs.advertise(lace.store)
    assert claims == [
        ("Advertised", record.id, BOB),
        ("AdvertisedField", record.id, BOB, "Group", "0", "town"),
    ]
    ours = Rehearsal(
        STORE, parse_policy(TOWN), peer=BOB, theirs=parse_policy(TOWN), here=ALICE, advertised=claims
    )
    assert ours.plan.id == theirs.plan.id
    assert ours.preview().may_request == {record.id}


def test_the_reasons_are_those_of_the_parts_of_a_composed_operand() -> None:
    notes = SELECT_TOWN.replace("'Group'", "'App'").replace("'town'", "'notes'")
    rehearsal = Rehearsal(
        STORE, parse_policy(f"[select]\n{SELECT_TOWN}[select storage]\n{notes}[expose selected]\n")
    )
    proof = rehearsal.why_send(TOWN_NOTE)
    assert proof is not None
    lines = str(proof.to_json())
    assert "SelectHave(P) :- Have(P), Field(P,'Group',_,'town')." in lines
    assert "SelectHave(P) :- Have(P), Field(P,'App',_,'notes')." in lines
    assert rehearsal.why_send(TOWN_OTHER) is None
    assert rehearsal.held_by(rehearsal.why_not_send(TOWN_OTHER)) == ["select", "expose"]


def test_why_a_record_is_exposed_is_told_by_section() -> None:
    text = f"[select]\n{SELECT_ALL}[expose to anyone]\n{EXPOSE_TOWN}[expose to {ALICE}]\n{EXPOSE_NOTES}"
    told = Rehearsal(STORE, parse_policy(text), peer=ALICE).why_exposed(TOWN_NOTE)
    assert [str(section.header) for section, _ in told] == ["[expose to anyone]", f"[expose to {ALICE}]"]
    assert [proof and proof.goal for _, proof in told] == [("AllowQueryRecord", ALICE, TOWN_NOTE)] * 2


def test_what_one_section_shows_and_another_hides_is_shown_by_neither() -> None:
    theirs = parse_policy(f"[select]\nSelectHave('{HOME_NOTE}') :- true.\n{SELECT_TOWN}")
    hiding = f"[select]\n{SELECT_ALL}[expose to anyone]\n{EXPOSE_TOWN}[expose to anyone]\n{EXPOSE_NOTES}"
    for more in ("", "[expose selected]\n"):
        rehearsal = Rehearsal(STORE, parse_policy(hiding + more), theirs=theirs)
        assert rehearsal.why_send(HOME_NOTE) is not None, "the peer names it"
        assert rehearsal.why_exposed(HOME_NOTE) == []
        assert len(rehearsal.why_exposed(TOWN_NOTE)) == 2 + bool(more)
    widened = Rehearsal(STORE, parse_policy(hiding + "[expose union]\n"), theirs=theirs)
    assert [section.line for section, _ in widened.why_exposed(HOME_NOTE)] == [6]


@pytest.mark.parametrize("word", ["[expose selected]", f"[trust {ALICE}]"])
def test_a_word_that_exposes_a_record_stands_for_a_proof(word: str) -> None:
    text = f"[select]\n{SELECT_ALL}[expose to {BOB}]\n{EXPOSE_NOTES}{word}\n"
    [(section, proof)] = Rehearsal(STORE, parse_policy(text), peer=ALICE).why_exposed(TOWN_OTHER)
    assert str(section.header) == word
    assert proof is None


def test_why_a_record_is_not_exposed_is_told_by_section() -> None:
    text = f"[select]\n{SELECT_ALL}[expose to anyone]\n{EXPOSE_TOWN}[expose to {ALICE}]\n{EXPOSE_NOTES}"
    rehearsal = Rehearsal(STORE, parse_policy(text), peer=ALICE)
    [(section, answer)] = rehearsal.why_not_exposed(TOWN_OTHER)
    assert str(section.header) == f"[expose to {ALICE}]"
    assert answer.fact == ("AllowQueryRecord", ALICE, TOWN_OTHER)
    assert rehearsal.why_not_exposed(TOWN_NOTE) == []
