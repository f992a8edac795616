"""Short questions that many tests ask."""

from __future__ import annotations

from collections.abc import Iterable

from lace.datalog import check_program, evaluate, parse_program
from lace.facts import Fact, Predicate


def errors(text: str | bytes, facet: str = "datalog") -> list[str]:
    """Return the codes of the errors in a text, in its order."""
    return [d.code for d in check_program(text, facet) if d.severity == "error"]


def warnings(
    text: str,
    facet: str = "datalog",
    extra_base: Iterable[Predicate] | None = None,
    outputs: Iterable[Predicate] | None = None,
) -> list[tuple[str, str]]:
    """Return code and message of the warnings about a text without errors."""
    found = check_program(text, facet, extra_base=extra_base, outputs=outputs)
    assert [d for d in found if d.severity == "error"] == []
    return [(d.code, d.message) for d in found]


def derive(program: str, *facts: Fact) -> list[Fact]:
    """Return what the oracle derives, sorted."""
    return sorted(evaluate(parse_program(program), facts))


def holds(condition: str, *facts: Fact) -> bool:
    """Tell whether a body without free variables holds."""
    return derive(f"Yes() :- {condition}.", *facts) == [("Yes",)]
