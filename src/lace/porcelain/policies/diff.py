"""What two policies say differently, and what it means for the records of a store.

Rules of this file:
1. The order of rules and sections says nothing, and comments say it to people: neither is a difference.
   Which section a rule stands in is one.
2. A record that is no longer selected stays where it is: a policy takes nothing away. It is reported.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NamedTuple

from lace.policy import Resident
from lace.porcelain.policies.file import PolicyFile
from lace.porcelain.reasons.rehearsal import Rehearsal
from lace.text import Verifier


class RuleChange(NamedTuple):
    """A rule that only one of two policies has."""

    sign: str
    """`-` where only the first has it, `+` where only the second does."""
    section: str
    """Its header, with its place where there are several of them."""
    rule: str
    """Empty for a section that has no rules."""

    def __str__(self) -> str:
        return f"{self.sign} {self.section} {self.rule}".rstrip()


class RecordChanges(NamedTuple):
    """What becomes of the records of a store."""

    newly_selected: AbstractSet[str]
    no_longer_selected: AbstractSet[str]
    """Held in the store all the same."""
    newly_sent: AbstractSet[str]
    """To the peer that was asked about."""
    newly_held: AbstractSet[str]


class _Said(NamedTuple):
    """What one section says."""

    header: str
    rules: frozenset[str]


def diff_policies(before: PolicyFile, after: PolicyFile) -> list[RuleChange]:
    """Return the rules that only one of two policies has.

    Rules of one section widen it, while sections narrow each other: a rule that went from one to another is a
    difference. Where a header stands in a policy more than once, a section is told by its place.
    """
    old, new = _said(before), _said(after)
    changes: list[RuleChange] = []
    for header in sorted({said.header for said in old.keys() ^ new.keys()}):
        alone = all(sum(said.header == header for said in each) < 2 for each in (old, new))
        gone, come = (
            [
                (said, header if alone else place)
                for said, place in one.items()
                if said.header == header and said not in other
            ]
            for one, other in ((old, new), (new, old))
        )
        # One section that became another is told by the rules that changed, several are told whole.
        kept = gone[0][0].rules & come[0][0].rules if len(gone) == len(come) == 1 else frozenset()
        for sign, sections in (("-", gone), ("+", come)):
            changes += [
                RuleChange(sign, where, rule)
                for said, where in sections
                for rule in sorted(said.rules - kept)
            ]
    return changes


def _said(policy: PolicyFile) -> dict[_Said, str]:
    """Return what a policy says, and where; whoever a header without rules names is said one by one."""
    said: dict[_Said, str] = {}
    for section in policy.sections:
        header = section.header
        heads = (
            [header] if header.has_rules else [header._replace(peers=each) for each in _single(header.peers)]
        )
        for head in heads:
            said.setdefault(_Said(str(head), frozenset(section.rules or ("",))), policy.place(section))
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
    old = Rehearsal(records, before, peer=peer, theirs=theirs)
    return diff_rehearsals(old, old.under(after))


def diff_rehearsals(old: Rehearsal, new: Rehearsal) -> RecordChanges:
    """Return what changes from one rehearsal to another over the same records."""
    selected = old.selected(), new.selected()
    sent = old.may_send, new.may_send
    return RecordChanges(
        selected[1] - selected[0], selected[0] - selected[1], sent[1] - sent[0], sent[0] - sent[1]
    )
