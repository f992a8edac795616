"""Whatever is wrong with a policy file is said, all at once, each under its own code and at its place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lace.datalog import Diagnostic
from lace.porcelain import PolicyRefused, WrongArgument, check_policy, parse_policy, read_policy
from lace.stores import FileRefused
from tests.porcelain.policy_texts import ALICE, EXPOSE_TOWN, SELECT_ALL, SELECT_TOWN, SEND, TOWN


def faults(text: str | bytes) -> list[tuple[str, int, int]]:
    """Return the errors of a text: code, line and column."""
    _, found = check_policy(text)
    return [(each.code, each.span.line, each.span.start + 1) for each in found if each.severity == "error"]


def marked(found: Diagnostic) -> str:
    return found.excerpt[found.span.start : found.span.end]


@pytest.mark.parametrize(
    ("rules", "code", "line", "column"),
    [
        ("SelectHave(P) :- Have(P).\n", "policy/missing-export", 1, 1),
        ("SelectAdvertised(P,S) :- Advertised(P,S).\n", "policy/missing-export", 1, 1),
        (SELECT_ALL + "MaySend(P) :- Have(P).\n", "policy/reserved-name", 4, 1),
        (SELECT_ALL + "MayRequest(P) :- Have(P).\n", "policy/reserved-name", 4, 1),
        (SELECT_ALL + "CanQueryRecord(V,P) :- Have(P), Have(V).\n", "policy/reserved-name", 4, 1),
        (SELECT_ALL + "AllowQueryRecord(V,P) :- Have(P), Have(V).\n", "policy/reserved-name", 4, 1),
        (SELECT_ALL + "Mine(P) :- Have(P), CanQueryRecord('x',P).\n", "policy/reserved-name", 4, 21),
        (SELECT_ALL + "o0_Mine(P) :- Have(P).\n", "policy/generated-name", 4, 1),
        (SELECT_ALL + "Mine(P) :- Have(P), o1_Member(P).\n", "policy/foreign-helper", 4, 21),
        (SELECT_ALL + "Mine(P) :- Have(P), not o0_Member(P).\n", "policy/foreign-helper", 4, 25),
    ],
)
@pytest.mark.req("040-106", "040-107", "040-109")
def test_what_040_rejects_in_a_selector_has_its_own_code(
    rules: str, code: str, line: int, column: int
) -> None:
    assert faults(f"[select]\n{rules}") == [(code, line, column)]


def test_a_place_is_also_told_in_bytes_from_the_start() -> None:
    text = f"# wörter\n{TOWN}[send]\nAllowSend(P) :- Have(P), MaySend(P).\n"
    _, found = check_policy(text)
    [place] = [each.span for each in found if each.code == "policy/reserved-name"]
    assert text.encode()[place.offset :] == b"MaySend(P).\n"


@pytest.mark.parametrize("text", [SELECT_ALL, TOWN, "SelectHave(P) :- Have(P).", "a\nb"])
def test_a_text_in_the_place_of_a_path_is_called_so(text: str) -> None:
    with pytest.raises(WrongArgument, match="the text of one"):
        read_policy(text)


def test_a_path_that_leads_nowhere_says_so() -> None:
    with pytest.raises(FileRefused, match="No such file"):
        read_policy("nowhere.policy")


def test_rules_without_a_section_are_flat_rules() -> None:
    assert faults(SELECT_ALL) == [("policy/flat-rules", 1, 1)]
    assert faults(f"# why\n{SELECT_ALL}{TOWN}") == [("policy/flat-rules", 2, 1)]


@pytest.mark.parametrize(
    ("rules", "code", "line"),
    [
        ("AllowQueryRecord(V,P) :- _Viewer(V), Advertised(P,_).\n", "policy/unreadable-facts", 5),
        ("SelectHave(P) :- Have(P).\n", "policy/reserved-name", 5),
        ("_Viewer(V) :- Have(V).\n", "L-401", 5),
        ("AllowQueryRecord(V,P) :- Have(P).\n", "L-301", 5),
    ],
)
def test_what_an_expose_section_may_not_say(rules: str, code: str, line: int) -> None:
    text = f"[select]\n{SELECT_ALL}[expose to anyone]\n{rules}"
    assert [each[:2] for each in faults(text)] == [(code, line)]


@pytest.mark.parametrize(
    ("section", "code", "line", "column"),
    [
        ("[send]\nAllowSend(P) :- Have(P), Advertised(P,_).\n", "policy/unreadable-facts", 7, 26),
        ("[send]\n# why\nAllowSend(P) :- Have(P), MaySend(P).\n", "policy/reserved-name", 8, 26),
        ("[send]\nAllowSend(P) :- Have(P).\nGo(P) :- MaySend(P).\n", "policy/reserved-name", 8, 10),
        ("[send]\nGo(P) :- Have(P).\n", "policy/missing-export", 6, 1),
        ("[receive]\nAllowRequest(P) :- Have(P).\n", "policy/missing-export", 6, 1),
        ("[receive]\n", "policy/missing-export", 6, 1),
        ("[send]\nHave(P) :- Have(P).\n", "L-401", 7, 1),
        ("[send]\nPeer(P) :- Have(P).\n", "L-401", 7, 1),
        ("[send]\nAllowSend(P) :- Have(Q).\n", "L-301", 7, 11),
    ],
)
def test_what_a_restriction_may_not_say(section: str, code: str, line: int, column: int) -> None:
    assert faults(TOWN + section) == [(code, line, column)]


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("[selct]", "policy/header"),
        ("[select", "policy/header"),
        ("[]", "policy/header"),
        ("[select] x", "policy/header"),
        ("[select for]", "policy/header"),
        ("[select nobody]", "policy/header"),
        ("[expose]", "policy/header"),
        ("[expose to]", "policy/header"),
        ("[trust]", "policy/header"),
        ("[send now]", "policy/header"),
        ("[expose to bob]", "policy/peer"),
        ("[expose to Opq_x]", "policy/peer"),
        (f"[expose to {ALICE[:-1]}]", "policy/peer"),
        (f"[expose to {ALICE} anyone]", "policy/peer"),
        ("[select for bob]", "policy/peer"),
        ("[trust anyone]", "policy/peer"),
        ("[send]\r", "policy/header"),
    ],
)
def test_a_header_that_is_none_is_said_with_its_place(header: str, code: str) -> None:
    policy, [found] = check_policy(f"{TOWN}{header}\n")
    assert policy is None
    assert (found.code, found.span.line) == (code, 6)
    assert marked(found) in header
    assert marked(found)


@pytest.mark.parametrize("header", ["[expose selected]", "[expose union]", f"[trust {ALICE}]"])
def test_a_section_that_has_no_rules_takes_none(header: str) -> None:
    assert faults(f"{TOWN}{header}\n# fine\nA() :- true.\n") == [("policy/no-rules", 8, 1)]


def test_a_policy_selects_something() -> None:
    assert faults(f"[expose to anyone]\n{EXPOSE_TOWN}") == [("policy/no-selector", 0, 1)]
    assert faults("") == [("policy/no-selector", 0, 1)]


def test_what_depends_on_claims_is_not_exposed_as_selected() -> None:
    claims = "SelectHave(P) :- Have(P), Advertised(P,_).\nSelectAdvertised(P,S) :- Advertised(P,S).\n"
    assert faults(f"[select]\n{claims}[expose selected]\n") == [("policy/expose-selected", 4, 1)]
    behind = f"[select]\n{claims}[expose to anyone]\n{EXPOSE_TOWN}[expose selected]\n"
    assert faults(behind) == [("policy/expose-selected", 6, 1)]


def test_sections_that_are_no_operand_together_are_refused() -> None:
    def many(name: str) -> str:
        return "".join(f"{name}{n}() :- true.\n" for n in range(200))

    text = f"[select]\n{SELECT_ALL}{many('A')}[select storage]\n{SELECT_TOWN}{many('B')}"
    assert faults(text) == [("policy/composed", 204, 1)]


def test_there_are_not_too_many_sections() -> None:
    assert faults(f"[select]\n{SELECT_ALL}" + "[expose selected]\n" * 63) == []
    assert faults(f"[select]\n{SELECT_ALL}" + "[expose selected]\n" * 80) == [("policy/sections", 67, 1)]


def test_everything_is_said_at_once_in_the_order_of_the_text() -> None:
    text = (
        "Flat() :- true.\n[select]\nSelectHave(P) :- Have(P), o1_X(P).\n"
        "[bla]\n[send]\nAllowSend(P) :- Have(Q).\n"
    )
    assert faults(text) == [
        ("policy/flat-rules", 1, 1),
        ("policy/missing-export", 2, 1),
        ("policy/foreign-helper", 3, 27),
        ("policy/header", 4, 1),
        ("L-301", 6, 11),
    ]
    with pytest.raises(PolicyRefused) as caught:
        parse_policy(text, "town.policy")
    assert str(caught.value).startswith("town.policy: 5 errors")
    assert "  --> town.policy:3:27" in caught.value.details()
    assert len(caught.value.to_json()["diagnostics"]) == len(caught.value.diagnostics)


def test_a_diagnostic_stands_where_an_editor_finds_it() -> None:
    text = f"# größer 𝄞\n[select]\n{SELECT_ALL}Ä(P) :- Have(P).\n"
    [found] = [each for each in check_policy(text)[1] if each.severity == "error"]
    assert found.to_json()["range"]["start"]["line"] == 4
    assert text.encode()[found.span.offset :].startswith("Ä".encode())
    [header] = check_policy("# 𝄞\n[expose to 𝄞 x]\n")[1][:1]
    assert header.to_json()["range"] == {
        "start": {"line": 1, "character": 11},
        "end": {"line": 1, "character": 13},
    }


@pytest.mark.parametrize(
    ("line", "code"), [(b"\xff", "L-101"), ("A() :- true. # e\u0301".encode(), "L-102"), (b"#\r", "L-103")]
)
@pytest.mark.parametrize("at", [0, 2])
def test_what_is_no_text_is_told_as_in_rules(line: bytes, code: str, at: int) -> None:
    lines = TOWN.encode().split(b"\n")
    lines[at : at + 1] = [b"# " + line, lines[at]]
    assert code in [each[0] for each in faults(b"\n".join(lines))]


def test_a_file_that_is_no_text_is_not_told_to_be_rules() -> None:
    assert faults(b"\xff\xfe[select]\n") == [("L-101", 1, 1)]
    assert faults(b"# why\nSelect\xff\n" + TOWN.encode()) == [("L-101", 2, 7)]
    _, [found] = check_policy(b"\xef\xbb\xbf" + TOWN.encode())
    assert (found.code, found.span.line, found.span.start) == ("L-109", 1, 0)


@pytest.mark.parametrize("header", ["[expose to bob]", "[select for bob]", "[select storage for bob]"])
def test_a_peer_that_is_none_hides_nothing_that_is_wrong_below(header: str) -> None:
    found = faults(
        f"{TOWN}{header}\n{SELECT_ALL}{EXPOSE_TOWN}MaySend(P) :- Have(P).\n[trust bob]\nX(P) :- Have(P).\n"
    )
    assert ("policy/peer", 6, header.index("bob") + 1) in found
    assert ("policy/reserved-name", 10, 1) in found
    assert found[-2:] == [("policy/peer", 11, 8), ("policy/no-rules", 12, 1)]


def test_a_viewer_that_is_no_verifier_is_warned_about() -> None:
    rules = [
        "AllowQueryRecord('Opq_x',P) :- Have(P).",
        f"AllowQueryRecord('{ALICE}',P) :- Have(P).",
        "  AllowQueryRecord(V,P) :- Have(P), _Viewer( 'bob' ), _Viewer(V).",
    ]
    policy, found = check_policy(f"[select]\n{SELECT_ALL}[expose to anyone]\n# why\n" + "\n".join(rules))
    assert policy is not None
    assert [(each.code, each.severity, each.span.line, marked(each)) for each in found] == [
        ("policy/viewer", "warning", 6, "'Opq_x'"),
        ("policy/viewer", "warning", 8, "'bob'"),
    ]


def test_a_section_that_comes_too_late_for_whom_it_is_for_is_warned_about() -> None:
    late = "SelectHave(P) :- Have(P), Claimed().\nClaimed() :- Advertised(_,_).\n"
    late += "SelectAdvertised(P,S) :- Advertised(P,S).\n"
    policy, found = check_policy(f"{TOWN}[select for {ALICE}]\n{late}")
    assert policy is not None
    assert [(each.code, each.severity, each.span.line) for each in found] == [
        ("exchange/late-section", "warning", 6)
    ]
    assert f"[select for {ALICE}]" in found[0].message
    assert check_policy(f"{TOWN}[select]\n{late}")[1] == [], "everybody is presented this one"
    assert check_policy(f"{TOWN}[select for {ALICE}]\n{SELECT_ALL}")[1] == [], "it narrows here"


def test_warnings_refuse_nothing() -> None:
    policy, found = check_policy(f"[select]\n{SELECT_ALL}Unused(P) :- Have(P).\n")
    assert policy is not None
    assert [each.code for each in found] == ["L-903", "policy/nothing-exposed"]
    assert {each.severity for each in found} == {"warning"}
    assert check_policy(TOWN)[1] == []
    assert check_policy(f"[select]\n{SELECT_ALL}[trust {ALICE}]\n")[1] == []


@given(st.binary(max_size=200) | st.text(max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_a_policy_or_refused(text: bytes | str) -> None:
    policy, found = check_policy(text)
    assert (policy is None) == any(each.severity == "error" for each in found)
    assert all(each.render("x") and each.to_json() for each in found)


PIECES = st.sampled_from(
    ["[select]", "[", "]", "[send]", SELECT_ALL, SEND, EXPOSE_TOWN, "#", "#:json {}", "\r", "\n", "é", "A()"]
)


@given(st.lists(PIECES, max_size=12).map("\n".join))
@settings(max_examples=100, deadline=None)
def test_any_pieces_are_a_policy_or_refused(text: str) -> None:
    policy, found = check_policy(text)
    assert (policy is None) == any(each.severity == "error" for each in found)
    assert all(each.render("x") and each.to_json() for each in found)


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ("".join(f"A{n}() :- true.\n" for n in range(256)), "L-601"),
        (f"A({','.join('P' * 9)}) :- Have(P).\n", "L-602"),
        (f"A() :- Have('{'x' * 1025}').\n", "L-603"),
    ],
)
def test_an_operand_that_breaks_a_limit_is_refused_before_it_runs(rules: str, code: str) -> None:
    assert code in [each[0] for each in faults(f"[select]\n{SELECT_ALL}{rules}")]
