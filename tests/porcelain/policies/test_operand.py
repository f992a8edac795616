"""What a policy is checked for is what is presented of it: at a limit both take it, above it neither."""

from __future__ import annotations

import pytest

from lace.datalog import Diagnostic
from lace.drive import Place, select_place
from lace.porcelain import NoOperand, PolicyBook, check_policy, parse_policy, present
from lace.text import Verifier
from tests.porcelain.policy_texts import ALICE, BOB, SELECT_ALL

ASKS = "[receive]\nAllowRequest(P,S) :- Advertised(P,S), AdvertisedField(P,S,'App',_,'notes').\n"
LINKED = "SelectHave(P) :- Have(P), K(P).\nSelectAdvertised(P,S) :- Advertised(P,S), SelectHave(P).\n"
WITHIN = "SelectHave(P) :- SelectAdvertised(P,'x').\nSelectAdvertised(P,'x') :- Have(P), K(P).\n"


def section(rules: int, name: str = "a", header: str = "[select]", first: str = SELECT_ALL) -> str:
    """Return a select section of so many rules, two of which may be given."""
    return f"{header}\n{first}" + "".join(f"K(P) :- Field(P,'{name}',_,'{n}').\n" for n in range(rules - 2))


def several(total: int) -> str:
    """Return three sections that make an operand of so many rules."""
    one = (total - 2) // 3
    return section(one, "a") + section(one, "b", "[select storage]") + section(total - 2 - 2 * one, "c")


def errors(text: str) -> list[Diagnostic]:
    return [each for each in check_policy(text)[1] if each.severity == "error"]


def presented(text: str, known: Verifier | None = None) -> int:
    return len(present(parse_policy(text), known).module.program.rules)


@pytest.mark.parametrize("total", [240, 255, 256])
def test_an_operand_of_up_to_256_rules_is_checked_and_presented(total: int) -> None:
    assert presented(several(total)) == total
    assert presented(several(total - 3) + ASKS) == total
    assert presented(section(total - 5) + ASKS) == total
    assert presented(section(total)) == total


@pytest.mark.parametrize("total", [257, 300])
def test_an_operand_of_more_rules_is_refused_by_the_check(total: int) -> None:
    for text in (several(total), several(total - 3) + ASKS):
        [found] = errors(text)
        assert found.code == "policy/composed"
        assert found.message.startswith("what would be presented to a peer that proves nothing is no operand")


def test_fields_that_are_asked_for_count_with_a_single_section_too() -> None:
    [found] = errors(section(252) + ASKS)
    assert (found.code, found.span.line) == ("policy/composed", 1)
    assert found.note == (
        "in it are [select] (policy:1) with 252 rules, what asks for the fields that other rules of ours read"
        " with 3 rules, and two that join them; say the same in fewer rules, or read those fields in a"
        " [select] section"
    )


def test_repeated_rules_and_repeated_sections_count_once() -> None:
    assert presented(section(256) + "K(P) :- Field(P,'a',_,'0').\n") == 256
    assert presented(section(200) + section(200, header="[select storage]")) == 200


def test_sections_for_different_peers_never_meet_in_an_operand() -> None:
    text = section(200, "a", f"[select for {ALICE}]") + section(200, "b", f"[select for {BOB}]")
    assert errors(text) == []
    assert presented(text, ALICE) == presented(text, BOB) == 200


def test_the_operand_for_somebody_who_is_named_is_made_too() -> None:
    text = section(100) + section(154, "b", f"[select for {ALICE}]")
    assert presented(text, ALICE) == 256
    [found] = errors(section(100) + section(155, "b", f"[select for {ALICE}]"))
    assert found.code == "policy/composed"
    assert ALICE in found.message
    assert found.span.line == 102


def test_fields_of_a_section_for_somebody_are_asked_for_from_everybody() -> None:
    fields = f"[select for {ALICE}]\n{SELECT_ALL}K(P,S) :- AdvertisedField(P,S,'App',_,'x').\n"
    assert presented(section(251) + fields) == 256
    assert [each.code for each in errors(section(252) + fields)] == ["policy/composed"]


def test_modules_of_our_own_that_are_made_of_a_selector_have_room_for_one_rule_more() -> None:
    for at_most, text in (
        (255, lambda n: section(n, first=LINKED, header=f"[select for {ALICE}]")),
        (255, lambda n: section(n, first=WITHIN) + "[expose selected]\n"),
        (256, lambda n: section(n) + "[expose selected]\n"),
    ):
        policy = parse_policy(text(at_most))
        present(policy).active(ALICE)
        assert [each.code for each in errors(text(at_most + 1))]


def test_what_no_stream_carries_is_refused_by_the_check() -> None:
    def reading(*names: str) -> str:
        atoms = "".join(f", AdvertisedField(P,S,'{name}',_,_)" for name in names)
        return f"[select]\nSelectHave(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S){atoms}.\n"

    longest = 1024 - len("HelloAdvertisedField('')")
    assert errors(reading("x" * longest)) == []
    assert [each.code for each in errors(reading("x" * (longest + 1)))] == ["policy/composed"]
    assert [each.code for each in errors(reading(*map(str, range(4100))))] == ["policy/composed"]


def test_a_field_without_a_name_is_not_every_field() -> None:
    policy = parse_policy(f"[select]\n{SELECT_ALL}{ASKS.replace(repr('App'), repr(''))}")
    assert "AdvertisedField(P,S,'',_,_)" in str(present(policy).module)


def test_policies_and_operations_that_make_no_operand_together_say_what_each_brings() -> None:
    policy = parse_policy(section(253))
    with pytest.raises(
        NoOperand, match=r"\[select\] \(policy:1\) with 253 rules, what is done besides with 2"
    ):
        present(policy, operation=select_place(Place("town")))

    def reading(name: str) -> str:
        return "".join(f"K(P) :- AdvertisedField(P,_,'{name}{n}',_,_).\n" for n in range(130))

    others = [parse_policy(f"[select]\n{SELECT_ALL}{reading(name)}") for name in "gh"]
    with pytest.raises(NoOperand, match="the fields that other rules of ours read with 262 rules"):
        present(PolicyBook(None, {ALICE: others[0], BOB: others[1]}))


def test_one_rule_that_reads_very_many_fields_is_refused_by_the_check() -> None:
    atoms = ", ".join(f"AdvertisedField(P,S,'f{n}',_,_)" for n in range(300))
    [found] = errors(f"[select]\n{SELECT_ALL}[receive]\nAllowRequest(P,S) :- {atoms}.\n")
    assert found.code == "policy/composed"
    assert "other rules of ours read with 302 rules" in found.note


def test_the_time_that_is_asked_for_counts_as_well() -> None:
    timed = "[send]\nAllowSend(P) :- Have(P), TickTAI(_).\n"
    assert presented(section(251) + timed) == 256
    [found] = errors(section(252) + timed)
    assert "what asks for the fields and the time that other rules of ours read with 3 rules" in found.note


@pytest.mark.parametrize("first", [ALICE, BOB])
def test_the_time_that_is_asked_for_counts_for_whom_a_section_that_reads_it_is_about(first: str) -> None:
    (second,) = {ALICE, BOB} - {first}
    expose = "[expose to {}]\nAllowQueryRecord(V,P) :- _Viewer(V), Have(P){}.\n"
    timed = expose.format(first, ", TickTAI(T), LexCompare(T,'<','1700000000:000000000')")
    text = section(252, header=f"[select for {ALICE} {BOB}]") + timed + expose.format(second, "")
    assert errors(text.replace("TickTAI", "StartTAI")) == []
    [found] = errors(text)
    assert found.code == "policy/composed"
    assert first in found.message
