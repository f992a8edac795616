"""Runs the cases of a policy and says of each whether it went as expected, and why it did not.

Rules of this file:
1. A scene has a small store of its own; nothing is read from any other.
2. An expectation that fails is shown with the proof, or with what is in the way, in the author's rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lace.datalog import show_proof
from lace.porcelain.policies.cases import ASK, HAVE, SEND, PolicyCase, PolicyScene
from lace.porcelain.policies.file import PolicyFile
from lace.porcelain.policies.parse import read_policy
from lace.porcelain.reasons.rehearsal import Rehearsal
from lace.porcelain.reasons.whysend import WIDTH, explain_held


class CaseOutcome(NamedTuple):
    """What became of one case."""

    case: PolicyCase
    passed: bool
    did: str
    """`sent`, `held`, `asked for` or `left`, and by what."""
    reasons: list[str]
    """Lines that say why, where it did not go as expected."""

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as a program reads it."""
        case = self.case
        return {
            "line": case.line,
            "case": case.name,
            "record": case.record,
            "expected": case.verb if case.by is None else f"{case.verb} by {case.by}",
            "did": self.did,
            "passed": self.passed,
            "reasons": self.reasons,
        }


def try_policy(
    policy: PolicyFile, scenes: Iterable[PolicyScene], folder: Path | None = None
) -> Iterator[CaseOutcome]:
    """Yield what becomes of every case; the policies that scenes name lie in a folder."""
    for scene in scenes:
        rehearsal = rehearse(policy, scene, folder)
        yield from (_outcome(rehearsal, case) for case in scene.cases if case.verb != HAVE)


def rehearse(policy: PolicyFile, scene: PolicyScene, folder: Path | None = None) -> Rehearsal:
    """Prepare the exchange of a scene."""
    from lace.engines import Database

    theirs = None if scene.policy is None else read_policy((folder or Path()) / scene.policy)
    database = Database(scene.facts)

    def prepare(source: str | None) -> Rehearsal:
        claims = [] if source is None else scene.advertised(source)
        return Rehearsal(
            database, policy, peer=scene.peer, theirs=theirs, runtime=scene.given, advertised=claims
        )

    # The name under which a peer advertises follows from both operands.
    return prepare(prepare(None).source)


def _outcome(rehearsal: Rehearsal, case: PolicyCase) -> CaseOutcome:
    decision = rehearsal.decision
    goes = decision.may_send_record if case.is_here else decision.may_request_record
    went = goes(case.record)
    wanted = case.verb in (SEND, ASK)
    did = ("sent" if went else "held") if case.is_here else ("asked for" if went else "left")
    if went:
        passed = wanted
        why = rehearsal.why_send if case.is_here else rehearsal.why_request
        proof = None if passed else why(case.record)
        return CaseOutcome(
            case, passed, did, [] if proof is None else show_proof(proof, width=WIDTH).split("\n")
        )
    held = (rehearsal.why_not_send if case.is_here else rehearsal.why_not_request)(case.record)
    parts = rehearsal.held_by(held)
    passed = not wanted and (case.by is None or case.by in parts)
    reasons = [] if passed else list(explain_held(rehearsal, held, here=case.is_here).obstacles())
    return CaseOutcome(case, passed, f"{did} by {', '.join(parts)}", reasons)
