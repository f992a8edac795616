"""Modules: one canonical lacegram each, read as a facet and refused under a code of its own (040; PROFILE 7).

Rules of this file:
1. What somebody here wrote is read; what a peer sent is canonical or refused, and never repaired.
2. What is wrong with a module has a code of its own, and all diagnostics of its text with it.
3. Rules without a facet are no module: nothing turns a peer's flat program into policy.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from lace.datalog import (
    ADVERTISEMENT_PREDICATES,
    Diagnostic,
    InvalidLacegram,
    Program,
    Rule,
    parse_canonical,
    parse_program,
)
from lace.errors import PolicyError
from lace.facts import Predicate
from lace.text import LacegramId, id_payload

SELECTOR: Final = "selector"
SCOPES: Final = ("o0_", "o1_")
"""040: "deterministic internal names such as o0_SelectHave and o1_SelectHave"."""


class ModuleRefused(PolicyError):
    """A module that its facet does not allow; `diagnostics` holds all that was found in its text."""

    code = "policy/module"
    text = "the {facet} is refused: {what}"

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything that was found, in the order of the text."""
        found: tuple[Diagnostic, ...] = self.fields["diagnostics"]
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the error as a program reads it."""
        return {"code": self.code, "error": str(self), "diagnostics": [d.to_json() for d in self.diagnostics]}


class MissingExport(ModuleRefused):
    """A module without a predicate that its facet exports."""

    code = "policy/missing-export"
    text = "the {facet} is refused: {what}; a {facet} says both, if only that nothing is selected"


class ReservedName(ModuleRefused):
    """A module that defines or reads a name that belongs to local policy or to lowering."""

    code = "policy/reserved-name"
    text = "the {facet} is refused: {what}; give the predicate another name"


class GeneratedName(ModuleRefused):
    """A module that defines a name with an operand-scope prefix."""

    code = "policy/generated-name"
    text = "the {facet} is refused: {what}; names that begin with o0_ or o1_ are made by lowering alone"


class ForeignHelper(ModuleRefused):
    """A module that reads a predicate of another operand's scope."""

    code = "policy/foreign-helper"
    text = "the {facet} is refused: {what}; an operand is closed and reads no other operand's predicates"


class UnreadableFacts(ModuleRefused):
    """A module that reads advertisement facts where it may not."""

    code = "policy/unreadable-facts"
    text = "the {facet} is refused: {what}; what a peer claims must not decide this"


class NotCanonicalModule(ModuleRefused):
    """A received module that is no canonical text."""

    code = "policy/not-canonical"
    text = "the received {facet} is refused: it is not canonical text, and received text is never repaired"


class FlatRules(PolicyError):
    """Rules without facet and origin in the place of an operand."""

    code = "policy/flat-rules"
    text = "{given} is no selector module: rules take part in an exchange as operands with an origin, or not"


@dataclass(frozen=True)
class Module:
    """One canonical lacegram with the facet it is read as (040, Terms)."""

    program: Program

    @property
    def facet(self) -> str:
        """What the module is for."""
        return self.program.facet

    @property
    def id(self) -> LacegramId:
        """The R. id of its canonical bytes."""
        return self.program.id

    @cached_property
    def digest(self) -> bytes:
        """040: "Compute the module digest from canonical module bytes"."""
        return id_payload(self.id)

    def __str__(self) -> str:
        return str(self.program)

    def rules_below(self, goals: Iterable[Predicate]) -> tuple[Rule, ...]:
        """Return the rules that these predicates depend on, their own included."""
        needed = set(goals)
        waiting = list(needed)
        while waiting:
            for rule in self.program.rules_for((waiting.pop(),)):
                for atom in rule.mentions():
                    if atom.predicate not in needed:
                        needed.add(atom.predicate)
                        waiting.append(atom.predicate)
        return self.program.rules_for(needed)

    def reads_advertisements(self, goals: Iterable[Predicate]) -> bool:
        """Tell whether these predicates depend on advertisement facts, directly or through helpers."""
        rules = self.rules_below(goals)
        return any(atom.predicate in ADVERTISEMENT_PREDICATES for rule in rules for atom in rule.mentions())


def read_module(text: str | bytes, facet: str = SELECTOR) -> Module:
    """Read a module that somebody here wrote."""
    try:
        return Module(parse_program(text, facet))
    except InvalidLacegram as error:
        raise refusal(error, facet) or error from None


def receive_module(raw: bytes, facet: str = SELECTOR) -> Module:
    """Read a module that came from a peer: canonical bytes, or none at all."""
    try:
        return Module(parse_canonical(raw, facet))
    except InvalidLacegram as error:
        if any(each.code == "L-701" for each in error.diagnostics):
            raise NotCanonicalModule(facet=facet, what="", diagnostics=error.diagnostics) from None
        raise refusal(error, facet) or error from None


_NAMES = {"L-402", "L-403", "L-404"}


def refusal(error: InvalidLacegram, facet: str) -> ModuleRefused | None:
    """Return the refusal that 040 speaks of; None where the text is no lacegram in the first place."""
    errors = [each for each in error.diagnostics if each.severity == "error"]
    if not all(each.code in _NAMES for each in errors):
        return None
    first = errors[0]
    return _kind(first)(facet=facet, what=first.message, diagnostics=error.diagnostics)


def _kind(found: Diagnostic) -> type[ModuleRefused]:
    if found.code == "L-403":
        return MissingExport
    if found.code == "L-404":
        return UnreadableFacts
    if found.message.startswith(SCOPES):
        # A head starts its line; whatever stands further right is read.
        line = found.excerpt[: max(0, found.span.start - found.excerpt_start)]
        return ForeignHelper if line.strip() or found.excerpt_start else GeneratedName
    return ReservedName


def check_selector(given: object) -> Module:
    """Return a selector module, or refuse what is none.

    040: "MUST NOT accept peer-authored flat 030 rules as trusted local policy unless those rules have first
    been represented with the origin/facet metadata and query-view limits".
    """
    if not isinstance(given, Module):
        raise FlatRules(given=type(given).__name__)
    if given.facet != SELECTOR:
        raise FlatRules(given=f"a module of the facet {given.facet}")
    return given
