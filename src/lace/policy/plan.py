"""The exchange plan: what both sides must agree on, as one text with one identifier (040; PROFILE section 8).

    two operands ──▶ Transcript ──str()──▶ canonical text ──▶ E. id
                         ▲                      │
                         └────── parse ─────────┘      nothing non-canonical is accepted

Rules of this file:
1. A transcript says ids, facets, origins, the lowering, what must be advertised and what the runtime
   supplies. Expose modules, restrictions, record formats, field schemas and limits are no part of it.
2. Text is canonical when parsing and writing it gives the same text; there is one writer.
3. A plan is a transcript beside the two operands it names, and only `make_plan` joins them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from lace.datalog import RUNTIME_PREDICATES, SELECT_HAVE, Const, Rule
from lace.errors import LaceError, PolicyError
from lace.facts import Fact, Predicate, parse_fact_line, write_fact_line
from lace.policy.module import SELECTOR, Module
from lace.policy.operand import Operand, assign_origins, check_indexes, is_label
from lace.text import LacegramId, PlanId, Verifier, decode_text, parse_lacegram_id, plan_id

PROFILE: Final = "lace-040-exchange-plan-v1"
LOWERING: Final = "standard-v1"
ADVERTISED_FIELD: Final = Predicate("AdvertisedField", 5)
_NAME_PLACE: Final = 2


class NotATranscript(PolicyError):
    """Text that is no canonical exchange-plan transcript."""

    code = "policy/transcript"
    text = "this is no canonical exchange plan: {reason}"


class UnknownLowering(PolicyError):
    """A plan under a lowering that this profile does not know."""

    code = "policy/lowering"
    text = "the plan asks for the lowering {lowering!r}: this profile knows standard-v1 and refuses others"


class UnknownPlanProfile(PolicyError):
    """A plan of another profile."""

    code = "policy/profile"
    text = "the plan is of the profile {profile!r}, this one speaks lace-040-exchange-plan-v1"


class OtherPlan(PolicyError):
    """A transcript that is not the one the two operands give."""

    code = "policy/other-plan"
    text = "the peer's exchange plan is {theirs}, these operands give {ours}: {line}"


@dataclass(frozen=True, slots=True)
class RequiredFields:
    """Which fields a side must advertise so that both selectors can decide."""

    names: tuple[str, ...] = ()
    """In order; empty where all are required."""
    every: bool = False

    def met_by(self, schema: frozenset[str] | None) -> bool:
        """Tell whether a negotiated field schema is enough; None is the schema of all fields.

        >>> fields = RequiredFields(("App", "Group"))
        >>> fields.met_by(None), fields.met_by(frozenset({"App"})), RequiredFields(every=True).met_by(None)
        (True, False, True)
        """
        return schema is None or (not self.every and schema.issuperset(self.names))

    def lines(self) -> list[Fact]:
        """Return the facts of a transcript that say so."""
        if self.every:
            return [("ExchangePlanRequireAllAdvertisedFields",)]
        return [("ExchangePlanRequireAdvertisedField", name) for name in self.names]


def required_fields(rules: tuple[Rule, ...]) -> RequiredFields:
    """Infer what must be advertised from every `AdvertisedField` atom, negated and counted ones too."""
    names: set[str] = set()
    for rule in rules:
        for atom in rule.mentions():
            if atom.predicate == ADVERTISED_FIELD:
                name = atom.terms[_NAME_PLACE]
                if not isinstance(name, Const):
                    return RequiredFields(every=True)
                names.add(name.value)
    return RequiredFields(tuple(sorted(names)))


@dataclass(frozen=True)
class Transcript:
    """The shared text of a plan as values."""

    modules: tuple[LacegramId, LacegramId]
    origins: tuple[str, str]
    fields: RequiredFields
    facets: tuple[str, str] = (SELECTOR, SELECTOR)
    lowering: str = LOWERING

    def facts(self) -> list[Fact]:
        """Return the lines in their order.

        040: "Lines are sorted by predicate name, then full line bytes, except that `ExchangePlanProfile`
        appears first."
        """
        rest: list[Fact] = [("ExchangePlanLowering", self.lowering), *self.fields.lines()]
        for index in (0, 1):
            rest.append(("ExchangePlanOperand", str(index), self.facets[index], self.modules[index]))
            rest.append(("ExchangePlanOperandOrigin", str(index), self.origins[index]))
        rest += [("ExchangePlanRuntime", name, str(arity)) for name, arity in RUNTIME_PREDICATES]
        rest.sort(key=lambda fact: (fact[0], write_fact_line(fact)))
        return [("ExchangePlanProfile", PROFILE), *rest]

    @cached_property
    def _text(self) -> str:
        return "\n".join(map(write_fact_line, self.facts()))

    def __str__(self) -> str:
        return self._text

    @cached_property
    def id(self) -> PlanId:
        """The E. id."""
        return plan_id(self._text.encode())


def parse_transcript(raw: bytes | str) -> Transcript:
    """Read a transcript; whatever the writer would not have written is refused."""
    try:
        text = raw if isinstance(raw, str) else decode_text(raw)
        facts = [parse_fact_line(line) for line in text.split("\n")]
    except LaceError as error:
        raise NotATranscript(reason=str(error)) from None
    transcript = _read(facts)
    if str(transcript) != text:
        wanted = str(transcript).split("\n")
        found = text.split("\n")
        at = next((n for n, pair in enumerate(zip(found, wanted, strict=False)) if pair[0] != pair[1]), None)
        # Where all lines agree as far as they go, one text is longer.
        line = min(len(found), len(wanted)) if at is None else at
        expected = wanted[line] if line < len(wanted) else "no more lines"
        raise NotATranscript(reason=f"line {line + 1} must read {expected}")
    return transcript


def _read(facts: list[Fact]) -> Transcript:
    profile = _one(facts, "ExchangePlanProfile", 1)[0]
    if profile != PROFILE:
        raise UnknownPlanProfile(profile=profile[:80])
    lowering = _one(facts, "ExchangePlanLowering", 1)[0]
    if lowering != LOWERING:
        raise UnknownLowering(lowering=lowering[:80])
    operands = _pair(facts, "ExchangePlanOperand", 3)
    origins = _pair(facts, "ExchangePlanOperandOrigin", 2)
    # A set: a line that stands there twice is one that the writer would not have written.
    names = {fact[1] for fact in facts if (fact[0], len(fact)) == ("ExchangePlanRequireAdvertisedField", 2)}
    every = ("ExchangePlanRequireAllAdvertisedFields",) in facts
    for facet, _ in operands:
        if facet != SELECTOR:
            raise NotATranscript(reason=f"{facet[:40]!r} is no shared facet of this profile")
    try:
        modules = parse_lacegram_id(operands[0][1]), parse_lacegram_id(operands[1][1])
    except LaceError as error:
        raise NotATranscript(reason=str(error)) from None
    labels = origins[0][0], origins[1][0]
    if not all(map(is_label, labels)) or labels[0] == labels[1]:
        raise NotATranscript(reason="origins are two different labels of the form Opq_ and one character")
    # Where all fields are required, no single one is named: the comparison with the writer's text sees it.
    return Transcript(modules, labels, RequiredFields(() if every else tuple(sorted(names)), every))


def _one(facts: list[Fact], name: str, arity: int) -> Fact:
    found = [fact[1:] for fact in facts if (fact[0], len(fact) - 1) == (name, arity)]
    if len(found) != 1:
        raise NotATranscript(reason=f"{name} stands there {len(found)} times, not once")
    return found[0]


def _pair(facts: list[Fact], name: str, arity: int) -> tuple[Fact, Fact]:
    found = [fact[1:] for fact in facts if (fact[0], len(fact) - 1) == (name, arity)]
    indexes = [fact[0] for fact in found]
    if sorted(indexes) != ["0", "1"]:
        raise NotATranscript(reason=f"{name} stands there once for operand 0 and once for operand 1")
    by_index = {fact[0]: fact[1:] for fact in found}
    return by_index["0"], by_index["1"]


@dataclass(frozen=True)
class ExchangePlan:
    """The agreed plan of one exchange: its transcript and the operands it names."""

    operands: tuple[Operand, Operand]

    @cached_property
    def transcript(self) -> Transcript:
        """What both sides agree on."""
        zero, one = self.operands
        return Transcript(
            (zero.module.id, one.module.id),
            (zero.origin.label, one.origin.label),
            required_fields(zero.module.program.rules + one.module.program.rules),
        )

    @property
    def id(self) -> PlanId:
        """The E. id."""
        return self.transcript.id

    @property
    def fields(self) -> RequiredFields:
        """What must be advertised."""
        return self.transcript.fields

    @cached_property
    def select_have_uses_advertisements(self) -> bool:
        """Whether `SelectHave` of either operand depends on advertisement facts (050 asks for it)."""
        return any(operand.module.reads_advertisements((SELECT_HAVE,)) for operand in self.operands)

    def prove(self, index: int, verifier: Verifier) -> ExchangePlan:
        """Bind a proven verifier to an operand's origin; the plan and its id stay as they are."""
        zero, one = self.operands
        if index == 0:
            return replace(self, operands=(zero.prove(verifier), one))
        return replace(self, operands=(zero, one.prove(verifier)))

    def check_same(self, received: Transcript) -> None:
        """Refuse a peer's transcript that is not this plan's."""
        if received == self.transcript:
            return
        ours, theirs = str(self.transcript).split("\n"), str(received).split("\n")
        line = next(line for line in theirs + ours if line not in ours or line not in theirs)
        raise OtherPlan(theirs=received.id, ours=self.id, line=f"they differ in {line}")


def make_plan(zero: Module, one: Module) -> ExchangePlan:
    """Make the plan of two selector modules; the first is operand 0."""
    return ExchangePlan(assign_origins(zero, one))


def join_operands(left: tuple[int, Module], right: tuple[int, Module]) -> ExchangePlan:
    """Make the plan of two modules that come with their indexes, as setup has them."""
    check_indexes((left[0], right[0]))
    zero, one = (left[1], right[1]) if left[0] == 0 else (right[1], left[1])
    return make_plan(zero, one)
