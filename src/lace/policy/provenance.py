"""From generated rules back to what somebody wrote (040, Annotation and provenance).

    RuleSource('U.generated','R.input','U.original')
    RuleGeneratedBy('U.generated','040-operand-scope','O0')
    RuleOrigin('U.generated','Opq_M')

Rules of this file:
1. The sidecar is metadata. Its facts are given to people and tools and never to an evaluation.
2. A proof is told in the author's names and lines: `O1.Member('k')` by the rule as it was written. What
   lowering made of it stays beside it, for whoever checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from lace.datalog import (
    Absent,
    Atom,
    Checked,
    Counted,
    Derived,
    Given,
    NamedRule,
    Obstacle,
    OtherHead,
    Premise,
    Present,
    Proof,
    Rule,
    Stopped,
    Unmatched,
    WhyNot,
    name_rule,
)
from lace.facts import CAN_QUERY_RECORD, GATED, Fact, Predicate
from lace.policy.scope import Generated
from lace.text import LacegramId, RuleId

_SCOPED: Final = re.compile(r"([osr])([0-9]+)_(.+)", re.DOTALL)
_GATE_STEP: Final = "020-query-view"

Part = TypeVar("Part", bound=Absent | Counted | Checked | Unmatched | Present)


@dataclass(frozen=True, slots=True)
class Authored:
    """A rule as its author wrote it."""

    line: str
    rule: RuleId
    module: LacegramId | None
    """None where policy itself made the rule."""
    scope: str
    """`O0`, `O1`, or what the rule is about."""
    origin: str | None

    def __str__(self) -> str:
        if self.module is None:
            return self.line
        return f"{self.line}  [{self.scope} of {self.origin}]" if self.origin else self.line


class SourceMap:
    """What every generated rule was, through all steps."""

    def __init__(self, generated: Iterable[Generated], *earlier: Iterable[Generated]) -> None:
        self._rules = {each.id: each for each in generated}
        self._earlier = {each.id: each for rules in earlier for each in rules}

    def author(self, rule: RuleId) -> Authored | None:
        """Return who wrote the rule that this one was made from; None for a rule that is not known here."""
        found = self._rules.get(rule)
        if found is None:
            return None
        source, module = found.source, found.module
        # A composed operand has rules that were made from somebody's rules in turn.
        while source is not None and (before := self._earlier.get(name_rule(source))) is not None:
            if before.source is None:
                break
            source, module = before.source, before.module
        if source is None:
            return Authored(_abstract(found.rule), rule, None, found.subject, None)
        return Authored(str(source), name_rule(source), module, found.subject, found.origin)

    def is_gate(self, rule: RuleId) -> bool:
        """Tell whether a rule is the view written out."""
        return rule in self._rules and self._rules[rule].step == _GATE_STEP

    def facts(self) -> list[Fact]:
        """Return the sidecar, sorted."""
        found: set[Fact] = set()
        for rule, each in {**self._earlier, **self._rules}.items():
            found.add(("RuleGeneratedBy", rule, each.step, each.subject))
            if each.source is not None and each.module is not None:
                found.add(("RuleSource", rule, each.module, name_rule(each.source)))
            if each.origin is not None:
                found.add(("RuleOrigin", rule, each.origin))
        return sorted(found)

    # Proofs in the authors' words

    def tell(self, proof: Proof) -> Proof:
        """Return a proof in the authors' names and lines, for reading."""
        steps: dict[Fact, Given | Derived] = {}
        for fact, step in proof.steps.items():
            told = _told(fact)
            if isinstance(step, Given) or self.is_gate(step.rule.id):
                # What a view shows is a fact of the store; the gate stands beside it where it is used.
                steps.setdefault(told, Given(told))
                continue
            premises: list[Premise] = []
            for premise in step.premises:
                for each in self._premises(premise, proof):
                    if each not in premises or not isinstance(each, tuple):
                        premises.append(each)
            steps[told] = Derived(told, self._name(step.rule), step.binding, tuple(premises))
        return Proof(_told(proof.goal), steps)

    def _premises(self, premise: Premise, proof: Proof) -> list[Premise]:
        if not isinstance(premise, tuple):
            return [_told_part(premise)]
        step = proof.steps[premise]
        if isinstance(step, Derived) and self.is_gate(step.rule.id):
            facts = [fact for fact in step.premises if isinstance(fact, tuple)]
            return [_told(premise), *(fact for fact in facts if fact[0] == CAN_QUERY_RECORD.name)]
        return [_told(premise)]

    def tell_why_not(self, answer: WhyNot) -> WhyNot:
        """Return a why-not in the authors' names and lines."""
        rules: list[OtherHead | Stopped] = []
        for each in answer.rules:
            name = self._name(each.rule)
            if isinstance(each, OtherHead):
                rules.append(OtherHead(name, _told_atom(each.head)))
            else:
                satisfied = tuple(_told(p) if isinstance(p, tuple) else _told_part(p) for p in each.satisfied)
                failed: Obstacle = _told_part(each.failed)
                rules.append(replace(each, rule=name, satisfied=satisfied, failed=failed))
        proof = None if answer.proof is None else self.tell(answer.proof)
        return WhyNot(_told(answer.fact), proof, tuple(rules))

    def _name(self, rule: NamedRule) -> NamedRule:
        author = self.author(rule.id)
        return rule if author is None else NamedRule(rule.number, author.rule, str(author))


def tell_name(predicate: Predicate) -> str:
    """Return 040's abstract name of a scoped predicate; record facts keep theirs, whoever looks at them.

    >>> tell_name(Predicate("o0_Member", 1)), tell_name(Predicate("o1_Have", 1))
    ('O0.Member', 'Have')
    """
    found = _SCOPED.fullmatch(predicate.name)
    if found is None:
        return predicate.name
    letter, number, name = found.groups()
    return name if Predicate(name, predicate.arity) in GATED else f"{letter.upper()}{number}.{name}"


def _told(fact: Fact) -> Fact:
    return (tell_name(Predicate(fact[0], len(fact) - 1)), *fact[1:])


def _told_atom(atom: Atom) -> Atom:
    return replace(atom, name=tell_name(atom.predicate))


def _told_part(part: Part) -> Part:
    match part:
        case Counted():
            test = replace(part.test, atom=_told_atom(part.test.atom))
            return replace(part, test=test, examples=tuple(map(_told, part.examples)))
        case Present():
            return replace(part, pattern=_told_atom(part.pattern), examples=tuple(map(_told, part.examples)))
        case Absent() | Unmatched():
            return replace(part, pattern=_told_atom(part.pattern))
    return part


def _abstract(rule: Rule) -> str:
    """Write a rule that policy made in 040's abstract notation."""
    body = ", ".join(str(_told_atom(part)) if isinstance(part, Atom) else str(part) for part in rule.body)
    return f"{_told_atom(rule.head)} :- {body}."
