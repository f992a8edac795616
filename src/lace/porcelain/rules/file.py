"""Rules in a file: a lacegram, or annotated source (030; PROFILE sections 7 and 10).

Rules of this file:
1. A file is read once, as bytes, and nothing in it is repaired.
2. A plain lacegram is annotated source without annotations: both are read the same way.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from lace.datalog import (
    AnnotatedProgram,
    Diagnostic,
    InvalidLacegram,
    Program,
    Question,
    check_annotated,
    parse_annotated,
    parse_canonical,
    parse_question,
)
from lace.errors import InputError, LacegramError, LimitExceeded
from lace.facts import Fact, Predicate
from lace.porcelain.files import new_file
from lace.porcelain.rules.layout import arrange, is_plain
from lace.stores import file_faults

RULE_FILE_BYTES: Final = 16 * 1024 * 1024  # 256 rules of 64 KiB each
STDIN: Final = "-"

SHOWN: Final = 3
"""How many diagnostics stand in the text of an error; `diagnostics` has all."""
BRIEF_CHARS: Final = 300

_PREDICATE = re.compile(r"(_?[A-Za-z][A-Za-z0-9_~-]*)/([0-9]{1,3})")


class Diagnosed:
    """What an error has that carries everything that was found in one text."""

    code: ClassVar[str]
    text: ClassVar[str]
    fields: dict[str, Any]

    @property
    def sentence(self) -> str:
        """How many were found, and where."""
        return self.text.format_map(self.fields)

    def __str__(self) -> str:
        lines = self.brief()
        more = [f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
        return "\n  ".join([self.sentence, *lines[:SHOWN], *more])

    def brief(self) -> list[str]:
        """Return a line for each diagnostic, errors first."""
        found = []
        for each in sorted(self.diagnostics, key=lambda each: each.severity != "error"):
            place = f"line {each.span.line}: " if each.span.line else ""
            found.append(f"{place}{each.message} [{each.code}]; {each.note}"[:BRIEF_CHARS])
        return found

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything that was found, in the order of the text."""
        found: tuple[Diagnostic, ...] = self.fields["diagnostics"]
        return found

    def details(self) -> list[str]:
        """Return the diagnostics for people."""
        return render_diagnostics(self.diagnostics, self.fields["where"])

    def to_json(self) -> dict[str, Any]:
        """Return the error as a program reads it."""
        return {
            "code": self.code,
            "error": self.sentence,
            "where": self.fields["where"],
            "diagnostics": [each.to_json() for each in self.diagnostics],
        }


class RulesRefused(Diagnosed, LacegramError):
    """Rules with errors; `diagnostics` holds every one of them."""

    code = "rules/refused"
    text = "{where}: {summary}"


class RuleFileTooBig(LimitExceeded):
    """A file that is longer than any program needs to be."""

    code = "rules/too-big"
    text = "{where} has more than {bound} bytes: that is no lacegram"


class NotAPredicate(InputError):
    """Text that does not name a predicate."""

    code = "rules/predicate"
    text = "{given!r} is no predicate: write its name and how many terms it has, such as Selected/1"


class NotAFact(InputError):
    """A question where a single fact is wanted."""

    code = "rules/not-a-fact"
    text = "{given} is no fact: write one atom with every value in quotes, such as Selected('…')"


@dataclass(frozen=True, slots=True)
class RuleFile:
    """The text of some rules, and what it is called."""

    name: str
    raw: bytes

    def check(
        self,
        facet: str = "datalog",
        *,
        supplied: Iterable[Predicate] | None = None,
        outputs: Iterable[Predicate] | None = None,
        canonical: bool = False,
    ) -> list[Diagnostic]:
        """Return all errors and warnings; `canonical` reads it as text that a peer sent.

        More is known the more is given: the predicates that facts will be supplied for, and those that will
        be read.
        """
        if canonical:
            try:
                parse_canonical(self.raw, facet, supplied)
            except InvalidLacegram as error:
                return list(error.diagnostics)
        return check_annotated(self.raw, facet, extra_base=supplied, outputs=outputs)

    def read(self, facet: str = "datalog") -> AnnotatedProgram:
        """Return the program with its annotations, or raise RulesRefused."""
        try:
            return parse_annotated(self.raw, facet)
        except InvalidLacegram as error:
            raise refuse_rules(self.name, error.diagnostics) from None

    def program(self, facet: str = "datalog") -> Program:
        """Return the program, or raise RulesRefused."""
        return self.read(facet).program

    def formatted(self) -> bytes:
        """Return the text as it is best written: canonical, or with its comments and annotations in place."""
        program = self.program()
        text = self.raw.decode()
        return program.raw if is_plain(text) else arrange(text).encode()


def read_rules(path: str | Path) -> RuleFile:
    """Read a file of rules; `-` is what comes in on stdin."""
    if str(path) == STDIN:
        return RuleFile("stdin", _bounded(sys.stdin.buffer.read(RULE_FILE_BYTES + 1), "stdin"))
    with file_faults(Path(path)), open(path, "rb") as file:
        raw = file.read(RULE_FILE_BYTES + 1)
    return RuleFile(str(path), _bounded(raw, str(path)))


def _bounded(raw: bytes, where: str) -> bytes:
    if len(raw) > RULE_FILE_BYTES:
        raise RuleFileTooBig(where=where, limit="rule file bytes", bound=RULE_FILE_BYTES, seen=len(raw))
    return raw


def replace_file(path: str | Path, raw: bytes) -> None:
    """Write a file again, whole or not at all; it stays where it is and as open to others as it is."""
    with file_faults(Path(path)):
        place = Path(path).resolve(strict=True)
        mode = place.stat().st_mode & 0o777
    with new_file(place, replace=True) as file:
        os.fchmod(file.fileno(), mode)
        file.write(raw)


def parse_predicate(text: str) -> Predicate:
    """Read the name and arity of a predicate.

    >>> parse_predicate("Selected/1")
    Predicate(name='Selected', arity=1)
    """
    found = _PREDICATE.fullmatch(text)
    if found is None:
        raise NotAPredicate(given=text[:80])
    return Predicate(found[1], int(found[2]))


def read_question(
    text: str, program: Program | None = None, supplied: Iterable[Predicate] | None = None
) -> Question:
    """Read a question that somebody typed, or raise RulesRefused."""
    try:
        return parse_question(text, program, supplied)
    except InvalidLacegram as error:
        raise refuse_rules("the question", error.diagnostics) from None


def read_goal(text: str) -> Fact:
    """Read a fact that somebody typed, blanks and a period allowed.

    >>> read_goal("Edge('a', 'b').")
    ('Edge', 'a', 'b')
    """
    try:
        question = parse_question(text)
    except InvalidLacegram as error:
        raise refuse_rules("the fact", error.diagnostics) from None
    if question.fact is None:
        raise NotAFact(given=str(question)[:120])
    return question.fact


def refuse_rules(where: str, diagnostics: Sequence[Diagnostic]) -> RulesRefused:
    """Make the error that carries these diagnostics."""
    return RulesRefused(
        where=where, summary=summarize_diagnostics(diagnostics), diagnostics=tuple(diagnostics), listing=""
    )


def summarize_diagnostics(diagnostics: Sequence[Diagnostic]) -> str:
    """Count errors and warnings.

    >>> summarize_diagnostics([])
    'no errors'
    """
    counts = {kind: sum(d.severity == kind for d in diagnostics) for kind in ("error", "warning")}
    told = [f"{n} {kind}{'' if n == 1 else 's'}" for kind, n in counts.items() if n]
    return ", ".join(told) or "no errors"


def render_diagnostics(diagnostics: Iterable[Diagnostic], file: str) -> list[str]:
    """Write diagnostics for people, as lines."""
    # A tab is as wide as a terminal makes it; the line and its caret get the same blanks instead.
    return [line.replace("\t", "    ") for each in diagnostics for line in each.render(file).split("\n")]
