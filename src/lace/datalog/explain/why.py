"""Why a fact holds: a proof down to the given facts.

A result keeps for each fact the round that derived it. One derivation all of whose premises from the same
component are from earlier rounds exists, and looking for it again is cheaper than keeping it would have
been. Premises from lower components are complete before the first round, whatever their own rounds are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lace.algebra import Budget
from lace.datalog.explain.order import Fetch
from lace.datalog.explain.paths import Closure, Middles
from lace.datalog.explain.premises import make_premise
from lace.datalog.explain.proof import Derived, Given, Premise, Proof, Step, show_fact
from lace.datalog.explain.quickstep import Derive, Waiting, make_derive
from lace.datalog.explain.search import Ready, RuleCase, Search, WrongResult
from lace.datalog.meaning import Binding
from lace.facts import Fact, Predicate, Values

_PLACE = Given(())
"""Stands where a step is about to be, so that a fact comes before its premises."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one predicate, each with its function where it has one."""

    plain: tuple[tuple[RuleCase, Derive | None], ...]
    recursive: tuple[tuple[RuleCase, Derive | None], ...]
    closure: Closure | None


@dataclass(frozen=True, slots=True)
class Question:
    """One proof in the making."""

    budget: Budget
    steps: dict[Fact, Step] = field(default_factory=dict)
    waiting: list[Waiting] = field(default_factory=list)
    middles: dict[Predicate, Middles] = field(default_factory=dict)


class Prover:
    """Finds proofs in one result."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._rules: dict[Predicate, Rules] = {}

    def prove(self, goal: Fact, budget: Budget) -> Proof:
        """Return a proof of a fact that is known."""
        question = Question(budget)
        steps, waiting = question.steps, question.waiting
        heads, is_given = self._search.heads, self._search.result.is_given
        waiting.append((Predicate(goal[0], len(goal) - 1), goal, None))
        while waiting:
            predicate, fact, before = waiting.pop()
            if fact in steps:
                continue
            if predicate in heads and not is_given(predicate, fact[1:]):
                steps[fact] = _PLACE
                budget.take_steps(1, predicate)
                steps[fact] = self._derive(question, predicate, fact, before)
            else:
                steps[fact] = Given(fact)
        return Proof(goal, steps)

    def _derive(self, question: Question, predicate: Predicate, fact: Fact, before: int | None) -> Derived:
        """Return how a fact came about that was not given."""
        rules = self._rules.get(predicate) or self._rules_of(predicate)
        if before is None:
            before = self._search.result.step(predicate, fact[1:])
            if before is None and predicate not in self._search.ranked:
                raise WrongResult(fact=show_fact(fact))
        # A round after the first one is the work of a recursive rule, nearly always. In a closure an edge
        # stands for itself: ways of the first round may end with one that came later.
        later = bool(before) and rules.closure is None
        found = self._by_rules(question, rules.recursive if later else rules.plain, fact, before)
        if found is None and rules.closure is not None and before == 0:
            found = self._by_closure(question, rules.closure, predicate, fact)
        if found is None:
            found = self._by_rules(question, rules.plain if later else rules.recursive, fact, before)
        if found is None:
            raise WrongResult(fact=show_fact(fact))
        return found

    def _rules_of(self, predicate: Predicate) -> Rules:
        search = self._search
        cases = search.cases(predicate)
        component = search.components.get(predicate)
        closed = component is not None and component.closure is not None
        ways: dict[bool, list[tuple[RuleCase, Derive | None]]] = {False: [], True: []}
        for case in cases:
            ways[case.recursive].append((case, make_derive(search, case)))
        rules = self._rules[predicate] = Rules(
            tuple(ways[False]),
            tuple(ways[True]),
            Closure(predicate, cases, search.result) if closed else None,
        )
        return rules

    def _by_rules(
        self,
        question: Question,
        ways: tuple[tuple[RuleCase, Derive | None], ...],
        fact: Fact,
        before: int | None,
    ) -> Derived | None:
        """Return the step by the first of some rules that derives a fact."""
        for case, derive in ways:
            found: Derived | bool | None = False
            if derive is not None:
                found = derive(fact, before, question.steps, question.waiting.append, question.budget)
            if found is False:
                found = self._by_search(question, case, fact, before)
            if isinstance(found, Derived):
                return found
        return None

    def _by_search(
        self, question: Question, case: RuleCase, fact: Fact, before: int | None
    ) -> Derived | None:
        binding = case.match(fact[1:])
        if binding is None:
            return None
        route = self._search.route(case, binding)
        rows = self._search.solve(route, binding, question.budget, before)
        return None if rows is None else self._derived(question, case, route, rows, binding, fact)

    def _by_closure(
        self, question: Question, closure: Closure, predicate: Predicate, fact: Fact
    ) -> Derived | None:
        middles = question.middles.setdefault(predicate, {})
        middle = closure.middle_of(fact[1:], middles, question.budget)
        if middle is None:
            return None
        binding = closure.step.match(fact[1:])
        assert binding is not None, "the head of a closure is two variables"
        binding[closure.middle] = middle
        route = self._search.route(closure.step, binding)
        rows = self._search.solve(route, binding, question.budget)
        assert rows is not None, "both hops are known"
        return self._derived(question, closure.step, route, rows, binding, fact)

    def _derived(
        self,
        question: Question,
        case: RuleCase,
        route: Ready,
        rows: list[Values],
        binding: Binding,
        fact: Fact,
    ) -> Derived:
        premises: list[Premise] = [()] * len(rows)
        for move, row in zip(route.moves, rows, strict=True):
            if isinstance(move, Fetch):
                premise = premises[move.at] = (move.predicate.name, *row)
                question.waiting.append((move.predicate, premise, None))
            else:
                premises[move.at] = make_premise(self._search, move, binding, question.budget)
        return Derived(fact, case.name, binding, tuple(premises))
