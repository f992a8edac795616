"""A question: a body of a rule that is asked and not kept (030, Body atoms).

    Selected(P)                               every P that is selected
    ?- Member(K), not Blocked(K).             `?-`, or a `?` at the end, may say that it is one

A question is the rule `?(K) :- …` for the variables that its positive atoms bind, under a name that no
program can spell. So a question means what a rule would mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lace.datalog.check import MEANING, Draft
from lace.datalog.check.unknown import warn_unknown
from lace.datalog.diagnostics import Diagnostic, invalid
from lace.datalog.facets import FACETS
from lace.datalog.program import Program
from lace.datalog.rule_reader import GiveUp, RuleReader
from lace.datalog.rules import Atom, BodyAtom, Const, Rule, Var
from lace.datalog.source import Line, read_source
from lace.datalog.tokens import tokenize
from lace.facts import Fact, Predicate

_ASKS = "?-"
_NAME = "?"


@dataclass(frozen=True, slots=True)
class Question:
    """A body, and the variables whose values are asked for."""

    body: tuple[BodyAtom, ...]
    variables: tuple[str, ...]
    """In the order in which they are written, each once."""
    warnings: tuple[Diagnostic, ...] = ()

    def __str__(self) -> str:
        return ", ".join(map(str, self.body))

    @property
    def rule(self) -> Rule:
        """The question as a rule."""
        return Rule(Atom(_NAME, tuple(map(Var, self.variables))), self.body)

    @property
    def atom(self) -> Atom | None:
        """The one positive atom that a simple question consists of."""
        [only] = self.body if len(self.body) == 1 else [None]
        return only if isinstance(only, Atom) else None

    @property
    def fact(self) -> Fact | None:
        """The fact whose every value the question names."""
        atom = self.atom
        if atom is None:
            return None
        values = [term.value for term in atom.terms if isinstance(term, Const)]
        return (atom.name, *values) if len(values) == len(atom.terms) else None


def parse_question(
    text: str | bytes, program: Program | None = None, supplied: Iterable[Predicate] | None = None
) -> Question:
    """Read a question, or raise InvalidLacegram with everything that is wrong with it.

    The program that it will be asked of, and the predicates that have facts, tell what is surely a slip.

    >>> question = parse_question("?- Edge(X,Y), not Blocked(Y)")
    >>> str(question), question.variables
    ('Edge(X,Y), not Blocked(Y)', ('X', 'Y'))
    """
    source = read_source(text)
    lines = [line for line in source.lines if line.text.strip(" \t")]
    if source.lost and not lines:  # nothing is missing: it cannot be read
        raise invalid(source.report.diagnostics())
    line = _bare(lines[0] if lines else Line(1, "", 0))
    body: tuple[BodyAtom, ...] = ()
    try:
        body = RuleReader(line.number, tokenize(line), source.report).question()
    except GiveUp:
        pass
    else:
        for other in lines[1:]:
            span = tokenize(other)[0].span(other.number)
            source.report.add("L-201", span, expected="one question in one line", found="another line")
    question = Question(body, _variables(body))
    facet = FACETS["datalog"]
    known = facet.base.union(supplied or (), () if program is None else program.heads)
    draft = Draft((question.rule,), facet, known, closed=supplied is not None)
    for check in MEANING:
        source.report.extend(check(draft))
    if source.report:
        raise invalid(source.report.diagnostics())
    source.report.extend(warn_unknown(draft))
    return Question(body, question.variables, tuple(source.report.diagnostics()))


def _bare(line: Line) -> Line:
    """Blank out what only says that a line is a question; every column stays where it is."""
    text = line.text.rstrip(" \t")
    start = len(text) - len(text.lstrip(" \t"))
    if text.startswith(_ASKS, start):
        text = text[:start] + " " * len(_ASKS) + text[start + len(_ASKS) :]
    return Line(line.number, text.removesuffix("?"), line.offset)


def _variables(body: tuple[BodyAtom, ...]) -> tuple[str, ...]:
    positive = (term for part in body if isinstance(part, Atom) for term in part.terms)
    return tuple(dict.fromkeys(term.name for term in positive if isinstance(term, Var)))
