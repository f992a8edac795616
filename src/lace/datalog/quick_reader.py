"""Ordinary programs read in one go: patterns for whole lines instead of tokens, no spans, no diagnostics.

Most programs that arrive are valid and plainly written. Such a text becomes pipelines at once. Anything else
(a mistake, a blank in an odd place, an escape, text beyond ASCII) is left to the full reader, which knows
what to say about it.

Rules of this file:
1. What is read here is valid, and means what the full reader and the checks make of it: the same lines, the
   same pipelines, the same groups. In doubt it is not read.
2. Work is linear in the text: no pattern goes back by more than a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import partial
from operator import methodcaller
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
    Part,
    Pipeline,
    Place,
    Scan,
    Shape,
    Step,
    Term,
    Test,
    is_decimal,
)
from lace.datalog.dependencies import Below, Components, grouped
from lace.datalog.facets import Facet
from lace.datalog.limits import FIXED
from lace.datalog.rule_reader import NO_PREDICATES
from lace.facts import Predicate

_NAME = r"_?+[A-Za-z][A-Za-z0-9_~-]*+"
_BOUND = r"""(?:[A-Z][A-Za-z0-9_]*+|'[^'"\\\r#]*+')"""
_TERM = rf"(?:_|{_BOUND})"
_MORE = rf"{{0,{FIXED.arity - 1}}}"
"""So many terms more than the first."""


def _atom(term: str, term_gap: str) -> str:
    """Return the pattern of an atom with terms of a kind and these blanks between them."""
    return rf"{_NAME}\((?>{term}(?:,{term_gap}{term}){_MORE}|)\)"


def _rule(gap: str, word_gap: str, term_gap: str) -> re.Pattern[str]:
    """Return the pattern of a rule with these blanks around signs, after `not`, and between terms."""
    head, atom = _atom(_BOUND, term_gap), _atom(_TERM, term_gap)
    count = rf"Cardinality\({atom},{term_gap}'[<>]=?+',{term_gap}'[0-9]++'\)"
    # No two of these begin alike, up to where they are told apart; atoms are the most.
    part = rf"(?:(?>not{word_gap}|){atom}|{_BOUND}{gap}!={gap}{_BOUND}|{count}|true)"
    return re.compile(rf"{head}{gap}:-{gap}{part}(?>(?:,{gap}{part})*)\.")


_CANONICAL = _rule(r"\ ", r"\ ", "")
_PLAIN = _rule(r"\ *+", r"\ ++", r"\ *+")
_GAP = re.compile(r"'[^']*+'|[()]|\ *+(?:,|:-|!=)\ *+|(?<=not)\ ++")
_COUNT = re.compile(rf"Cardinality\(({_atom(_TERM, '')}),'([<>]=?+)','([0-9]++)'\)")
_PART = re.compile(r"(?>(?:[^',\ ]++|'[^']*+'|,(?!\ )|\ !=\ |(?<=not)\ )+)")
_EACH = re.compile(r"'[^']*+'|\w++")
_TESTS = frozenset({"IntCompare", "LexCompare", "TextShape"})
_predicate = partial(tuple.__new__, Predicate)  # Predicate(*…) without the call in between


class Read(NamedTuple):
    """A valid program."""

    lines: tuple[str, ...]
    """The canonical lines, in their order."""
    pipelines: tuple[Pipeline, ...]
    """What each line means, its steps in their written order, each once."""
    below: Below
    """What each derived predicate needs of the derived ones."""
    components: Components
    """Derived predicates that need each other, lowest group first."""


class _Unusual(Exception):
    """Something that the full reader has to look at."""


def read_plainly(text: str | bytes, facet: Facet, base: Collection[Predicate]) -> Read | None:
    """Read a valid program that is plainly written; None for any other text."""
    if isinstance(text, bytes):
        if not text.isascii():
            return None
        text = text.decode("ascii")
    if not text.isascii():
        return None
    constants = "".join(text.split("'")[1::2])
    reader = _Reader(facet, base, _CAREFUL if "," in constants or ":-" in constants else _AT_SIGNS)
    try:
        for line in text.split("\n"):
            if line:
                reader.rule(line)
        return reader.read()
    except _Unusual:
        return None


def _respelled(line: str) -> str:
    """Return a plain rule with blanks exactly where canonical text has them.

    >>> _respelled("A(X):-B(X, 'a, b'),not  C(X),  X!='y'.")
    "A(X) :- B(X,'a, b'), not C(X), X != 'y'."
    """
    if not _PLAIN.fullmatch(line):
        raise _Unusual
    depth = 0

    def spelled(found: re.Match[str]) -> str:
        nonlocal depth
        sign = found[0].strip(" ") or " "
        if sign in "()":
            depth += 1 if sign == "(" else -1
        elif sign == "," and not depth:
            return ", "
        return f" {sign} " if sign in (":-", "!=") else sign

    return _GAP.sub(spelled, line)


class _Cut(NamedTuple):
    """How canonical text is taken apart."""

    parts: Callable[[str], list[str]]
    """Cuts a line into its head and the parts of its body."""
    terms: Callable[[str], list[str]]
    """Cuts what stands between parentheses."""


def _parts_at_signs(line: str) -> list[str]:
    return line[:-1].replace(" :- ", ", ", 1).split(", ")


def _parts_carefully(line: str) -> list[str]:
    """Cut a line in which constants may hold signs.

    >>> _parts_carefully("A('x :- y') :- B('a, b',Z), not C(Z), Z != 'c'.")
    ["A('x :- y')", "B('a, b',Z)", 'not C(Z)', "Z != 'c'"]
    """
    head, _, *parts = _PART.findall(line[:-1])
    return [head, *parts]


_AT_SIGNS = _Cut(_parts_at_signs, methodcaller("split", ","))
"""Where no constant holds a sign, signs alone part everything."""
_CAREFUL = _Cut(_parts_carefully, _EACH.findall)


class _Reader:
    """Reads line by line; what stands in many places is made once."""

    def __init__(self, facet: Facet, base: Collection[Predicate], cut: _Cut) -> None:
        self._facet = facet
        self._base = base
        self._parts, self._terms = cut
        self._rules: dict[str, Pipeline] = {}
        self._known: dict[str, Term] = {}
        """Terms by how they are written."""
        self._insides: dict[str, tuple[tuple[Place, ...], tuple[str, ...]]] = {"": ((), ())}
        """Places and the names among them, by what is written between parentheses."""
        self._joins: dict[str, Join] = {}
        """By how their atoms are written; those of heads and of atoms that are not joined are among them."""

    def rule(self, line: str) -> None:
        """Read one line."""
        # A constant in a line of so many characters is not too long.
        if len(line) > FIXED.constant_bytes:
            raise _Unusual
        if not _CANONICAL.fullmatch(line):
            line = _respelled(line)
        if line in self._rules:
            return
        first, *parts = self._parts(line)
        head = self._atom(first).scan
        if head.predicate in self._base or head.predicate.name in self._facet.no_heads:
            raise _Unusual
        known = self._joins
        steps: list[Step] = []
        bound: set[str] = set()
        needed = [*head.names]
        local: list[str] = []
        for part in parts:
            step = known.get(part) or self._step(part)
            if type(step) is Join:
                bound.update(step.scan.names)
            elif step is None:
                continue
            elif type(step) is CountTest:
                local += step.scan.names
            else:
                needed += step.columns()
            steps.append(step)
        if not bound.issuperset(needed):
            raise _Unusual
        # What is neither bound nor alone in one count is not safe.
        if local and len(unbound := [name for name in local if name not in bound]) > len(set(unbound)):
            raise _Unusual
        if len(set(parts)) < len(parts):
            steps = list(dict.fromkeys(steps))
        # No `_` stands in a head: the pattern of a line says so.
        self._rules[line] = Pipeline(tuple(steps), head.predicate, head.places)  # type: ignore[arg-type]

    def _step(self, part: str) -> Step | None:
        """Return what a part of a body means; `true` means nothing."""
        if part[-1] != ")":
            return None if part == "true" else Filter(NotEqual(*self._operands(_EACH.findall(part))))
        name, _, inside = part[:-1].partition("(")
        if name in _TESTS:
            return Filter(self._test(name, inside))
        if name == "Cardinality":
            count = _COUNT.fullmatch(part)
            if count is None or not is_decimal(count[3]):
                raise _Unusual
            return CountTest(self._atom(count[1]).scan, count[2], int(count[3]))
        if name.startswith("not "):
            return AntiJoin(self._atom(part[4:]).scan)
        return self._join(part, name, inside)

    def _atom(self, atom: str) -> Join:
        """Return what an atom means where it stands in a body by itself."""
        join = self._joins.get(atom)
        return join or self._join(atom, *atom[:-1].split("(", 1))

    def _join(self, atom: str, name: str, inside: str) -> Join:
        places, names = self._insides.get(inside) or self._inside(inside)
        predicate = _predicate((name, len(places)))
        join = self._joins[atom] = Join(Scan(predicate, places, Part.ALL, None, names))
        return join

    def _inside(self, inside: str) -> tuple[tuple[Place, ...], tuple[str, ...]]:
        """Return what stands between parentheses, and the names among it, each once."""
        known = self._known
        places: list[Place] = []
        names: list[str] = []
        for term in self._terms(inside):
            place = None if term == "_" else known.get(term) or self._term(term)
            places.append(place)
            if type(place) is Column and term not in names:
                names.append(term)
        found = self._insides[inside] = tuple(places), tuple(names)
        return found

    def _term(self, term: str) -> Term:
        """Return what a term means that was not met before."""
        made = self._known[term] = Constant(term[1:-1]) if term[0] == "'" else Column(term)
        return made

    def _operands(self, terms: list[str]) -> tuple[Term, ...]:
        if "_" in terms:
            raise _Unusual
        return tuple([self._known.get(term) or self._term(term) for term in terms])

    def _test(self, name: str, inside: str) -> Test:
        terms = self._terms(inside)
        if name == "TextShape":
            if len(terms) != 4 or terms[2][0] != "'":
                raise _Unusual
            subject, start, end = self._operands([terms[0], terms[1], terms[3]])
            return Shape(subject, start, terms[2][1:-1], end)
        if len(terms) != 3 or terms[1][1:-1] not in OPERATORS:
            raise _Unusual
        left, right = self._operands([terms[0], terms[2]])
        return Compare(name[:3], left, terms[1][1:-1], right)

    def read(self) -> Read:
        """Return the program that was read."""
        lines = sorted(self._rules)
        pipelines = [self._rules[line] for line in lines]
        below: dict[Predicate, list[Predicate]] = {pipeline.head: [] for pipeline in pipelines}
        strict: list[tuple[Predicate, Predicate]] = []
        if not 0 < len(lines) <= FIXED.rules or not all(head in below for head in self._facet.required):
            raise _Unusual
        names = {join.scan.predicate.name for join in self._joins.values()}
        if not names.isdisjoint(NO_PREDICATES) or self._facet.refuses_any(names):
            raise _Unusual
        unreadable = self._facet.unreadable
        for pipeline in pipelines:
            head = pipeline.head
            for step in pipeline.steps:
                if type(step) is Filter:
                    continue
                # Ranks come with the rewrites: what is read here is a filter or scans something.
                on = step.scan.predicate  # type: ignore[union-attr]
                if on in unreadable:
                    raise _Unusual
                if on in below:
                    below[head].append(on)
                    if type(step) is not Join:
                        strict.append((head, on))
        groups = grouped(below)
        if strict:
            number = {predicate: at for at, group in enumerate(groups) for predicate in group}
            if any(number[head] == number[on] for head, on in strict):
                raise _Unusual
        return Read(tuple(lines), tuple(pipelines), below, groups)
