"""Generated rules lead back to what somebody wrote."""

from __future__ import annotations

import pytest

from lace.datalog import name_rule
from lace.facts import Predicate
from lace.policy import Lowered, SourceMap, compose_selectors, make_plan, read_module, read_restriction
from lace.policy.provenance import tell_name
from tests.policy.sides import ALICE, ALL

OURS = read_module("SelectHave(P) :- In(P).\nIn(P) :- Have(P).\nSelectAdvertised(P,S) :- Advertised(P,S).")
THEIRS = read_module(ALL)
HELD = read_restriction("AllowSend(P) :- Have(P), TransportEncrypted().", "send")
LOWERED = Lowered(make_plan(OURS, THEIRS), 0, (HELD,))
SOURCES = SourceMap(LOWERED.flat_rules(ALICE))


@pytest.mark.req("030-099", "040-099", "040-100")
def test_every_scoped_rule_names_its_source_and_origin() -> None:
    facts = set(SOURCES.facts())
    for index, module in enumerate((OURS, THEIRS)):
        label = LOWERED.plan.operands[index].origin.label
        made = [each for each in LOWERED.flat_rules(ALICE) if each.subject == f"O{index}"]
        assert len(made) == len(module.program.rules)
        for each, source in zip(made, module.program.rules, strict=True):
            assert ("RuleSource", each.id, module.id, name_rule(source)) in facts
            assert ("RuleGeneratedBy", each.id, "040-operand-scope", f"O{index}") in facts
            assert ("RuleOrigin", each.id, label) in facts


@pytest.mark.req("040-101")
def test_each_step_of_040_has_its_name() -> None:
    named = {(fact[2], fact[3]) for fact in SOURCES.facts() if fact[0] == "RuleGeneratedBy"}
    assert {
        ("040-operand-scope", "O0"),
        ("040-operand-scope", "O1"),
        ("040-intersection", "SelectHave/1"),
        ("040-intersection", "SelectAdvertised/2"),
        ("040-lowering", "MaySend/1"),
        ("040-lowering", "MayRequest/1"),
        ("040-local-restriction", "AllowSend/1"),
        ("020-query-view", "Have/1"),
    } <= named
    assert {len(fact) for fact in SOURCES.facts()} == {3, 4}


def test_a_rule_that_nobody_wrote_has_no_author_but_reads_in_abstract_names() -> None:
    merged = next(each for each in LOWERED.generated if each.rule.head.name == "MergedSelectHave")
    found = SOURCES.author(merged.id)
    assert found is not None
    assert (found.module, str(found)) == (None, "MergedSelectHave(P) :- O0.SelectHave(P), O1.SelectHave(P).")
    assert SOURCES.author(name_rule(OURS.program.rules[0])) is None


def test_the_author_of_a_composed_rule_is_the_part_it_came_from() -> None:
    other = read_module(
        "SelectHave(P) :- In(P).\nIn(P) :- Field(P,'App',_,'a').\nSelectAdvertised(P,S) :- Advertised(P,S)."
    )
    composed = compose_selectors([OURS, other])
    lowered = Lowered(make_plan(composed.module, THEIRS), 0)
    sources = SourceMap(lowered.flat_rules(ALICE), composed.generated)
    found = [sources.author(each.id) for each in lowered.flat_rules(ALICE) if each.subject == "O0"]
    lines = {(each.module, each.line) for each in found if each is not None}
    assert (OURS.id, "In(P) :- Have(P).") in lines
    assert (other.id, "In(P) :- Field(P,'App',_,'a').") in lines
    met = next(each for each in found if each is not None and each.line.startswith("SelectHave(P) :- c0_"))
    assert met.module == composed.module.id, "the rule in which the parts meet was written by nobody else"


def test_names_are_told_as_040_writes_them() -> None:
    told = {
        ("o0_Member", 1): "O0.Member",
        ("o1_Have", 1): "Have",
        ("o1_Have", 2): "O1.Have",
        ("s0_AllowSend", 1): "S0.AllowSend",
        ("o0_s1_x", 1): "O0.s1_x",
        ("MaySend", 1): "MaySend",
        ("Field", 4): "Field",
    }
    assert {key: tell_name(Predicate(*key)) for key in told} == told
