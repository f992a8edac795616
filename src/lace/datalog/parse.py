"""Source lines to rules: one line, one rule (030, Syntax).

Rules of this file:
1. Every line is read, whatever was wrong with those before it: all diagnostics of a program come at once.
2. Nothing is read behind the rule that is one too many, so that no text takes longer than it may be valid.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lace.datalog.diagnostics import Report
from lace.datalog.limits import FIXED
from lace.datalog.rule_reader import GiveUp, RuleReader
from lace.datalog.rules import Rule
from lace.datalog.source import Line
from lace.datalog.tokens import tokenize


@dataclass(frozen=True, slots=True)
class Parsed:
    """The rules that could be read."""

    rules: tuple[Rule, ...]
    """Each once, in the order of the text."""
    texts: tuple[str, ...]
    """Their canonical lines."""
    repeats: tuple[Rule, ...]
    """Those that were there already."""
    broken: frozenset[int]
    """Lines with a mistake in them; some of them have a rule all the same."""
    lost: bool
    """Whether there are lines of which no rule was made."""


def parse_rules(lines: Iterable[Line], report: Report) -> Parsed:
    """Read each line that is not blank as a rule, and report whatever is wrong with any of them."""
    rules: dict[str, Rule] = {}
    repeats = []
    broken = set()
    lost = False
    for line in lines:
        tokens = tokenize(line)
        if len(tokens) == 1:
            continue
        reader = RuleReader(line.number, tokens, report)
        try:
            rule = reader.rule()
        except GiveUp:
            lost = True
        else:
            if rules.setdefault(str(rule), rule) is not rule:
                repeats.append(rule)
        if reader.mistaken:
            broken.add(line.number)
        if len(rules) > FIXED.rules:
            # PROFILE 10: "256 rules are counted after repeats are dropped". What follows is not read.
            report.add("L-601", rule.span, seen=len(rules), bound=FIXED.rules)
            lost = True
            break
    return Parsed(tuple(rules.values()), tuple(rules), tuple(repeats), frozenset(broken), lost)
