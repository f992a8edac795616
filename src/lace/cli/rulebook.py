"""Rules that grow line by line, with the comments that stand before them.

Rules of this file:
1. What does not check changes nothing.
2. Rules are numbered as explanations, plans and profiles number them: by their canonical order, from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from lace.datalog import NOWHERE, Diagnostic, check_annotated, make_program, parse_program
from lace.errors import InputError
from lace.porcelain import Block, RuleFile, cut_blocks, join_blocks, refuse_rules

INPUT = "input"
_LINE = re.compile(r"\(line ([0-9]+)\)")
_FIRST = re.compile(r"first in line ([0-9]+)")


class NoSuchRule(InputError):
    """A number that no rule has."""

    code = "repl/no-rule"
    text = "there is no rule {given}; `.rules` lists them with their numbers"


class Added(NamedTuple):
    """A rule that is there now."""

    line: str
    number: int
    new: bool
    warnings: list[Diagnostic]


class RuleBook:
    """Rules in the order in which they came, and the program that they are."""

    def __init__(self) -> None:
        self.program = make_program(())
        self._rules: dict[str, tuple[str, ...]] = {}
        """Rule lines, each with the comments and annotations before it."""
        self._pending: list[str] = []
        """Comments and annotations that wait for their rule."""

    def comment(self, line: str, number: int) -> None:
        """Keep a comment or annotation for the next rule."""
        found = [d for d in check_annotated(f"{line}\nA() :- true.") if d.severity == "error"]
        if found:
            raise refuse_rules(INPUT, [self.placed(d, 1, number) for d in found])
        self._pending.append(line)

    def add(self, line: str, number: int) -> Added:
        """Add a rule that was typed in the line of this number."""
        known = self.program.lines
        found = check_annotated("\n".join([*known, line]))
        before = sum(len(each.encode()) + 1 for each in known)
        # What there is to warn of in the other rules was told before.
        new = [d for d in found if d.severity == "error" or not 0 < d.span.line <= len(known)]
        told = [self.placed(d, len(known) + 1, number, before) for d in new]
        if any(d.severity == "error" for d in told):
            raise refuse_rules(INPUT, told)
        [written] = parse_program(line).lines
        self._take([Block(tuple(self._pending), written)])
        self._pending.clear()
        return Added(written, self.program.lines.index(written), written not in known, told)

    def load(self, file: RuleFile) -> int:
        """Add the rules of a file; return how many it has."""
        program = file.program()
        together = check_annotated("\n".join([*self._rules, *program.lines]))
        if any(d.severity == "error" for d in together):
            raise refuse_rules(f"{file.name} with the rules that are here", together)
        blocks = list(cut_blocks(file.raw.decode()))
        self._take(block for block in blocks if block.rule)
        self._pending += [line for block in blocks if not block.rule for line in block.before if line]
        return len(program.rules)

    def drop(self, numbers: Iterable[str]) -> list[str]:
        """Drop rules by number; return their lines."""
        lines = self.program.lines
        gone: list[str] = []
        for each in numbers:
            if not (each.isascii() and each.isdigit() and int(each) < len(lines)):
                raise NoSuchRule(given=each)
            if (line := lines[int(each)]) not in gone:
                gone.append(line)
        self._use({rule: before for rule, before in self._rules.items() if rule not in gone})
        return gone

    def written(self) -> bytes:
        """Return the rules as a file, or raise what keeps them from being one."""
        blocks = [Block(before, rule) for rule, before in self._rules.items()]
        text = join_blocks([*blocks, Block(tuple(self._pending), "")])
        return RuleFile(INPUT, text.encode()).formatted()

    def placed(self, diagnostic: Diagnostic, last: int, number: int, before: int = 0) -> Diagnostic:
        """Say where something is: in the line that was typed, or in a rule that was there before.

        The other rules are so many bytes `before` the line; nobody has typed them in front of it.
        """

        def rule_of(found: re.Match[str]) -> str:
            return "(this rule)" if int(found[1]) == last else f"(rule {int(found[1]) - 1})"

        # Rules are told by their lines, in a cycle or where one is there twice, but nobody has seen these as
        # lines of one text.
        message = _LINE.sub(rule_of, diagnostic.message)
        message = _FIRST.sub(lambda found: f"first as rule {int(found[1]) - 1}", message)
        diagnostic = replace(diagnostic, message=message)
        at = diagnostic.span.line
        if at == last:
            offset = diagnostic.span.offset - before
            return replace(diagnostic, span=diagnostic.span._replace(line=number, offset=offset))
        if not at:
            return diagnostic
        rule = f"rule {at - 1}: {self.program.lines[at - 1]}"
        return replace(diagnostic, span=NOWHERE, utf16=(0, 0), message=f"{diagnostic.message}, in {rule}")

    def _take(self, blocks: Iterable[Block]) -> None:
        rules = dict(self._rules)
        for before, rule in blocks:
            rules[rule] = rules.get(rule, ()) + before
        self._use(rules)

    def _use(self, rules: dict[str, tuple[str, ...]]) -> None:
        self.program = parse_program("\n".join(rules))
        self._rules = rules
