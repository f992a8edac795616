"""Facts as somebody gives them: put by predicate, and looked at closely where one of them is none."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache

from lace.facts import Fact, Predicate, Values, check_fact, check_predicate


def by_predicate(facts: Iterable[Fact]) -> dict[Predicate, list[Values]]:
    """Return the values of facts by their predicate."""
    if isinstance(facts, (list, tuple)) and len(facts) <= 1:
        if not facts:
            return {}
        [fact] = facts
        return {_predicate(fact): [fact[1:]]}
    facts = facts if isinstance(facts, (list, tuple)) else list(facts)
    if str in set(map(type, facts)):
        for fact in facts:
            check_fact(fact)
    sizes = set(map(len, facts))
    if 0 not in sizes and len(sizes) == 1 and len({fact[0] for fact in facts}) == 1:
        return {_predicate(facts[0]): [fact[1:] for fact in facts]}
    found: dict[tuple[str, int], list[Values]] = {}
    for fact in facts:
        found.setdefault((fact[0], len(fact) - 1) if fact else _predicate(fact), []).append(fact[1:])
    return {check_predicate(name, arity): rows for (name, arity), rows in found.items()}


def _predicate(fact: Fact) -> Predicate:
    if not fact or isinstance(fact, str):
        check_fact(fact)
    name = fact[0]
    return (_checked if type(name) is str else check_predicate)(name, len(fact) - 1)


_checked = lru_cache(maxsize=1024)(check_predicate)
"""Facts that come one by one have the same few predicates."""


@contextmanager
def typed(given: Mapping[Predicate, Sequence[Values]]) -> Iterator[None]:
    """Say which value is no text, where something stumbled over one."""
    try:
        yield
    except TypeError:
        check_texts(given)
        raise


def check_texts(given: Mapping[Predicate, Sequence[Values]]) -> None:
    """Raise which of the values is no text, if one is none."""
    for predicate, rows in given.items():
        for row in rows:
            check_fact((predicate.name, *row), sys.maxsize)
