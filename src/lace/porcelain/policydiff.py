"""What two policies say differently, and what it means for the records of a store.

Rules of this file:
1. The order of rules and sections says nothing, and comments say it to people: neither is a difference.
2. A record that is no longer selected stays where it is: a policy takes nothing away. It is reported.
"""

from __future__ import annotations

from typing import NamedTuple

from lace.policy import Resident
from lace.porcelain.policyfile import PolicyFile
from lace.porcelain.rehearsal import Rehearsal
from lace.text import Verifier


class RuleChange(NamedTuple):
    """A rule that only one of two policies has."""

    sign: str
    """`-` where only the first has it, `+` where only the second does."""
    section: str
    rule: str
    """Empty for a section that has no rules."""

    def __str__(self) -> str:
        return f"{self.sign} {self.section} {self.rule}".rstrip()


class RecordChanges(NamedTuple):
    """What becomes of the records of a store."""

    newly_selected: frozenset[str]
    no_longer_selected: frozenset[str]
    """Held in the store all the same."""
    newly_sent: frozenset[str]
    """To the peer that was asked about."""
    newly_held: frozenset[str]


def diff_policies(before: PolicyFile, after: PolicyFile) -> list[RuleChange]:
    """Return the rules that only one of two policies has."""
    old, new = _said(before), _said(after)
    changes = [RuleChange("-", *each) for each in old - new] + [RuleChange("+", *each) for each in new - old]
    return sorted(changes, key=lambda change: (change.section, change.sign == "+", change.rule))


def _said(policy: PolicyFile) -> set[tuple[str, str]]:
    """Return what a policy says; whoever a header names is said one by one."""
    said: set[tuple[str, str]] = set()
    for section in policy.sections:
        header = section.header
        heads = (
            [header] if header.has_rules else [header._replace(peers=each) for each in _single(header.peers)]
        )
        for head in heads:
            said.update((str(head), rule) for rule in section.rules or ("",))
    return said


def _single(peers: frozenset[Verifier] | None) -> list[frozenset[Verifier] | None]:
    return [None] if peers is None else [frozenset({peer}) for peer in peers]


def diff_records(
    records: Resident,
    before: PolicyFile,
    after: PolicyFile,
    *,
    peer: Verifier | None = None,
    theirs: PolicyFile | None = None,
) -> RecordChanges:
    """Return what a change of policy means for the records that are here, in an exchange with a peer."""
    old, new = (Rehearsal(records, policy, peer=peer, theirs=theirs) for policy in (before, after))
    selected = old.selected(), new.selected()
    sent = old.decision.may_send, new.decision.may_send
    return RecordChanges(
        selected[1] - selected[0], selected[0] - selected[1], sent[1] - sent[0], sent[0] - sent[1]
    )
