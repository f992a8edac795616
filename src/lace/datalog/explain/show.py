"""Proofs and why-nots as text for people.

    Member('r7')  by rule 1: Member(Q) :- Member(P), Have(Q), RecordLink(P,'evidence',_,_,Q).
      where P='r3', Q='r7'
      Member('r3')  by rule 0: …
      RecordLink('r3','evidence','0','d','r7')  given

Rules of this file:
1. A fact is explained where it is first met and only named after that.
2. What is shown may come from a stranger: lines are cut to a width, and control characters are taken out.
"""

from __future__ import annotations

from collections.abc import Iterator

from lace.datalog.diagnostics import shown
from lace.datalog.explain.proof import (
    Absent,
    Binding,
    Checked,
    Counted,
    Given,
    NamedRule,
    Premise,
    Proof,
    show_fact,
)
from lace.datalog.explain.whynot import Obstacle, OtherHead, Present, Stopped, Unmatched, WhyNot
from lace.facts import Fact, Predicate

DEPTH = 12
"""How many steps below the goal are shown."""
BREADTH = 24
"""How many premises of one step are shown."""
WIDTH = 160
"""How long a line gets."""


def show_proof(proof: Proof, depth: int = DEPTH, breadth: int = BREADTH, width: int = WIDTH) -> str:
    """Write a proof as a tree, each premise indented below what it supports."""
    return "\n".join(shown(line, width) for line in _tree(proof, depth, breadth))


def _tree(proof: Proof, depth: int, breadth: int) -> Iterator[str]:
    explained: set[Fact] = set()
    waiting: list[tuple[int, Premise | str]] = [(0, proof.goal)]
    while waiting:
        level, each = waiting.pop()
        indent = "  " * level
        if isinstance(each, str):
            yield indent + each
            continue
        if not isinstance(each, tuple):
            yield indent + _premise(each)
            continue
        step = proof.steps[each]
        if isinstance(step, Given):
            yield f"{indent}{show_fact(each)}  given"
        elif each in explained:
            yield f"{indent}{show_fact(each)}  as above"
        elif level >= depth:
            yield f"{indent}{show_fact(each)}  by rule {step.rule.number} …"
        else:
            explained.add(each)
            yield f"{indent}{show_fact(each)}  by rule {step.rule.number}: {step.rule.line}"
            if step.binding:
                yield f"{indent}  where {_binding(step.binding)}"
            left = len(step.premises) - breadth
            if left > 0:
                waiting.append((level + 1, f"… and {left} more"))
            waiting += [(level + 1, one) for one in reversed(step.premises[:breadth])]


def show_why_not(answer: WhyNot, depth: int = DEPTH, breadth: int = BREADTH, width: int = WIDTH) -> str:
    """Write for each rule how far its body holds, and the atom that stops it."""
    if answer.proof is not None:
        return f"{shown(show_fact(answer.fact), width)} holds.\n" + show_proof(
            answer.proof, depth, breadth, width
        )
    return "\n".join(shown(line, width) for line in _answer(answer, breadth))


def _answer(answer: WhyNot, breadth: int) -> Iterator[str]:
    yield f"{show_fact(answer.fact)} does not hold."
    if not answer.rules:
        predicate = Predicate(answer.fact[0], len(answer.fact) - 1)
        yield f"It was not given, and no rule derives {predicate}."
    for each in answer.rules:
        yield _rule(each.rule)
        if isinstance(each, OtherHead):
            yield f"  ✗ its head {each.head} cannot be this fact"
        else:
            yield from _stopped(each, breadth)


def _stopped(each: Stopped, breadth: int) -> Iterator[str]:
    if each.binding:
        yield f"  where {_binding(each.binding)}"
    for premise in each.satisfied[:breadth]:
        yield f"  ✓ {show_fact(premise) if isinstance(premise, tuple) else _premise(premise)}"
    if len(each.satisfied) > breadth:
        yield f"  … and {len(each.satisfied) - breadth} more that hold"
    yield f"  ✗ {_obstacle(each.failed)}"
    if each.cut:
        yield "  … not every substitution was tried: another one may get further"


def _rule(rule: NamedRule) -> str:
    return f"rule {rule.number}: {rule.line}"


def _binding(binding: Binding) -> str:
    return ", ".join(f"{name}={show_fact(('', text))[1:-1]}" for name, text in sorted(binding.items()))


def _premise(premise: Absent | Counted | Checked) -> str:
    match premise:
        case Absent(pattern, size):
            return f"{premise}  none of {_facts(size, pattern.predicate)}"
        case Counted():
            return f"{premise}  {_counted(premise)}"
    return f"{premise}  true"


def _obstacle(failed: Obstacle) -> str:
    match failed:
        case Unmatched(pattern, size):
            return f"{failed}  none of {_facts(size, pattern.predicate)}"
        case Present(_, found, examples):
            return f"{failed}  {found} in the way: {_examples(found, examples)}"
        case Counted():
            return f"{failed}  {_counted(failed)}"
    return f"{failed}  false"


def _counted(counted: Counted) -> str:
    return f"{counted.found} found" + (
        f": {_examples(counted.found, counted.examples)}" if counted.examples else ""
    )


def _facts(size: int, predicate: Predicate) -> str:
    return f"{size} facts of {predicate}" if size != 1 else f"1 fact of {predicate}"


def _examples(found: int, examples: tuple[Fact, ...]) -> str:
    return ", ".join(map(show_fact, examples)) + (", …" if found > len(examples) else "")
