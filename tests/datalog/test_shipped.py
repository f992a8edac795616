"""The lacegrams that come with lace, in policies, examples, documents and code, are written as 030 asks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lace.datalog import Atom, Cardinality, Negated, Rule, Var, parse_program

ROOT = Path(__file__).parents[2]
SHIPPED = [
    *sorted((ROOT / "src").rglob("*.policy")),
    *sorted((ROOT / "src").rglob("*.py")),
    *sorted((ROOT / "examples").glob("*.sh")),
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "README.md",
]
ABSENT = re.compile(
    r"""^\W*([A-Z]\w*\([^"…\n]*\) :- [^"…\n]*(?:not [A-Z_]\w*\(|Cardinality\()[^"…\n]*?\))\.""", re.M
)
"""A rule in a line that says something about what is not there, or how much is."""


def rules() -> list[Rule]:
    texts = [found[1] for path in SHIPPED for found in ABSENT.finditer(path.read_text(encoding="utf-8"))]
    return [parse_program(f"{text}.").rules[0] for text in dict.fromkeys(texts)]


def is_bounded(rule: Rule) -> bool:
    """Tell whether what is negated or counted is about things that the rule has named before."""
    named: set[Var] = set()
    for part in rule.body:
        if isinstance(part, Atom):
            named |= _variables(part)
        elif isinstance(part, Negated | Cardinality):
            about = _variables(part)
            # What is counted may have variables of its own.
            if not (about and named >= about if isinstance(part, Negated) else named & about):
                return False
    return True


def _variables(part: Atom | Negated | Cardinality) -> set[Var]:
    return {term for term in part.terms if isinstance(term, Var)}


@pytest.mark.req("030-052")
def test_shipped_rules_name_their_universe_before_they_say_what_is_not_in_it() -> None:
    found = rules()
    assert len(found) >= 8
    assert [str(rule) for rule in found if not is_bounded(rule)] == []


def test_a_rule_without_a_universe_is_noticed() -> None:
    for text, bounded in (
        ("Open(P) :- Have(P), not Reply(_,P).", True),
        ("Open(P) :- not Reply(_,P), Have(P).", False),
        ("Calm('yes') :- not Alarm(_).", False),
        ("Few(P) :- Have(P), Cardinality(Link(P,Q),'<','3').", True),
        ("Few('yes') :- Cardinality(Link(_,_),'<','3').", False),
    ):
        assert is_bounded(parse_program(text).rules[0]) == bounded
