"""What the moves of a search found, put as premises."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nsmallest

from lace.algebra import Budget
from lace.datalog.explain.order import Ask, Fetch
from lace.datalog.explain.proof import Absent, Checked, Counted, substitute
from lace.datalog.explain.search import Search, take_step
from lace.datalog.meaning import Binding
from lace.datalog.rules import Atom, Cardinality, Negated
from lace.facts import Fact, Values

EXAMPLES = 3
"""So many facts are shown where many were counted."""


def make_premise(search: Search, ask: Ask, binding: Binding, budget: Budget) -> Absent | Counted | Checked:
    """Say what was asked of a negated, counted or built-in atom, and what was found."""
    part = substitute(ask.part, binding)
    if isinstance(part, Negated):
        return Absent(part.atom, search.result.size(part.atom.predicate))
    if isinstance(part, Cardinality):
        assert ask.fetch is not None
        return Counted(part, *count_facts(search, ask.fetch, binding, budget))
    assert not isinstance(part, Atom)
    return Checked(part)


def count_facts(
    search: Search, fetch: Fetch, binding: Binding, budget: Budget
) -> tuple[int, tuple[Fact, ...]]:
    """Count the facts that agree with an atom and return the first of them in the order of text."""
    found = 0

    def counted() -> Iterator[Values]:
        nonlocal found
        for row in search.find(fetch)(binding, budget, None):
            take_step(budget, fetch.predicate)
            found += 1
            yield row

    examples = nsmallest(EXAMPLES, counted())
    return found, tuple((fetch.predicate.name, *row) for row in examples)
