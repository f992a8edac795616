"""Canonical text: one printer, one order, one identifier (030, Canonical lacegrams; PROFILE section 7).

A rule line is what its nodes print (rules.py). A lacegram is its rule lines sorted bytewise, exact repeats
dropped, joined by LF, with no LF at the end.
"""

from __future__ import annotations

from collections.abc import Iterable

from lace.datalog.rules import Rule
from lace.text import RuleId, rule_id


def write_rule(rule: Rule) -> str:
    """Write a rule as its canonical line."""
    return str(rule)


def name_rule(rule: Rule) -> RuleId:
    """Return the U. id of a rule."""
    return rule_id(write_rule(rule).encode())


def in_canonical_order(rules: Iterable[Rule]) -> dict[str, Rule]:
    """Sort rules by their lines and drop repeats; the first of equal rules stays."""
    lines: dict[str, Rule] = {}
    for rule in rules:
        lines.setdefault(write_rule(rule), rule)
    # Code points sort like their UTF-8 bytes.
    return {line: lines[line] for line in sorted(lines)}


def write_lacegram(rules: Iterable[Rule]) -> str:
    """Write rules as canonical text.

    >>> from lace.datalog.rules import Atom, Truth
    >>> write_lacegram([Rule(Atom("B", ()), (Truth(),)), Rule(Atom("A", ()), (Truth(),))])
    'A() :- true.\\nB() :- true.'
    """
    return "\n".join(in_canonical_order(rules))
