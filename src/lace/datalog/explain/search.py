"""Finding out how facts come about, by lookups in a result (the explainer's side of the engine port).

Rules of this file:
1. Everything that is known comes from the result. A relation that a rewrite took out of the program is
   worked out from its own rules, for the values that are asked about.
2. No recursion along bodies or proofs, and every candidate is counted against the budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice

from lace.algebra import Budget, RankTest, RelationProgram, Result, int_compare
from lace.datalog.explain.order import Ask, Fetch, Move, Route, make_route
from lace.datalog.explain.proof import Absent, Counted, NamedRule, Premise, Tested, substitute
from lace.datalog.meaning import agree, holds, value
from lace.datalog.program import Program
from lace.datalog.rules import Atom, Cardinality, Negated, Rule, Var
from lace.errors import InputError
from lace.facts import Fact, Predicate, Values

EXAMPLES = 3
"""So many facts are shown where many were counted."""

_YES: Values = ()
_NONE: tuple[Values, ...] = ()


class NotEvaluated(InputError):
    """A question about a predicate that the evaluation had no need of."""

    code = "explain/not-evaluated"
    text = (
        "{predicate} was not evaluated: evaluate the program again with {predicate} among the wanted outputs"
    )


class WrongResult(InputError):
    """A result that the rules do not account for."""

    code = "explain/wrong-result"
    text = "no rule derives {fact} from the facts of this result: it belongs to another program"


@dataclass(slots=True)
class Meter:
    """How many candidates may still be looked at, where there is a bound of their own."""

    left: int
    cut: bool = False

    def take(self) -> bool:
        """Take one, if there is one left."""
        self.cut = self.left <= 0
        self.left -= 1
        return not self.cut


def take_step(budget: Budget, predicate: Predicate) -> None:
    """Count one candidate, and look at the clock now and then."""
    budget.take_steps(1, predicate)
    if not budget.steps & 1023:
        budget.check_time(predicate)


class RuleCase:
    """One rule, ready to be searched."""

    __slots__ = ("head", "name", "own", "recursive", "routes", "rule")

    def __init__(self, rule: Rule, name: NamedRule, own: frozenset[Predicate]) -> None:
        self.rule = rule
        self.name = name
        self.own = own
        self.recursive = any(isinstance(part, Atom) and part.predicate in own for part in rule.body)
        names = [term.name for term in rule.head.terms if isinstance(term, Var)]
        plain = len(set(names)) == len(rule.head.terms)
        self.head = tuple(names) if plain else None
        """The variables of a head that is nothing but different variables."""
        self.routes: dict[tuple[int, frozenset[str]], Route] = {}

    def match(self, values: Values) -> dict[str, str] | None:
        """Return the binding under which the head is a fact, if there is one."""
        if self.head is not None:
            return dict(zip(self.head, values, strict=True))
        return agree(self.rule.head.terms, values, {})


class Search:
    """The rules of a compiled program beside what an engine made of it."""

    def __init__(self, compiled: RelationProgram, result: Result) -> None:
        program = compiled.source
        assert isinstance(program, Program), "compile_program puts it there"
        self.program = program
        self.result = result
        self.components = {p: each for each in compiled.components for p in each.predicates}
        self.ranked = {
            step.counted
            for component in compiled.components
            for rule in component.rules
            for step in rule.whole.steps
            if isinstance(step, RankTest)
        }
        self._cases: dict[Predicate, tuple[RuleCase, ...]] = {}

    def cases(self, predicate: Predicate) -> tuple[RuleCase, ...]:
        """Return the rules for a predicate, or raise that nothing is known about it."""
        cases = self._cases.get(predicate)
        if cases is None:
            heads = self.program.heads
            if predicate in heads and predicate not in self.components and predicate not in self.ranked:
                raise NotEvaluated(predicate=predicate)
            component = self.components.get(predicate)
            own = frozenset(component.predicates) if component is not None else frozenset()
            cases = self._cases[predicate] = tuple(
                RuleCase(rule, NamedRule(at, self.program.rule_ids[at], self.program.lines[at]), own)
                for at, rule in enumerate(self.program.rules)
                if rule.head.predicate == predicate
            )
        return cases

    def route(self, case: RuleCase, bound: Iterable[str], chosen: Sequence[int] | None = None) -> Route:
        """Return the order in which to look up a body, or the first so many atoms of one."""
        parts = range(len(case.rule.body)) if chosen is None else chosen
        key = (len(parts), frozenset(bound))
        route = case.routes.get(key)
        if route is None:
            route = case.routes[key] = make_route(case.rule, parts, key[1], case.own, self.result.size)
        return route

    # What is known

    def knows(self, predicate: Predicate, values: Values, budget: Budget) -> bool:
        """Tell whether a fact is known, or raise that nobody can tell."""
        if predicate in self.ranked:
            known = self._pairs(predicate, values, budget)
        else:
            known = self.result.lookup(predicate, values)
        if next(known, None) is not None:
            return True
        self.cases(predicate)
        return False

    def matching(self, fetch: Fetch, binding: dict[str, str], budget: Budget) -> Iterator[Values]:
        """Yield the facts that agree with an atom, each once."""
        pattern = fetch.pattern(binding)
        if fetch.predicate in self.ranked:
            rows = self._pairs(fetch.predicate, pattern, budget)
        else:
            rows = self.result.lookup(fetch.predicate, pattern)
        if not fetch.same:
            return rows
        return (row for row in rows if all(row[one] == row[other] for one, other in fetch.same))

    def _pairs(
        self, predicate: Predicate, pattern: tuple[str | None, ...], budget: Budget
    ) -> Iterator[Values]:
        """Yield the facts of a relation that is not kept, from its own rules."""
        seen: set[Values] = set()
        for values in self.result.lookup(predicate, pattern):
            seen.add(values)
            yield values
        for case in self.cases(predicate):
            head = case.rule.head.terms
            wanted = [(term, text) for term, text in zip(head, pattern, strict=True) if text is not None]
            binding = agree(tuple(term for term, _ in wanted), tuple(text for _, text in wanted), {})
            if binding is not None:
                for _ in self.solve(self.route(case, binding), binding, budget):
                    values = tuple([value(term, binding) for term in head])
                    if values not in seen:
                        seen.add(values)
                        yield values

    # Bodies

    def solve(
        self,
        route: Route,
        binding: dict[str, str],
        budget: Budget,
        before: int | None = None,
        meter: Meter | None = None,
    ) -> Iterator[list[Values]]:
        """Yield the rows of each solution, one for each move, with the binding filled in.

        Where `before` is given, facts of the rule's own component must be from an earlier round.
        """
        moves, needs, limit = route.moves, route.needs, budget.limits.steps
        last = len(moves) - 1
        rows: list[Values] = [_YES] * len(moves)
        faults = [0] * len(moves)
        opened = [self._candidates(moves[0], binding, budget, before)]
        depth = 0
        while True:
            row = next(opened[depth], None)
            if row is None:
                # Back to the latest move on which this failure depends: those between cannot mend it.
                fault = faults[depth] | needs[depth]
                depth = fault.bit_length() - 1
                if depth < 0:
                    return
                del opened[depth + 1 :]
                faults[depth] |= fault ^ (1 << depth)
                continue
            move = moves[depth]
            rows[depth] = row
            if isinstance(move, Fetch):
                budget.steps += 1
                if budget.steps > limit or not budget.steps & 1023:
                    take_step(budget, move.predicate)
                if meter is not None and not meter.take():
                    return
                for place, name in move.bind:
                    binding[name] = row[place]
            if depth == last:
                yield rows
                faults[depth] = (1 << depth) - 1
            else:
                depth += 1
                faults[depth] = 0
                opened.append(self._candidates(moves[depth], binding, budget, before))

    def _candidates(
        self, move: Move, binding: dict[str, str], budget: Budget, before: int | None
    ) -> Iterator[Values]:
        if isinstance(move, Ask):
            return iter((_YES,) if self.asked(move, binding, budget) else _NONE)
        if before is None or not move.own:
            rows = self.matching(move, binding, budget)
        elif move.whole:
            values: tuple[Values, ...] = (move.pattern(binding),)  # type: ignore[assignment]
            return iter(values if self._earlier(move.predicate, values[0], before) else _NONE)
        else:
            found = self.matching(move, binding, budget)
            rows = (row for row in found if self._earlier(move.predicate, row, before))
        # Where nothing is bound, one partner is as good as another.
        return rows if move.bind else islice(rows, 1)

    def _earlier(self, predicate: Predicate, row: Values, before: int) -> bool:
        step = self.result.step(predicate, row)
        return (step is not None and step < before) or self.result.is_given(predicate, row)

    def asked(self, ask: Ask, binding: dict[str, str], budget: Budget) -> bool:
        """Tell whether a negated, counted or built-in atom holds."""
        part = ask.part
        if isinstance(part, Negated):
            assert ask.fetch is not None
            return next(self.matching(ask.fetch, binding, budget), None) is None
        if isinstance(part, Cardinality):
            assert ask.fetch is not None
            # One more than the bound settles it. A number of many digits is more than anybody counts to.
            enough = max(0, int(part.count) + 1) if len(part.count) < 16 else None
            found = self._count(ask.fetch, binding, budget, enough)
            return int_compare(str(found), part.op, part.count)
        return holds(part, binding, {})

    def _count(self, fetch: Fetch, binding: dict[str, str], budget: Budget, enough: int | None) -> int:
        free = len(fetch.template) - len(fetch.fill) - sum(value is not None for value in fetch.template)
        if free == len(fetch.template) and not fetch.same and fetch.predicate not in self.ranked:
            return self.result.size(fetch.predicate)
        found = 0
        for _ in islice(self.matching(fetch, binding, budget), enough):
            take_step(budget, fetch.predicate)
            found += 1
        return found

    # What is shown

    def premise(self, move: Move, row: Values, binding: dict[str, str], budget: Budget) -> Premise:
        """Return what a move found as a premise."""
        if isinstance(move, Fetch):
            return (move.predicate.name, *row)
        part = substitute(move.part, binding)
        if isinstance(part, Negated):
            return Absent(part.atom, self.result.size(part.atom.predicate))
        if isinstance(part, Cardinality):
            assert move.fetch is not None
            found, examples = self.agreeing(move.fetch, binding, budget)
            return Counted(part, found, examples)
        assert not isinstance(part, Atom | Negated | Cardinality)
        return Tested(part)

    def agreeing(self, fetch: Fetch, binding: dict[str, str], budget: Budget) -> tuple[int, tuple[Fact, ...]]:
        """Count the facts that agree with an atom and return the first of them in the order of text."""
        found = 0

        def counted() -> Iterator[Values]:
            nonlocal found
            for row in self.matching(fetch, binding, budget):
                take_step(budget, fetch.predicate)
                found += 1
                yield row

        examples = nsmallest(EXAMPLES, counted())
        return found, tuple((fetch.predicate.name, *row) for row in examples)
