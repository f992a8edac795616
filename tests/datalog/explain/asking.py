"""Results to ask about: those of the oracle, with its rounds, and those of the embedded engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from lace.algebra import Result
from lace.datalog import Explainer, Program, Proof, WhyNot, compile_program, parse_program
from lace.datalog.meaning import Relations, apply
from lace.engines import Database
from lace.facts import Fact, Predicate, Values
from tests.datalog.programs import relations


class OracleResult:
    """What the oracle derives, round by round: the smallest thing that an explainer can work on."""

    def __init__(self, program: Program, facts: Iterable[Fact]) -> None:
        self._given = relations(facts)
        self._steps: dict[Predicate, dict[Values, int]] = {head: {} for head in program.heads}
        known: Relations = {predicate: set(rows) for predicate, rows in self._given.items()}
        for component in program.components:
            rules = program.rules_for(component)
            for number in range(10_000):
                new = {fact for rule in rules for fact in apply(rule, known)}
                fresh = [f for f in new if f[1:] not in self._steps[Predicate(f[0], len(f) - 1)]]
                if not fresh:
                    break
                for name, *values in fresh:
                    predicate = Predicate(name, len(values))
                    self._steps[predicate][tuple(values)] = number
                    known.setdefault(predicate, set()).add(tuple(values))
        self._known = known

    def facts(self, predicate: Predicate) -> list[Values]:
        return sorted(self._steps.get(predicate, ()))

    def count(self, predicate: Predicate) -> int:
        return len(self._steps.get(predicate, ()))

    def size(self, predicate: Predicate) -> int:
        return len(self._known.get(predicate, ()))

    def step(self, predicate: Predicate, values: Values) -> int | None:
        return self._steps.get(predicate, {}).get(values)

    def is_given(self, predicate: Predicate, values: Values) -> bool:
        return values in self._given.get(predicate, ())

    def finder(
        self, predicate: Predicate, template: tuple[str | None, ...], places: tuple[int, ...]
    ) -> Callable[[Values], Iterable[Values]]:
        def find(values: Values) -> Iterable[Values]:
            pattern = list(template)
            for place, text in zip(places, values, strict=True):
                pattern[place] = text
            return self.lookup(predicate, tuple(pattern))

        return find

    def lookup(self, predicate: Predicate, values: tuple[str | None, ...]) -> Iterator[Values]:
        for row in sorted(self._known.get(predicate, ())):
            if all(wanted in (None, text) for wanted, text in zip(values, row, strict=True)):
                yield row


def explainer(program: str | Program, facts: Iterable[Fact], *wanted: Predicate) -> Explainer:
    """Evaluate a program on the embedded engine and return who explains the result."""
    checked = program if isinstance(program, Program) else parse_program(program)
    compiled = compile_program(checked, wanted or None)
    return Explainer(compiled, Database(facts).evaluate(compiled).result())


def by_oracle(program: Program, facts: Iterable[Fact]) -> Explainer:
    """Evaluate a program by its meaning and return who explains the result."""
    result: Result = OracleResult(program, facts)
    return Explainer(compile_program(program), result)


def why(program: str, facts: Iterable[Fact], fact: Fact) -> Proof:
    """Prove a fact that holds."""
    proof = explainer(program, facts).why(fact)
    assert proof is not None
    return proof


def why_not(program: str, facts: Iterable[Fact], fact: Fact) -> WhyNot:
    """Ask why a fact does not hold."""
    return explainer(program, facts).why_not(fact)
