"""Binary intersection of the two selectors (040, Binary intersection merge for selected records).

    MergedSelectHave(P) :- o0_SelectHave(P), o1_SelectHave(P).
    MergedSelectAdvertised(P,S) :- o0_SelectAdvertised(P,S), o1_SelectAdvertised(P,S).

The same rules whichever side computes them, operand 0 first: "The shared selected set is the intersection of
the two selector operands."
"""

from __future__ import annotations

from typing import Final

from lace.datalog import SELECT_ADVERTISED, SELECT_HAVE, Atom, Rule, Var
from lace.facts import Predicate
from lace.policy.module import SCOPES
from lace.policy.scope import Generated

MERGED_SELECT_HAVE: Final = Predicate("MergedSelectHave", 1)
MERGED_SELECT_ADVERTISED: Final = Predicate("MergedSelectAdvertised", 2)

VARIABLES: Final = {1: (Var("P"),), 2: (Var("P"), Var("S"))}


def intersect(head: Predicate, exported: Predicate, prefixes: tuple[str, ...], step: str) -> Generated:
    """Return the rule that holds where every scope exports the same."""
    terms = VARIABLES[exported.arity]
    body = tuple(Atom(prefix + exported.name, terms) for prefix in prefixes)
    return Generated(Rule(Atom(head.name, terms), body), step, str(exported))


def merge_rules() -> tuple[Generated, ...]:
    """Return the two rules of the merge.

    >>> for each in merge_rules(): print(each.rule)
    MergedSelectHave(P) :- o0_SelectHave(P), o1_SelectHave(P).
    MergedSelectAdvertised(P,S) :- o0_SelectAdvertised(P,S), o1_SelectAdvertised(P,S).
    """
    return (
        intersect(MERGED_SELECT_HAVE, SELECT_HAVE, SCOPES, "040-intersection"),
        intersect(MERGED_SELECT_ADVERTISED, SELECT_ADVERTISED, SCOPES, "040-intersection"),
    )
