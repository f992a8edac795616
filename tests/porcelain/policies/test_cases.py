"""Files of cases: records with what is expected of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lace.porcelain import PolicyRefused, cases_beside, parse_cases, read_cases
from tests.porcelain.policy_texts import ALICE, BOB

CASES = f"""\
# Everybody knows Alice.
have alice: Group 'town', App 'members', Name '{ALICE}', Signed-By '{BOB}'
given TransportEncrypted()

[peer anonymous]
send note: Group 'town', Tag 'a', Tag 'it\\'s', +Link 'reply alice'
hold draft by select: App 'drafts', TAI '2024-05-01', Data 'secret'

[peer {ALICE} policy their own.policy]
ask news: Group 'town'
leave spam
"""


def test_cases_are_read_scene_by_scene() -> None:
    first, second = parse_cases(CASES)
    assert (first.peer, first.policy, first.given) == (None, None, (("TransportEncrypted",),))
    assert (second.peer, second.policy) == (ALICE, "their own.policy")
    assert [(c.verb, c.name, c.by) for c in first.cases] == [
        ("have", "alice", None),
        ("send", "note", None),
        ("hold", "draft", "select"),
    ]
    assert [c.name for c in second.cases] == ["alice", "news", "spam"]


def test_a_case_has_the_facts_of_a_record() -> None:
    alice, note, draft = parse_cases(CASES)[0].cases
    assert ("Have", note.record) in note.facts
    assert ("Field", note.record, "Tag", "1", "it's") in note.facts
    assert ("RecordLink", note.record, "+Link", "0", "reply", alice.record) in note.facts
    assert ("Field", alice.record, "Signed-By", "0", BOB) in alice.facts
    assert ("Field", alice.record, "Type", "0", "S") in alice.facts
    assert ("Field", draft.record, "Data-Length", "0", "6") in draft.facts
    assert ("Field", draft.record, "TAI", "0", "1714521637:000000000") in draft.facts


def test_later_lines_are_later_in_time() -> None:
    [scene] = parse_cases("[peer anonymous]\nsend a:\nsend b:\n")
    times = [fact[4] for case in scene.cases for fact in case.facts if fact[2:3] == ("TAI",)]
    assert times == sorted(set(times))


def test_the_same_record_of_two_signers_is_two_records() -> None:
    [scene] = parse_cases(
        f"[peer anonymous]\nsend a: Name 'n', TAI '2024-05-01', Data 'd', Signed-By '{ALICE}'\n"
        f"send b: Name 'n', TAI '2024-05-01', Data 'd', Signed-By '{BOB}'\n"
    )
    assert len({case.record for case in scene.cases}) == 2


def test_what_a_peer_advertises_is_not_here() -> None:
    scene = parse_cases(CASES)[1]
    news = scene.cases[1]
    assert not any(fact[1] == news.record for fact in scene.facts)
    assert ("Advertised", news.record, "S") in scene.advertised("S")
    assert ("AdvertisedField", news.record, "S", "Group", "0", "town") in scene.advertised("S")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("sent note:", "no case"),
        ("send", "no case"),
        ("send note: Group town", "no field at 'Group town'"),
        ("send note: Group 'town' App 'x'", "no field"),
        ("send note: Group 'town\\n'", ""),
        ("send note by select:", "`by` stands after hold and leave"),
        ("hold note by me:", "is one of select, expose, peer, send, receive"),
        ("given Have('x')", "Have is no runtime fact"),
        ("given Peer", ""),
        ("[peer bob]", "no peer"),
        ("[peer]", "no peer"),
        ("send one: Group 'a'\nsend one: Group 'b'", "there is a record one already"),
        ("send note: Group ''", ""),
        ("send note: TAI 'yesterdayish'", ""),
        ("send note: Type 'B'", ""),
    ],
)
def test_a_line_that_is_no_case_is_told(line: str, said: str) -> None:
    with pytest.raises(PolicyRefused) as caught:
        parse_cases(f"[peer anonymous]\n{line}\n", "town.cases")
    found = caught.value.diagnostics[0]
    assert (found.code, found.span.line) == ("policy/case", 2 + line.count("\n"))
    assert said in found.message


def test_expectations_are_about_a_peer() -> None:
    with pytest.raises(PolicyRefused, match="1 error") as caught:
        parse_cases("send note:\n[peer anonymous]\nsend other:\n")
    assert "send is about a peer" in caught.value.diagnostics[0].message


@pytest.mark.parametrize("text", ["", "# nothing\n", "[peer anonymous]\nhave a:\n", "have a:\n"])
def test_a_file_that_expects_nothing_is_refused(text: str) -> None:
    with pytest.raises(PolicyRefused):
        parse_cases(text)


def test_all_that_is_wrong_comes_at_once() -> None:
    with pytest.raises(PolicyRefused) as caught:
        parse_cases(b"[peer anonymous]\nx\nsend a:\ny\n" + b"\xff\n")
    assert [each.span.line for each in caught.value.diagnostics] == [2, 4, 5]


def test_cases_lie_beside_their_policy(tmp_path: Path) -> None:
    path = cases_beside(tmp_path / "town.policy")
    path.write_text(CASES)
    assert read_cases(path) == parse_cases(CASES)


@given(st.text(alphabet="[]peranonymous sendhol:by'\\,G\n#é", max_size=80) | st.binary(max_size=60))
@settings(max_examples=100, deadline=None)
def test_any_text_is_cases_or_refused(text: str | bytes) -> None:
    try:
        found: list[object] = [case for scene in parse_cases(text) for case in scene.cases]
    except PolicyRefused as error:
        found = list(error.details())
    assert found
