"""The step of a proof as a Python function: the common case, written out for one rule.

    def derive(fact, before, steps, wait, budget):
      (_, v0) = fact                               Member(Q) :- Member(P), Link(P,Q).
      for r0 in find0((v0,)):                      Link(P,Q) with Q known
        v1 = r0[0]
        s1 = step(own, (v1,))                      Member(P), and from an earlier round
        if s1 is not None and s1 < before …:
          return Derived(fact, rule, {'Q': v0, 'P': v1}, (…))

Most steps are found within a few candidates, and then following a route move by move costs more than the
lookups do. A function says what `Search.solve` would say, or gives up after a few candidates.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Any, Literal, TypeAlias

from lace.algebra import Budget
from lace.datalog.explain.order import Ask, Fetch, variables
from lace.datalog.explain.premises import make_premise
from lace.datalog.explain.proof import Derived, Given, Step
from lace.datalog.explain.search import RuleCase, Search
from lace.facts import Fact, Predicate

MOST_MOVES = 16
"""A longer body is searched in the general way: Python nests no more than twenty loops."""
MOST_CANDIDATES = 64
"""Past so many the general way is the better one: it knows where to go back to."""

Waiting: TypeAlias = tuple[Predicate, Fact, int | None]
"""A premise that needs a step of its own, and its round where that is known."""
Derive: TypeAlias = Callable[
    [Fact, int | None, dict[Fact, Step], Callable[[Waiting], None], Budget], Derived | Literal[False] | None
]
"""Returns the step, None where the rule does not derive the fact, False where it gave up."""


def make_derive(search: Search, case: RuleCase) -> Derive | None:
    """Write the function of a rule, if its shape is plain enough."""
    if not case.plain or len(case.rule.body) > MOST_MOVES:
        return None
    writer = _Writer(search, case)
    scope: dict[str, Any] = {}
    exec(_code_of(writer.source()), writer.scope, scope)
    derive: Derive = scope["derive"]
    return derive


@lru_cache(maxsize=256)
def _code_of(source: str) -> CodeType:
    """Compile a function once: every version of a result is explained by the same rules."""
    return compile(source, "<step>", "exec")


class _Writer:
    """Writes one function; `scope` holds what it calls."""

    def __init__(self, search: Search, case: RuleCase) -> None:
        self._search = search
        self._names = {name: f"v{at}" for at, name in enumerate(variables(case.rule.head))}
        self._route = search.route(case, self._names)
        self._lines: list[str] = []
        self._depth = 1
        self.scope: dict[str, Any] = {
            "Derived": Derived,
            "Given": Given,
            "rule": case.name,
            "step": search.result.step,
            "is_given": search.result.is_given,
            "make_premise": make_premise,
            "search": search,
        }

    def source(self) -> str:
        """Return the function as text."""
        self._lines.append("def derive(fact, before, steps, wait, budget):")
        self._write(f"(_, {''.join(f'{name}, ' for name in self._names.values())}) = fact")
        self._write("left = " + str(MOST_CANDIDATES))
        for number, move in enumerate(self._route.moves):
            if isinstance(move, Ask):
                self.scope[f"ask{number}"] = self._route.looks[number]
                self._open(f"if ask{number}({self._binding()}, budget, None):")
            else:
                self._fetch(number, move)
        self._finish()
        self._lines.append(" return None")
        return "\n".join(self._lines)

    def _write(self, line: str) -> None:
        self._lines.append(" " * self._depth + line)

    def _open(self, line: str) -> None:
        self._write(line)
        self._depth += 1

    def _binding(self) -> str:
        return "{" + ", ".join(f"{name!r}: {value}" for name, value in self._names.items()) + "}"

    def _fetch(self, number: int, fetch: Fetch) -> None:
        self.scope[f"own{number}"] = fetch.predicate
        row = f"r{number}"
        if fetch.own and fetch.whole:
            self._write(f"{row} = ({''.join(f'{value}, ' for value in self._values(number, fetch))})")
        else:
            places = tuple(place for place, _ in fetch.fill)
            self.scope[f"find{number}"] = self._search.result.finder(fetch.predicate, fetch.template, places)
            known = "".join(f"{self._names[name]}, " for _, name in fetch.fill)
            self._open(f"for {row} in find{number}(({known})):")
            self._write("left -= 1")
            self._write("if left < 0: return False")
            for place, name in fetch.bind:
                self._names[name] = f"v{len(self._names)}"
                self._write(f"{self._names[name]} = {row}[{place}]")
        if fetch.same:
            self._open(f"if {' and '.join(f'{row}[{one}] == {row}[{other}]' for one, other in fetch.same)}:")
        if fetch.own:
            self._write(f"s{number} = step(own{number}, {row})")
            self._open(f"if (s{number} is not None and s{number} < before) or is_given(own{number}, {row}):")

    def _values(self, number: int, fetch: Fetch) -> list[str]:
        """Return what stands at each place of an atom all of which is known."""
        names = dict(fetch.fill)
        values = []
        for place, text in enumerate(fetch.template):
            if text is None:
                values.append(self._names[names[place]])
            else:
                values.append(f"c{number}_{place}")
                self.scope[f"c{number}_{place}"] = text
        return values

    def _finish(self) -> None:
        """Write what a solution becomes."""
        self._write(f"binding = {self._binding()}")
        premises = [""] * len(self._route.moves)
        for number, move in enumerate(self._route.moves):
            name = premises[move.at] = f"p{number}"
            if isinstance(move, Ask):
                self.scope[f"m{number}"] = move
                self._write(f"{name} = make_premise(search, m{number}, binding, budget)")
                continue
            self._write(f"{name} = ({move.predicate.name!r}, *r{number})")
            if move.predicate not in self._search.heads:
                self._write(f"steps[{name}] = Given({name})")
            else:
                found = f"s{number}" if move.own else None
                self._write(f"wait((own{number}, {name}, {found}))")
        self._write(f"return Derived(fact, rule, binding, ({''.join(f'{name}, ' for name in premises)}))")
