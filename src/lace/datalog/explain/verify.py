"""Checking a proof against the program and its facts, without an engine.

Rules of this file:
1. Nothing that the explainer said is believed: rules come from the program, given facts from the facts, and
   what is absent or counted is asked of the oracle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lace.datalog.explain.proof import Absent, Checked, Counted, Derived, Given, Premise, Proof, show_fact
from lace.datalog.meaning import Relations, agree, evaluate, holds, matches, value
from lace.datalog.program import Program
from lace.datalog.rules import Atom, BodyAtom, Cardinality, Negated, Var
from lace.facts import Fact, Predicate


def check_proof(
    proof: Proof, program: Program, facts: Iterable[Fact], derived: Iterable[Fact] | None = None
) -> list[str]:
    """Return what is wrong with a proof, nothing where it holds; `derived` saves asking the oracle again."""
    given = set(facts)
    known: Relations = {}
    for fact in given.union(evaluate(program, given) if derived is None else derived):
        known.setdefault(Predicate(fact[0], len(fact) - 1), set()).add(fact[1:])
    found = [] if proof.goal in proof.steps else ["the goal has no step"]
    for fact, step in proof.steps.items():
        where = show_fact(fact)
        if step.fact != fact:
            found.append(f"{where}: its step is about {show_fact(step.fact)}")
        elif isinstance(step, Given):
            if fact not in given:
                found.append(f"{where} was not given")
        else:
            found += [f"{where}: {fault}" for fault in _faults(step, program, known)]
            found += [
                f"{where}: its premise {show_fact(each)} has no step"
                for each in step.premises
                if isinstance(each, tuple) and each not in proof.steps
            ]
    return found or _cycles(proof)


def _faults(step: Derived, program: Program, known: Relations) -> Iterator[str]:
    """Yield what is wrong with one derivation."""
    number = step.rule.number
    if not 0 <= number < len(program.rules):
        yield f"there is no rule {number}"
        return
    rule, binding = program.rules[number], dict(step.binding)
    if (program.rule_ids[number], program.lines[number]) != (step.rule.id, step.rule.line):
        yield f"rule {number} is another one"
    needed = {
        t.name for part in rule.body if isinstance(part, Atom) for t in part.terms if isinstance(t, Var)
    }
    if set(binding) != needed:
        yield "the binding is not one of the rule's variables"
    elif (rule.head.name, *(value(term, binding) for term in rule.head.terms)) != step.fact:
        yield "the head is another fact"
    elif len(step.premises) != len(rule.body):
        yield f"{len(rule.body)} premises are needed, not {len(step.premises)}"
    else:
        for part, premise in zip(rule.body, step.premises, strict=True):
            if not _supports(premise, part, binding, known):
                yield f"{part} does not follow"


def _supports(premise: Premise, part: BodyAtom, binding: dict[str, str], known: Relations) -> bool:
    """Tell whether a premise says of an atom what is the case."""
    if isinstance(part, Atom):
        if not isinstance(premise, tuple) or (premise[0], len(premise) - 1) != part.predicate:
            return False
        return agree(part.terms, premise[1:], binding) == binding
    if not holds(part, binding, known):
        return False
    if isinstance(part, Negated):
        return isinstance(premise, Absent) and premise.size == len(known.get(part.atom.predicate, ()))
    if isinstance(part, Cardinality):
        return (
            isinstance(premise, Counted)
            and premise.found == len(matches(part.atom, binding, known))
            and all(agree(part.atom.terms, each[1:], binding) is not None for each in premise.examples)
            and all(each[1:] in known[part.atom.predicate] for each in premise.examples)
        )
    return isinstance(premise, Checked)


def _cycles(proof: Proof) -> list[str]:
    """Find facts that would be their own premise: whatever is left when what is supported is taken away."""
    waiting: dict[Fact, int] = {}
    users: dict[Fact, list[Fact]] = {}
    ready: list[Fact] = []
    for fact, step in proof.steps.items():
        needs = {p for p in step.premises if isinstance(p, tuple)} if isinstance(step, Derived) else set()
        waiting[fact] = len(needs)
        for each in needs:
            users.setdefault(each, []).append(fact)
        if not needs:
            ready.append(fact)
    while ready:
        fact = ready.pop()
        del waiting[fact]
        for user in users.get(fact, ()):
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    return [f"{show_fact(fact)} needs itself" for fact in waiting]
