"""Why a peer's own rules select a record here, in a way that may be told to the peer (020, Fact views).

    reasons = policy.explain_to_peer(snapshot)
    reasons.why(("SelectHave", record))        a proof in the peer's rules, over facts that it may see

Rules of this file:
1. What the view shows is put into an engine of its own, in the order of text, and nothing else is. What is
   not there cannot be named or counted, cannot be in the way, and cannot decide which of two proofs is told.
2. Only the peer's operand is explained. Ours and the restrictions are the owner's: `Reasons` tells them.
"""

from __future__ import annotations

from collections.abc import Iterator

from lace.algebra import Budget
from lace.datalog import Explainer, Proof, WhyNot, compile_program
from lace.engines import Database
from lace.facts import GATED, Fact, View
from lace.policy.following import Following
from lace.policy.lower import Lowered
from lace.policy.resident import Handed
from lace.policy.snapshot import Given, Snapshot


class PeerReasons:
    """Explains what a peer's operand selects, as the peer may know it."""

    def __init__(self, lowered: Lowered, view: View, snapshot: Snapshot, budget: Budget) -> None:
        known = sorted(snapshot.runtime | snapshot.advertised)
        seen = Database([*_seen_facts(lowered, view, snapshot, budget), *known])
        program = compile_program(lowered.plan.operands[lowered.peer_index].module.program)
        self._explainer = Explainer(program, seen.evaluate(program, budget).result())

    def why(self, goal: Fact) -> Proof | None:
        """Return why a fact of the peer's operand holds here, or None where it does not."""
        return self._explainer.why(goal)

    def why_not(self, goal: Fact) -> WhyNot:
        """Say for each of the peer's rules that could derive a fact what stops it."""
        return self._explainer.why_not(goal)


def _seen_facts(lowered: Lowered, view: View, snapshot: Snapshot, budget: Budget) -> Iterator[Fact]:
    """Yield the record facts that a view shows, sorted as text."""
    gate: Handed = {} if view.is_full else {lowered.gate: view}
    result = Following(lowered.seen).evaluate(snapshot, Given(), budget, gate)
    for predicate in GATED:
        for values in result.facts(lowered.copied(predicate)):
            yield (predicate.name, *values)
