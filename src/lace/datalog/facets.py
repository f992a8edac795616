"""What a lacegram is for decides which names it may use (030, Shadowing; 040; PROFILE sections 7 and 10).

    datalog     plain 030 text: only the record predicates cannot be heads
    selector    an exchange operand: what a side wants to send and to get
    expose      a local module: which records a peer's rules may see

Rules of this file:
1. The three rows of FACETS are the whole truth about names; the checks only read them.
2. Base predicates are named by name and arity, reserved names by name alone, "at any arity, in heads and
   bodies".
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Literal

from lace.facts import RECORD_PREDICATES, Predicate

FacetName = Literal["datalog", "selector", "expose"]

# 050, Exchange runtime facts.
RUNTIME_PREDICATES = (
    Predicate("Here", 1),
    Predicate("Peer", 1),
    Predicate("Transport", 1),
    Predicate("TransportEncrypted", 0),
    Predicate("StartTAI", 1),
    Predicate("TickTAI", 1),
    Predicate("ClockSkewSeconds", 1),
)

# 050, Peer advertisement facts.
ADVERTISEMENT_PREDICATES = (Predicate("Advertised", 2), Predicate("AdvertisedField", 5))

VIEWER = Predicate("_Viewer", 1)
SELECT_HAVE = Predicate("SelectHave", 1)
SELECT_ADVERTISED = Predicate("SelectAdvertised", 2)
ALLOW_QUERY_RECORD = Predicate("AllowQueryRecord", 2)

# 040 writes scoped predicates o0_… and o1_….
_SCOPES = ("o0_", "o1_")


@dataclass(frozen=True, slots=True)
class Facet:
    """One row of the table."""

    name: FacetName
    base: frozenset[Predicate]
    """Supplied by the profile; none of them may be a head."""
    closed: bool = True
    """Whether `base` is all that is ever supplied; plain text may be given facts of any other name."""
    refused: frozenset[str] = frozenset()
    """Names that may be neither defined nor mentioned."""
    refused_prefixes: tuple[str, ...] = ()
    """Beginnings of such names."""
    no_heads: frozenset[str] = frozenset()
    """Names that may be mentioned, but not defined at any arity."""
    unreadable: frozenset[Predicate] = frozenset()
    """Base predicates that the body of a rule may not read."""
    required: tuple[Predicate, ...] = ()
    """Heads that must be there."""
    outputs: frozenset[Predicate] = frozenset()
    """What is read of the result; empty where anything may be."""

    def is_refused(self, name: str) -> bool:
        """Tell whether a name may stand nowhere in a program of this facet."""
        return name in self.refused or name.startswith(self.refused_prefixes)

    def refuses_any(self, names: Set[str]) -> bool:
        """Tell whether one of many names may stand nowhere."""
        if not self.refused.isdisjoint(names):
            return True
        return bool(self.refused_prefixes) and any(map(self.is_refused, names))


FACETS: dict[str, Facet] = {
    # PROFILE 10: "In plain 030 text only the record predicates cannot be heads".
    "datalog": Facet("datalog", base=frozenset(RECORD_PREDICATES), closed=False),
    # PROFILE 7: "A selector must neither define nor mention …".
    "selector": Facet(
        "selector",
        base=frozenset(RECORD_PREDICATES + RUNTIME_PREDICATES + ADVERTISEMENT_PREDICATES),
        refused=frozenset({"MaySend", "MayRequest", "CanQueryRecord"}),
        refused_prefixes=("AllowQueryRecord", "_", *_SCOPES),
        # 040: "Validate that standard selector operands define both".
        required=(SELECT_HAVE, SELECT_ADVERTISED),
        outputs=frozenset({SELECT_HAVE, SELECT_ADVERTISED}),
    ),
    # PROFILE 10: "An expose module's heads are AllowQueryRecord/2 and its own helpers".
    "expose": Facet(
        "expose",
        base=frozenset((*RECORD_PREDICATES, *RUNTIME_PREDICATES, *ADVERTISEMENT_PREDICATES, VIEWER)),
        refused=frozenset({"MaySend", "MayRequest", "CanQueryRecord", "SelectHave", "SelectAdvertised"}),
        refused_prefixes=_SCOPES,
        no_heads=frozenset({VIEWER.name}),
        unreadable=frozenset(ADVERTISEMENT_PREDICATES),
        outputs=frozenset({ALLOW_QUERY_RECORD}),
    ),
}
