"""Why a fact holds: a proof down to the given facts.

A result keeps for each fact the round that derived it. One derivation all of whose premises from the same
component are from earlier rounds exists, and looking for it again is cheaper than keeping it would have
been. Premises from lower components are complete before the first round, whatever their own rounds are.
"""

from __future__ import annotations

from lace.algebra import Budget
from lace.datalog.explain.order import Fetch, Route
from lace.datalog.explain.paths import Closure, Middles
from lace.datalog.explain.proof import Derived, Given, Premise, Proof, Step, show_fact
from lace.datalog.explain.search import RuleCase, Search, WrongResult
from lace.facts import Fact, Predicate, Values


def prove(search: Search, fact: Fact, budget: Budget) -> Proof:
    """Return a proof of a fact that is known."""
    return Proof(fact, _Prover(search, budget).steps(fact))


class _Prover:
    """Finds the steps of one proof."""

    def __init__(self, search: Search, budget: Budget) -> None:
        self._search = search
        self._budget = budget
        self._closures: dict[Predicate, Closure] = {}
        self._middles: dict[Predicate, Middles] = {}
        self._steps: dict[Fact, Step] = {}
        self._waiting: list[tuple[Predicate, Fact]] = []

    def steps(self, goal: Fact) -> dict[Fact, Step]:
        """Return the step of the goal and of every fact below it."""
        steps, waiting = self._steps, self._waiting
        waiting.append((Predicate(goal[0], len(goal) - 1), goal))
        while waiting:
            predicate, fact = waiting.pop()
            if fact not in steps:
                steps[fact] = self._step(predicate, fact)
        return steps

    def _step(self, predicate: Predicate, fact: Fact) -> Step:
        """Return how one fact came about."""
        search, values = self._search, fact[1:]
        if predicate not in search.program.heads or search.result.is_given(predicate, values):
            return Given(fact)
        cases = search.cases(predicate)
        before = search.result.step(predicate, values)
        # A round after the first one is the work of a recursive rule, nearly always.
        for recursive in (True, False) if before else (False, True):
            for case in cases:
                if case.recursive is recursive:
                    found = self._by_rule(case, fact, values, before)
                    if found is not None:
                        return found
            if not recursive and before == 0:
                found = self._by_closure(predicate, cases, fact, values)
                if found is not None:
                    return found
        raise WrongResult(fact=show_fact(fact))

    def _by_rule(self, case: RuleCase, fact: Fact, values: Values, before: int | None) -> Derived | None:
        binding = case.match(values)
        if binding is None:
            return None
        route = self._search.route(case, binding)
        for rows in self._search.solve(route, binding, self._budget, before):
            return self._derived(case, route, rows, binding, fact)
        return None

    def _by_closure(
        self, predicate: Predicate, cases: tuple[RuleCase, ...], fact: Fact, values: Values
    ) -> Derived | None:
        component = self._search.components.get(predicate)
        if component is None or component.closure is None:
            return None
        closure = self._closures.get(predicate)
        if closure is None:
            closure = self._closures[predicate] = Closure(predicate, cases, self._search.result)
        middles = self._middles.setdefault(predicate, {})
        middle = closure.middle_of(values, middles, self._budget)
        if middle is None:
            return None
        case = closure.step
        binding = case.match(values)
        assert binding is not None, "the head of a closure is two variables"
        binding[closure.middle] = middle
        route = self._search.route(case, binding)
        rows = next(self._search.solve(route, binding, self._budget))
        return self._derived(case, route, rows, binding, fact)

    def _derived(
        self, case: RuleCase, route: Route, rows: list[Values], binding: dict[str, str], fact: Fact
    ) -> Derived:
        premises: list[Premise] = [()] * len(rows)
        for move, row in zip(route.moves, rows, strict=True):
            if isinstance(move, Fetch):
                premise = premises[move.at] = (move.predicate.name, *row)
                self._waiting.append((move.predicate, premise))
            else:
                premises[move.at] = self._search.premise(move, row, binding, self._budget)
        return Derived(fact, case.name, binding, tuple(premises))
