"""Solving the bodies of rules by lookups in a result (the explainer's side of the engine port).

Rules of this file:
1. Everything that is known comes from the result. A relation that a rewrite took out of the program is
   worked out from its own rules, for the values that are asked about.
2. No recursion along bodies or proofs, and every candidate is counted against the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from lace.algebra import Budget, RankTest, RelationProgram, Result, int_compare, scans
from lace.datalog.explain.order import Fetch, Move, Route, make_route
from lace.datalog.explain.proof import NamedRule
from lace.datalog.meaning import Binding, agree, holds, value
from lace.datalog.program import Program
from lace.datalog.rules import Atom, BodyAtom, Cardinality, Rule, Var
from lace.errors import InputError
from lace.facts import Predicate, Values

_YES: tuple[Values, ...] = ((),)
_NO: tuple[Values, ...] = ()

Look: TypeAlias = Callable[[Binding, Budget, int | None], Iterable[Values]]
"""Finds the candidates of one move. Where a round is given, facts of the rule's own component must be from
an earlier one; a test has one candidate, which says nothing, or none."""


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


class SeenThroughView(InputError):
    """A question about a program whose rules read some facts through a view."""

    code = "explain/seen-through-view"
    text = (
        "rules for {predicate} read facts through a view, and a result holds those that it hides too:"
        " explain the program as it was before, over what the view shows"
    )


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


def take_step(budget: Budget, where: object) -> None:
    """Count one candidate, and look at the clock now and then."""
    budget.take_steps(1, where)
    if not budget.steps & 1023:
        budget.check_time(where)


class Ready:
    """A route with the lookups that it makes in one result."""

    __slots__ = ("binds", "looks", "moves", "needs")

    def __init__(self, route: Route, looks: tuple[Look, ...]) -> None:
        self.moves = route.moves
        self.needs = route.needs
        self.looks = looks
        self.binds = tuple(move.bind if isinstance(move, Fetch) else () for move in route.moves)


class RuleCase:
    """One rule, ready to be searched."""

    __slots__ = ("name", "own", "plain", "recursive", "routes", "rule")

    def __init__(self, rule: Rule, name: NamedRule, own: frozenset[Predicate]) -> None:
        self.rule = rule
        self.name = name
        self.own = own
        self.recursive = any(isinstance(part, Atom) and part.predicate in own for part in rule.body)
        names = {term.name for term in rule.head.terms if isinstance(term, Var)}
        self.plain = len(names) == len(rule.head.terms)
        """Whether the head is nothing but different variables."""
        self.routes: dict[tuple[int, frozenset[str]], Ready] = {}

    def match(self, values: Values) -> Binding | None:
        """Return the binding under which the head is a fact, if there is one."""
        return agree(self.rule.head.terms, values, {})


class Search:
    """The rules of a compiled program beside what an engine made of it."""

    def __init__(self, compiled: RelationProgram, result: Result) -> None:
        program = compiled.source
        assert isinstance(program, Program), "compile_program puts it there"
        self.program = program
        for component in compiled.components:
            if any(scan.view is not None for rule in component.rules for scan in scans(rule.source)):
                raise SeenThroughView(predicate=component.predicates[0])
        self.result = result
        self.heads = program.heads
        self.components = {p: each for each in compiled.components for p in each.predicates}
        self.ranked = {
            step.counted
            for component in compiled.components
            for rule in component.rules
            for step in rule.source.steps
            if isinstance(step, RankTest)
        }
        self._cases: dict[Predicate, tuple[RuleCase, ...]] = {}

    def cases(self, predicate: Predicate) -> tuple[RuleCase, ...]:
        """Return the rules for a predicate, or raise that nothing is known about it."""
        cases = self._cases.get(predicate)
        if cases is None:
            component = self.components.get(predicate)
            if component is None and predicate in self.heads and predicate not in self.ranked:
                raise NotEvaluated(predicate=predicate)
            own = frozenset(() if component is None else component.predicates)
            cases = self._cases[predicate] = tuple(
                RuleCase(rule, NamedRule(at, self.program.rule_ids[at], self.program.lines[at]), own)
                for at, rule in enumerate(self.program.rules)
                if rule.head.predicate == predicate
            )
        return cases

    def route(self, case: RuleCase, bound: Iterable[str], chosen: Sequence[int] | None = None) -> Ready:
        """Return the order in which to look up a body, or the first so many atoms of one."""
        parts = range(len(case.rule.body)) if chosen is None else chosen
        key = (len(parts), frozenset(bound))
        ready = case.routes.get(key)
        if ready is None:
            route = make_route(case.rule, parts, key[1], case.own, self.result.size)
            ready = case.routes[key] = Ready(route, tuple(map(self.look, route.moves)))
        return ready

    def knows(self, predicate: Predicate, values: Values, budget: Budget) -> bool:
        """Tell whether a fact is known, or raise that nobody can tell."""
        if predicate in self.components:
            return self.result.step(predicate, values) is not None or self.result.is_given(predicate, values)
        if any(True for _ in self.result.lookup(predicate, values)):
            return True
        self.cases(predicate)
        return predicate in self.ranked and bool(self._pairs(predicate, values, budget))

    # Bodies

    def solve(
        self,
        route: Ready,
        binding: Binding,
        budget: Budget,
        before: int | None = None,
        meter: Meter | None = None,
        each: Callable[[], None] | None = None,
    ) -> list[Values] | None:
        """Return the rows of the first solution, one for each move, with the binding filled in.

        Where `before` is given, facts of the rule's own component must be from an earlier round. Where
        `each` is given it is called for every solution and none is returned.
        """
        looks, binds, needs, limit = route.looks, route.binds, route.needs, budget.limits.steps
        last = len(looks) - 1
        rows: list[Values] = [()] * len(looks)
        faults = [0] * len(looks)
        opened: list[Iterator[Values]] = []
        depth = 0
        while True:
            if depth == len(opened):
                faults[depth] = 0
                opened.append(iter(looks[depth](binding, budget, before)))
            for row in opened[depth]:
                rows[depth] = row
                for place, name in binds[depth]:
                    binding[name] = row[place]
                budget.steps += 1
                if budget.steps > limit or not budget.steps & 1023:
                    budget.take_steps(0, route.moves[depth])
                    budget.check_time(route.moves[depth])
                if meter is not None and not meter.take():
                    return None
                if depth < last:
                    depth += 1
                    break
                if each is None:
                    return rows
                each()
                faults[depth] = (1 << depth) - 1
            else:
                # Back to the latest move on which this failure depends: those between cannot mend it.
                fault = faults[depth] | needs[depth]
                depth = fault.bit_length() - 1
                if depth < 0:
                    return None
                del opened[depth + 1 :]
                faults[depth] |= fault ^ (1 << depth)

    # Single moves

    def look(self, move: Move) -> Look:
        """Return how to find the candidates of a move."""
        if not isinstance(move, Fetch):
            return self._ask(move.part, move.fetch)
        find = self.find(move)
        if not move.own:
            return find
        predicate, step, is_given = move.predicate, self.result.step, self.result.is_given

        def earlier(row: Values, before: int) -> bool:
            found = step(predicate, row)
            return (found is not None and found < before) or is_given(predicate, row)

        def look(binding: Binding, budget: Budget, before: int | None) -> Iterable[Values]:
            if before is None:
                return find(binding, budget, None)
            if move.whole:
                row = move.whole_row(binding)
                return (row,) if earlier(row, before) else _NO
            return (row for row in find(binding, budget, None) if earlier(row, before))

        return look

    def find(self, fetch: Fetch) -> Look:
        """Return how to find the facts that agree with an atom, each once, whatever their round."""
        predicate, names, same = fetch.predicate, tuple(name for _, name in fetch.fill), fetch.same
        find: Look
        if predicate in self.ranked:

            def find(binding: Binding, budget: Budget, before: int | None) -> Iterable[Values]:
                return self._pairs(predicate, fetch.pattern(binding), budget)

        else:
            ask = self.result.finder(predicate, fetch.template, tuple(place for place, _ in fetch.fill))
            if len(names) == 1:
                name = names[0]

                def find(binding: Binding, budget: Budget, before: int | None) -> Iterable[Values]:
                    return ask((binding[name],))

            else:

                def find(binding: Binding, budget: Budget, before: int | None) -> Iterable[Values]:
                    return ask(tuple([binding[name] for name in names]))

        if not same:
            return find
        return lambda binding, budget, before: (
            row for row in find(binding, budget, before) if all(row[one] == row[other] for one, other in same)
        )

    def _ask(self, part: BodyAtom, fetch: Fetch | None) -> Look:
        """Return how to ask a negated, counted or built-in atom."""
        if fetch is None:
            return lambda binding, budget, before: _YES if holds(part, binding, {}) else _NO
        find = self.find(fetch)
        if not isinstance(part, Cardinality):
            return lambda binding, budget, before: (
                _YES if next(iter(find(binding, budget, None)), None) is None else _NO
            )
        op, bound = part.op, part.count
        # One more than the bound settles it. A number of many digits is more than anybody counts to.
        enough = max(0, int(bound) + 1) if len(bound) < 16 else None

        def compare(binding: Binding, budget: Budget, before: int | None) -> Iterable[Values]:
            found = 0
            for _ in islice(find(binding, budget, None), enough):
                take_step(budget, fetch.predicate)
                found += 1
            return _YES if int_compare(str(found), op, bound) else _NO

        return compare

    def _pairs(self, predicate: Predicate, pattern: tuple[str | None, ...], budget: Budget) -> list[Values]:
        """Return the facts of a relation that is not kept, from its own rules."""
        found = dict.fromkeys(self.result.lookup(predicate, pattern))
        for case in self.cases(predicate):
            head = case.rule.head.terms
            wanted = [(term, text) for term, text in zip(head, pattern, strict=True) if text is not None]
            binding = agree(tuple(term for term, _ in wanted), tuple(text for _, text in wanted), {})
            if binding is not None:
                self._take_heads(case, binding, budget, found)
        return list(found)

    def _take_heads(
        self, case: RuleCase, binding: Binding, budget: Budget, found: dict[Values, None]
    ) -> None:
        head = case.rule.head.terms

        def take() -> None:
            found[tuple([value(term, binding) for term in head])] = None

        self.solve(self.route(case, binding), binding, budget, each=take)
