"""Random programs that see some of their base relations through a view."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from lace.algebra import RelationProgram, restrict
from lace.datalog import Program, compile_program, parse_program
from lace.facts import Fact, Predicate
from tests.datalog.programs import random_case

VIEW = Predicate("Seen", 1)


@dataclass(frozen=True)
class ViewCase:
    """A program, its restricted form, and facts of which a view shows some."""

    program: Program
    plain: RelationProgram
    restricted: RelationProgram
    predicates: frozenset[Predicate]
    facts: tuple[Fact, ...]
    values: tuple[str, ...]

    def shows(self, fact: Fact, view: set[str]) -> bool:
        """Tell whether a fact is visible."""
        return Predicate(fact[0], len(fact) - 1) not in self.predicates or fact[1] in view

    def visible(self, facts: set[Fact], view: set[str]) -> set[Fact]:
        """Return the facts that a view shows."""
        return {fact for fact in facts if self.shows(fact, view)}


def view_case(seed: int) -> ViewCase:
    """Make the case with this number; the relation of four places is kept apart by name."""
    case = random_case(seed)
    dice = Random(f"view {seed}")
    arity_four = {fact for fact in case.facts if len(fact) == 5}
    facts = [("Field", *fact[1:]) if fact in arity_four else fact for fact in case.facts]
    program = parse_program(_with_fields(case.program))
    base = sorted({Predicate("Field", 4), Predicate("V", 1), Predicate("E", 2), Predicate("T", 3)})
    predicates = frozenset(dice.sample(base, dice.randint(1, len(base))))
    values = tuple(sorted({fact[1] for fact in facts if len(fact) > 1}))
    plain = compile_program(program)
    return ViewCase(program, plain, restrict(plain, VIEW, predicates), predicates, tuple(facts), values)


def _with_fields(text: str) -> str:
    """Call the base predicate A/4 Field: engines keep that one apart by its second value."""
    program = parse_program(text)
    lines = []
    for rule in program.rules:
        line = str(rule)
        for part in rule.body:
            atom = getattr(part, "atom", part)
            if getattr(atom, "predicate", None) == ("A", 4):
                line = line.replace(str(atom), f"Field{str(atom)[1:]}")
        lines.append(line)
    return "\n".join(lines)
