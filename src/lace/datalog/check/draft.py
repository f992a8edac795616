"""A program that has been read but not yet checked: what every check looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter

from lace.datalog.canonical import in_canonical_order
from lace.datalog.dependencies import Components, Dependency, components, dependencies
from lace.datalog.facets import Facet
from lace.datalog.rules import Rule
from lace.facts import Predicate


@dataclass(frozen=True)
class Draft:
    """The rules as they stand in the text, and what is known about where they will run."""

    rules: Sequence[Rule]
    """Each once."""
    facet: Facet
    base: frozenset[Predicate]
    """The facet's base predicates and those that the caller named."""
    closed: bool = False
    """Whether nothing but `base` will be supplied."""
    outputs: frozenset[Predicate] = frozenset()
    """What will be read of the result; empty where that is not known."""
    repeats: Sequence[Rule] = ()
    """Rules that stand in the text again."""
    broken: frozenset[int] = field(default_factory=frozenset)
    """Lines with a syntax error."""
    lost: bool = False
    """Whether rules are missing because their lines could not be read."""
    texts: Sequence[str] = ()
    """The canonical lines of the rules, where somebody wrote them already."""

    @cached_property
    def heads(self) -> dict[Predicate, list[Rule]]:
        """The rules of each derived predicate, in the order of the text."""
        found: dict[Predicate, list[Rule]] = {}
        for rule in self.rules:
            found.setdefault(rule.head.predicate, []).append(rule)
        return found

    @cached_property
    def needs(self) -> tuple[Dependency, ...]:
        """What depends on what."""
        return dependencies(self.rules)

    @cached_property
    def components(self) -> Components:
        """Predicates that need each other, lowest group first."""
        return components(self.rules, self.needs)

    @cached_property
    def lines(self) -> dict[str, Rule]:
        """The rules by their canonical lines, in canonical order."""
        if self.texts:
            return dict(sorted(zip(self.texts, self.rules, strict=True), key=itemgetter(0)))
        return in_canonical_order(self.rules)

    @cached_property
    def canonical_needs(self) -> tuple[Dependency, ...]:
        """What depends on what, in the order of the program that this becomes."""
        return dependencies(tuple(self.lines.values()))

    @cached_property
    def canonical_components(self) -> Components:
        """The groups of that program."""
        return components(tuple(self.lines.values()), self.canonical_needs)

    def sound(self) -> list[Rule]:
        """Return the rules that have been read without a mistake."""
        return [rule for rule in self.rules if rule.span.line not in self.broken]
