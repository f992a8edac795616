"""A policy file becomes operands, expose modules and restrictions, and can be written again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lace.policy import Compose, Kind, NothingToPresent, read_module
from lace.porcelain import PolicyFile, PolicyFileTooBig, parse_policy, read_policy, write_policy
from tests.porcelain.policy_texts import (
    ALICE,
    BOB,
    EXPOSE_NOTES,
    EXPOSE_TOWN,
    RECEIVE,
    SELECT_ALL,
    SELECT_TOWN,
    SEND,
    TOWN,
)

WELL_WRITTEN = f"""\
# The notes of the town.

# Whatever the clerk wrote.
[select]
SelectHave(P) :- Have(P), Field(P,'Group',_,'town').

# What others claim.
#:json {{"label":"claims"}}
SelectAdvertised(P,S) :- Advertised(P,S).

[expose to proven peers]
{EXPOSE_TOWN}# the end of the section

[send]
{SEND}
[trust {ALICE}]
"""


def test_a_well_written_policy_is_written_as_it_was() -> None:
    assert write_policy(parse_policy(WELL_WRITTEN)) == WELL_WRITTEN


def test_comments_stay_where_they_belong() -> None:
    policy = parse_policy(WELL_WRITTEN)
    assert policy.preamble == ("# The notes of the town.",)
    assert policy.sections[0].before == ("# Whatever the clerk wrote.",)
    assert policy.sections[0].blocks[1].before == ("", "# What others claim.", '#:json {"label":"claims"}')
    assert policy.sections[1].blocks[-1] == (("# the end of the section",), "")


def test_a_loosely_written_policy_is_the_same_policy() -> None:
    loose = WELL_WRITTEN.replace(":- Have(P), Field", " :-   Have( P ) ,Field").replace("\n\n", "\n\n\n")
    assert parse_policy(loose.replace("[send]", "  [ send ]  ")) == parse_policy(WELL_WRITTEN)


HEADERS = st.sampled_from(
    [
        ("[select]", SELECT_ALL),
        ("[select storage]", SELECT_TOWN),
        (f"[select for {ALICE} {BOB}]", SELECT_TOWN),
        (f"[select temporary for {BOB}]", SELECT_ALL),
        ("[expose to anyone]", EXPOSE_TOWN),
        ("[expose to proven peers]", EXPOSE_NOTES),
        (f"[expose to {BOB} {ALICE}]", EXPOSE_TOWN + EXPOSE_NOTES),
        ("[expose selected]", ""),
        ("[expose union]", ""),
        ("[send]", SEND),
        ("[receive]", RECEIVE),
        (f"[trust {ALICE}]", ""),
    ]
)
GAPS = st.lists(st.sampled_from(["", "# why", "  ", "#", "# [not a section]"]), max_size=3).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)
SECTIONS = st.tuples(GAPS, HEADERS, GAPS).map(
    lambda parts: f"{parts[0]}{parts[1][0]}\n{parts[2]}{parts[1][1]}"
)


@given(st.lists(SECTIONS, max_size=6), GAPS)
@settings(max_examples=60, deadline=None)
def test_parse_and_write_undo_each_other(sections: list[str], end: str) -> None:
    policy = parse_policy("".join(sections) + f"[select]\n{SELECT_ALL}" + end)
    written = write_policy(policy)
    assert parse_policy(written) == policy
    assert write_policy(parse_policy(written)) == written


@pytest.mark.req("040-020")
@pytest.mark.parametrize(
    ("header", "kind", "peers"),
    [
        ("[select]", Kind.APPLICATION, None),
        ("[select application]", Kind.APPLICATION, None),
        ("[select storage]", Kind.STORAGE, None),
        ("[select temporary]", Kind.TEMPORARY, None),
        (f"[select for {ALICE}]", Kind.PEER, {ALICE}),
        (f"[select storage for {ALICE} {BOB}]", Kind.STORAGE, {ALICE, BOB}),
    ],
)
def test_a_select_section_is_a_constraint(header: str, kind: Kind, peers: set[str] | None) -> None:
    [constraint] = parse_policy(f"{header}\n{SELECT_ALL}").active().constraints
    assert (constraint.kind, constraint.peers) == (kind, peers)


def test_select_sections_meet_in_one_operand() -> None:
    policy = parse_policy(f"[select storage]\n{SELECT_ALL}[select for {ALICE}]\n{SELECT_TOWN}")
    assert policy.operand().module == read_module(SELECT_ALL)
    composed = str(policy.operand(ALICE).module)
    assert "c0_SelectHave(P), c1_SelectHave(P)" in composed
    assert "'town'" in composed


def test_whoever_no_select_section_is_for_gets_no_operand() -> None:
    with pytest.raises(NothingToPresent):
        parse_policy(f"[select for {ALICE}]\n{SELECT_ALL}").operand(BOB)


@pytest.mark.req("040-018")
@pytest.mark.parametrize(
    ("scope", "alice", "bob", "label"),
    [("anyone", 1, 1, 1), ("proven peers", 1, 1, 0), (ALICE, 1, 0, 0), (f"{ALICE} {BOB}", 1, 1, 0)],
)
def test_an_expose_section_is_for_whom_it_names(scope: str, alice: int, bob: int, label: int) -> None:
    exposure = parse_policy(f"[select]\n{SELECT_ALL}[expose to {scope}]\n{EXPOSE_TOWN}").active().exposure
    assert [len(exposure.in_scope(each)) for each in (ALICE, BOB, "Opq_x")] == [alice, bob, label]


@pytest.mark.req("040-029")
def test_sections_narrow_each_other_unless_a_union_is_asked_for() -> None:
    text = f"[select]\n{SELECT_ALL}[expose to anyone]\n{EXPOSE_TOWN}[expose to anyone]\n{EXPOSE_NOTES}"
    assert parse_policy(text).active().exposure.compose is Compose.INTERSECTION
    assert parse_policy(text + "[expose union]\n").active().exposure.compose is Compose.UNION


def test_what_is_selected_is_exposed_where_it_is_said() -> None:
    text = f"[select]\n{SELECT_TOWN}"
    assert parse_policy(text).active().exposure.modules == ()
    [module] = parse_policy(text + "[expose selected]\n").active().exposure.modules
    assert module.viewers is None
    assert "AllowQueryRecord(V,P) :- _Viewer(V), _own_SelectHave(P)." in str(module.program)


def test_trust_is_named() -> None:
    policy = parse_policy(f"{TOWN}[trust {ALICE}]\n")
    assert policy.active().exposure.is_trusted(ALICE)
    assert not policy.active().exposure.is_trusted(BOB)


def test_restrictions_are_local_conjuncts_in_their_order() -> None:
    policy = parse_policy(f"{TOWN}[receive]\n{RECEIVE}[send]\n{SEND}")
    assert [(each.gate, str(each.program)) for each in policy.active().restrictions] == [
        ("send", SEND.rstrip()),
        ("request", RECEIVE.rstrip()),
    ]


def test_a_file_is_read_under_its_name(tmp_path: Path) -> None:
    path = tmp_path / "town.policy"
    path.write_text(TOWN)
    policy = read_policy(path)
    assert policy == parse_policy(TOWN)
    assert policy.place(policy.sections[1]) == f"[expose to anyone] ({path}:4)"


def test_a_file_that_is_too_long_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "long.policy"
    path.write_text("#" * (1 << 20) + "\n")
    with pytest.raises(PolicyFileTooBig) as caught:
        read_policy(path)
    assert caught.value.fields["bound"] == 1 << 20


def test_a_policy_without_rules_in_it_is_made_by_hand() -> None:
    assert write_policy(PolicyFile(())) == ""
