"""Why a record is sent, asked for, or held back, in the rules of those who wrote them (040, provenance).

The flat form of the lowered plan is run once more over the snapshot, with everything that its rules derive;
a proof of `MaySend(P)` has both operands' shares, and a why-not names each operand and each restriction that
does not agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lace.algebra import Budget, RelationProgram, Result
from lace.datalog import Explainer, Proof, WhyNot, check_proof, compile_program
from lace.facts import CAN_QUERY_RECORD, Fact, Predicate, View
from lace.policy.lower import MAY_REQUEST, MAY_SEND, Lowered
from lace.policy.provenance import SourceMap
from lace.policy.restriction import ALLOWS, Gate, of_gate
from lace.policy.scope import Generated
from lace.policy.snapshot import Snapshot


@dataclass(frozen=True)
class Held:
    """Why a record is not sent or not asked for."""

    record: str
    seen: bool
    """Whether the peer's rules can see the record at all."""
    reasons: tuple[WhyNot, ...]
    """One for each operand and each restriction that does not let it through."""


class Reasons:
    """Explains the decision about one snapshot."""

    def __init__(
        self,
        lowered: Lowered,
        viewer: str,
        view: View,
        snapshot: Snapshot,
        *,
        composed: Iterable[Generated] = (),
        budget: Budget | None = None,
    ) -> None:
        self._lowered = lowered
        self._view = view
        self.sources = SourceMap(lowered.flat_rules(viewer), composed)
        self._program: RelationProgram = compile_program(lowered.flat(viewer))
        gate: list[Fact] = [(CAN_QUERY_RECORD.name, viewer, record) for record in view.records or ()]
        given = [*snapshot.runtime, *snapshot.advertised, *gate]
        self._result: Result = snapshot.evaluate(self._program, budget, given)
        self._explainer = Explainer(self._program, self._result)

    def why_send(self, record: str) -> Proof | None:
        """Return why a record may be sent, or None where it may not."""
        return self._why((MAY_SEND.name, record))

    def why_request(self, record: str) -> Proof | None:
        """Return why a record may be asked for, or None where it may not."""
        return self._why((MAY_REQUEST.name, record))

    def _why(self, goal: Fact) -> Proof | None:
        proof = self._explainer.why(goal)
        return None if proof is None else self.sources.tell(proof)

    def flat_proof(self, goal: Fact) -> Proof | None:
        """Return the proof in generated rules, which `check_proof` can check."""
        return self._explainer.why(goal)

    def faults(self, proof: Proof, facts: Iterable[Fact]) -> list[str]:
        """Return what is wrong with a flat proof over these base facts; nothing where it holds."""
        source = self._program.source  # the program that it was compiled of; the waist does not know its type
        return check_proof(proof, source, facts)  # type: ignore[arg-type]

    def why_not_send(self, record: str) -> Held:
        """Say what holds a record back; without reasons, where nothing does."""
        goals: list[Fact] = [(have.name, record) for have, _ in map(self._lowered.exported, (0, 1))]
        goals += [(name, record) for name in self._allows("send")]
        return self._held(record, goals)

    def why_not_request(self, record: str, source: str) -> Held:
        """Say why a record that a source advertised is not asked for."""
        goals: list[Fact] = [(each.name, record, source) for _, each in map(self._lowered.exported, (0, 1))]
        goals += [(name, record, source) for name in self._allows("request")]
        return self._held(record, goals)

    def _allows(self, gate: Gate) -> list[str]:
        count = len(of_gate(self._lowered.restrictions, gate))
        return [f"{gate[0]}{number}_{ALLOWS[gate].name}" for number in range(count)]

    def _held(self, record: str, goals: list[Fact]) -> Held:
        missing = [goal for goal in goals if not self._holds(goal)]
        answers = tuple(self.sources.tell_why_not(self._explainer.why_not(goal)) for goal in missing)
        return Held(record, self._view.shows(record), answers)

    def _holds(self, goal: Fact) -> bool:
        return any(True for _ in self._result.lookup(Predicate(goal[0], len(goal) - 1), goal[1:]))
