"""What two policies say and do differently."""

from __future__ import annotations

from lace.engines import Database
from lace.facts import facts_of_record
from lace.porcelain import diff_policies, diff_records, parse_policy
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


def test_the_same_policy_in_other_words_does_not_differ() -> None:
    other = f"# why\n[expose to anyone]\n{EXPOSE_TOWN}\n[select]\n" + "\n".join(
        reversed(SELECT_TOWN.split("\n"))
    )
    assert diff_policies(parse_policy(TOWN), parse_policy(other)) == []


def test_rules_are_told_with_their_section() -> None:
    after = f"[select]\n{SELECT_ALL}[expose to anyone]\n{EXPOSE_TOWN}[send]\n{SEND}[expose union]\n"
    assert list(map(str, diff_policies(parse_policy(TOWN), parse_policy(after)))) == [
        "+ [expose union]",
        "- [select] SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'town').",
        "- [select] SelectHave(P) :- Have(P), Field(P,'Group',_,'town').",
        "+ [select] SelectAdvertised(P,S) :- Advertised(P,S).",
        "+ [select] SelectHave(P) :- Have(P).",
        "+ [send] AllowSend(P) :- Have(P), TransportEncrypted().",
    ]


def test_whom_a_section_is_for_is_a_difference() -> None:
    one = parse_policy(f"{TOWN}[trust {ALICE}]\n")
    two = parse_policy(f"{TOWN}[trust {ALICE} {BOB}]\n")
    assert list(map(str, diff_policies(one, two))) == [f"+ [trust {BOB}]"]
    proven = parse_policy(TOWN.replace("anyone", "proven peers"))
    assert [change.sign for change in diff_policies(parse_policy(TOWN), proven)] == ["-", "+"]


def test_a_rule_that_went_to_another_section_is_a_difference() -> None:
    """Rules of one section widen it, and sections narrow each other."""
    together = parse_policy(f"[select]\n{SELECT_TOWN}[expose to anyone]\n{EXPOSE_TOWN}{EXPOSE_NOTES}", "one")
    apart = parse_policy(
        f"[select]\n{SELECT_TOWN}[expose to anyone]\n{EXPOSE_TOWN}[expose to anyone]\n{EXPOSE_NOTES}", "two"
    )
    notes, town = EXPOSE_NOTES.strip(), EXPOSE_TOWN.strip()
    assert list(map(str, diff_policies(together, apart))) == [
        f"- [expose to anyone] (one:4) {notes}",
        f"- [expose to anyone] (one:4) {town}",
        f"+ [expose to anyone] (two:4) {town}",
        f"+ [expose to anyone] (two:6) {notes}",
    ]
    assert diff_policies(apart, apart) == diff_policies(together, together) == []
    # One more section narrows, one more rule would widen: the place tells them apart.
    assert list(map(str, diff_policies(parse_policy(TOWN), apart))) == [
        f"+ [expose to anyone] (two:6) {notes}"
    ]
    assert list(map(str, diff_policies(parse_policy(TOWN), together))) == [f"+ [expose to anyone] {notes}"]


def test_records_are_told_by_what_becomes_of_them() -> None:
    notes = {
        group: make_plex(group, "notes", "n", "1640995200:000000000", b"x") for group in ("town", "home", "x")
    }
    store = Database([fact for note in notes.values() for fact in facts_of_record(note)])
    home = TOWN.replace("'town'", "'home'")
    found = diff_records(store, parse_policy(TOWN), parse_policy(home))
    assert found.newly_selected == found.newly_sent == {notes["home"].id}
    assert found.no_longer_selected == found.newly_held == {notes["town"].id}
    hidden = diff_records(store, parse_policy(TOWN), parse_policy(TOWN.replace("anyone", ALICE)), peer=BOB)
    assert hidden.newly_held == {notes["town"].id}
    assert not hidden.newly_selected | hidden.no_longer_selected | hidden.newly_sent
