"""Ordinary programs read in one go: patterns for whole lines instead of tokens, no spans, no diagnostics.

Most programs that arrive are valid and plainly written. Such a text becomes pipelines at once. Anything else
(a mistake, a blank in an odd place, an escape, text beyond ASCII) is left to the full reader, which knows
what to say about it.

Rules of this file:
1. What is read here is valid, and means what the full reader and the checks make of it: the same lines, the
   same pipelines, the same groups. In doubt it is not read.
2. Work is linear in the text: no pattern goes back.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from lace.algebra import (
    OPERATORS,
    AntiJoin,
    Column,
    Compare,
    Constant,
    CountTest,
    Filter,
    Join,
    NotEqual,
    Pipeline,
    Place,
    Scan,
    Shape,
    Step,
    Term,
    Test,
    is_decimal,
)
from lace.datalog.dependencies import Components, grouped
from lace.datalog.facets import Facet
from lace.datalog.limits import FIXED
from lace.datalog.rule_reader import NO_PREDICATES
from lace.facts import Predicate

_NAME = r"_?+[A-Za-z][A-Za-z0-9_~-]*+"
_TERM = r"(?:[A-Z][A-Za-z0-9_]*+|_|'[^'\\]*+')"
_TERMS = rf"(?:{_TERM}(?:,\ *+{_TERM})*+)?+"
_ATOM = rf"{_NAME}\({_TERMS}\)"
_COUNT = rf"Cardinality\({_ATOM},\ *+'[<>]=?+',\ *+'[0-9]++'\)"
_PART = rf"(?:{_TERM}\ *+!=\ *+{_TERM}|{_COUNT}|(?:not\ ++)?+{_ATOM}|true)"
_RULE = re.compile(rf"{_ATOM}\ *+:-\ *+{_PART}(?:,\ *+{_PART})*+\.")
_PIECE = re.compile(
    rf"""
      ({_TERM}) \ *+ != \ *+ ({_TERM})                                               # 1 2
    | (?: (Cardinality) \( | (not) \ ++ )?+ ({_NAME}) \( ({_TERMS}) \)                # 3 4 5 6
      (?: ,\ *+ '([<>]=?+)' ,\ *+ '([0-9]++)' \) )?+                                  # 7 8
    | (true)                                                                         # 9
    """,
    re.VERBOSE,
)
_EACH = re.compile(r"'[^']*+'|\w++")
_TESTS = frozenset({"IntCompare", "LexCompare", "TextShape"})
_ODD = re.compile(r"[\\\r\"#]")


class Read(NamedTuple):
    """A valid program."""

    lines: tuple[str, ...]
    """The canonical lines, in their order."""
    pipelines: tuple[Pipeline, ...]
    """What each line means, its steps in their written order."""
    components: Components
    """Derived predicates that need each other, lowest group first."""


_Atom = tuple[str, Predicate, tuple[Place, ...], list[str]]
"""The canonical text of an atom, its predicate, its terms, and the names of its variables."""


class _Unusual(Exception):
    """Something that the full reader has to look at."""


def read_plainly(text: str | bytes, facet: Facet, base: Collection[Predicate]) -> Read | None:
    """Read a valid program that is plainly written; None for any other text."""
    if isinstance(text, bytes):
        if not text.isascii():
            return None
        text = text.decode("ascii")
    if not text.isascii() or _ODD.search(text):
        return None
    reader = _Reader(facet, base)
    try:
        for line in text.split("\n"):
            if line:
                reader.rule(line)
        return reader.read()
    except _Unusual:
        return None


class _Reader:
    """Reads line by line; what stands in many places is made once."""

    def __init__(self, facet: Facet, base: Collection[Predicate]) -> None:
        self._facet = facet
        self._base = base
        self._rules: dict[str, Pipeline] = {}
        self._places: dict[str, Place] = {"_": None}
        self._atoms: dict[tuple[str, str], _Atom] = {}

    def rule(self, line: str) -> None:
        """Read one line."""
        # A constant in a line of so many characters is not too long.
        if len(line) > FIXED.constant_bytes or not _RULE.fullmatch(line):
            raise _Unusual
        texts: list[str] = []
        steps: list[Step] = []
        bound: set[str] = set()
        needed: list[str] = []
        local: list[str] = []
        (_, _, _, _, name, inside, _, _, _), *rest = _PIECE.findall(line)
        head_text, head, project, columns = self._atom(name, inside)
        if head in self._base or name in self._facet.no_heads or None in project:
            raise _Unusual
        needed += columns
        for left, right, counts, negates, name, inside, op, number, _ in rest:
            if not name:
                if not left:
                    texts.append("true")
                    continue
                sides = self._operands((left, right))
                texts.append(f"{left} != {right}")
                steps.append(Filter(NotEqual(*sides)))
                needed += [side.name for side in sides if isinstance(side, Column)]
            elif name in _TESTS and not counts and not negates:
                text, test = self._test(name, inside)
                texts.append(text)
                steps.append(Filter(test))
                needed += [term.name for term in test.terms() if isinstance(term, Column)]
            else:
                text, predicate, places, columns = self._atom(name, inside)
                scan = Scan(predicate, places)
                if negates:
                    texts.append(f"not {text}")
                    steps.append(AntiJoin(scan))
                    needed += columns
                elif counts:
                    if not is_decimal(number):
                        raise _Unusual
                    texts.append(f"Cardinality({text},'{op}','{number}')")
                    steps.append(CountTest(scan, op, int(number)))
                    local += dict.fromkeys(columns)
                else:
                    texts.append(text)
                    steps.append(Join(scan))
                    bound.update(columns)
        if not bound.issuperset(needed):
            raise _Unusual
        # What is neither bound nor alone in one count is not safe.
        if local and len(unbound := [name for name in local if name not in bound]) > len(set(unbound)):
            raise _Unusual
        written = f"{head_text} :- {', '.join(texts)}."
        if written not in self._rules:
            self._rules[written] = Pipeline(tuple(steps), head, project)  # type: ignore[arg-type]

    def _terms(self, inside: str) -> list[str]:
        if "'" in inside or " " in inside:
            return _EACH.findall(inside)
        return inside.split(",") if inside else []

    def _place(self, term: str) -> Place:
        place = self._places[term] = Constant(term[1:-1]) if term[0] == "'" else Column(term)
        return place

    def _atom(self, name: str, inside: str) -> _Atom:
        """Read an atom."""
        read = self._atoms.get((name, inside))
        if read is None:
            terms = self._terms(inside)
            arity = len(terms)
            if name in NO_PREDICATES or arity > FIXED.arity or self._facet.is_refused(name):
                raise _Unusual
            known = self._places
            places = tuple([known[term] if term in known else self._place(term) for term in terms])
            columns = [term for term in terms if "A" <= term[0] <= "Z"]
            text = f"{name}({','.join(terms)})"
            read = self._atoms[name, inside] = text, Predicate(name, arity), places, columns
        return read

    def _operands(self, terms: Iterable[str]) -> list[Term]:
        found: list[Term] = []
        for term in terms:
            place = self._places[term] if term in self._places else self._place(term)
            if place is None:
                raise _Unusual
            found.append(place)
        return found

    def _test(self, name: str, inside: str) -> tuple[str, Test]:
        terms = self._terms(inside)
        text = f"{name}({','.join(terms)})"
        if name == "TextShape":
            if len(terms) != 4 or terms[2][0] != "'":
                raise _Unusual
            subject, start, end = self._operands((terms[0], terms[1], terms[3]))
            return text, Shape(subject, start, terms[2][1:-1], end)
        if len(terms) != 3 or terms[1][1:-1] not in OPERATORS:
            raise _Unusual
        left, right = self._operands((terms[0], terms[2]))
        return text, Compare(name[:3], left, terms[1][1:-1], right)

    def read(self) -> Read:
        """Return the program that was read."""
        lines = sorted(self._rules)
        pipelines = [self._rules[line] for line in lines]
        below: dict[Predicate, list[Predicate]] = {pipeline.head: [] for pipeline in pipelines}
        strict: list[tuple[Predicate, Predicate]] = []
        if not 0 < len(lines) <= FIXED.rules or not all(head in below for head in self._facet.required):
            raise _Unusual
        unreadable = self._facet.unreadable
        for pipeline in pipelines:
            for step in pipeline.steps:
                if type(step) is Filter:
                    continue
                on = step.scan.predicate  # type: ignore[union-attr]
                if on in unreadable:
                    raise _Unusual
                if on in below:
                    below[pipeline.head].append(on)
                    if type(step) is not Join:
                        strict.append((pipeline.head, on))
        groups = grouped(below)
        if strict:
            number = {predicate: at for at, group in enumerate(groups) for predicate in group}
            if any(number[head] == number[on] for head, on in strict):
                raise _Unusual
        return Read(tuple(lines), tuple(pipelines), groups)
