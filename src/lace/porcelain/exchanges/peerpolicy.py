"""Which policy meets which peer, and what of it can stand in the operand that is presented before the peer
has proved who it is (040, Active local policy sets; PROFILE 9, Signer proof).

    known before setup: by the transport, or expected ──▶ its operand is presented
    known from its hello ──▶ a wider operand was presented, and the sections for this peer narrow it here

Rules of this file:
1. An exchange does at most what the policy of the proven peer says. What its operand would not have selected
   is held back by restrictions (PROFILE 8: "conjuncts of the local lowering, … never sent, and only narrow").
2. What is presented to somebody unknown holds nothing that is about one peer, but for names of fields: they
   must be asked for in the plan, or nobody would advertise them. So must those that `[receive]` reads, and
   the time that goes on, where any section reads it.
3. Expose sections need none of this: their scope is the viewer, who is known before a rule is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from lace.datalog import SELECT_HAVE
from lace.drive import InForce, Role, Section
from lace.errors import LaceError, PolicyError
from lace.policy import (
    ActivePolicy,
    Module,
    NothingToPresent,
    read_restriction,
    restrict_like,
)
from lace.porcelain.arguments import check_verifier
from lace.porcelain.exchanges.history import policy_in_force
from lace.porcelain.policies.file import PolicyFile, PolicySection, is_proven
from lace.porcelain.policies.operand import NOBODY, make_operand
from lace.porcelain.policies.parse import GivenPolicy, given_policy
from lace.text import LacegramId, Verifier

ASKS_FOR_NOTHING: Final = read_restriction(
    "AllowRequest(P,S) :- Advertised(P,S), not Advertised(P,S).", "request"
)
"""What a side that stores nothing holds against every request, whatever its policy says."""


class TooLate(PolicyError):
    """A section for a peer that cannot be applied any more when the peer is known."""

    code = "exchange/late-section"
    text = (
        "{section} is for {peer}, which is known only after setup, and its SelectHave reads what the peer"
        " advertises: {advice}"
    )


_NAMED_BEFORE: Final = "say before who is expected, or let the transport prove it"
_ONE_FOR_ALL: Final = "have no other policies beside it, or say before who is expected"


class NoPolicyForPeer(PolicyError):
    """A peer whom no policy is for."""

    code = "exchange/no-policy"
    text = "there is no policy for {peer}: nothing is exchanged"


@dataclass(frozen=True)
class PolicyBook:
    """A policy for everybody, and others for some."""

    default: PolicyFile | None
    """For whoever has none of its own; None exchanges nothing with them."""
    by_peer: Mapping[Verifier, PolicyFile] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        """Refuse a key that is no verifier: whoever was meant would get the policy for everybody."""
        for peer in self.by_peer:
            check_verifier("a peer of by_peer", peer)

    def policy(self, peer: Verifier | None) -> PolicyFile:
        """Return the policy of a peer; None is one that proved nothing."""
        found = self.default if peer is None else self.by_peer.get(peer, self.default)
        if found is None:
            raise NoPolicyForPeer(peer=peer or NOBODY)
        return found

    def policies(self) -> list[PolicyFile]:
        """Return all policies, each once."""
        default = [] if self.default is None else [self.default]
        return list({id(each): each for each in (*default, *self.by_peer.values())}.values())


@dataclass(frozen=True)
class Presented:
    """The operand that a side presents, and what of its policy stands in it."""

    book: PolicyBook
    module: Module
    parts: frozenset[LacegramId] = frozenset()
    """The select sections that are in it."""
    asking: Module | None = None
    """What asks for fields, and for ticks, that rules of ours read outside of the operand."""
    operation: Module | None = None
    """What is done besides, such as getting one record; it narrows the operand and is no part of a policy."""

    def late(self, peer: Verifier | None) -> tuple[PolicySection, ...]:
        """Return the select sections for whom the peer turned out to be that are not in the operand."""
        sections = self.book.policy(peer).select_sections(peer)
        if not sections:
            raise NothingToPresent(peer=peer or NOBODY)
        return tuple(each for each in sections if each.module.id not in self.parts)

    def active(self, peer: Verifier | None) -> ActivePolicy:
        """Return the policy for whom the peer turned out to be: sections that were left out narrow here."""
        policy, late = self.book.policy(peer), self.late(peer)
        active = policy.active(peer)
        for section in late:
            if section.module.reads_advertisements((SELECT_HAVE,)):
                advice = _ONE_FOR_ALL if peer is None else _NAMED_BEFORE
                raise TooLate(section=policy.place(section), peer=peer or NOBODY, advice=advice)
        more = [each for section in late for each in restrict_like(section.module)]
        return ActivePolicy(active.constraints, active.exposure, (*active.restrictions, *more))

    def in_force(self, viewer: str) -> InForce:
        """Say for the history what has a say about a viewer; nothing, where it is refused anyway."""
        peer = Verifier(viewer) if is_proven(viewer) else None
        try:
            policy = self.book.policy(peer)
            late = {policy.place(each): restrict_like(each.module) for each in self.late(peer)}
            found = policy_in_force(policy, peer)(viewer)
        except LaceError:
            return InForce()
        sections = [each for each in found.sections if each.role is not Role.SELECT or each.name not in late]
        for name, (send, request) in late.items():
            sections.append(Section(Role.SEND, str(send.program), name))
            sections.append(Section(Role.RECEIVE, str(request.program), name))
        for module in (self.asking, self.operation):
            sections += [] if module is None else [Section(Role.SELECT, str(module))]
        return InForce(tuple(sections), found.union, found.trusted)


def given_policies(policy: GivenPolicy | PolicyBook) -> PolicyFile | PolicyBook:
    """Return the policy that a caller gave, or the book of several."""
    return policy if isinstance(policy, PolicyBook) else given_policy(policy)


def present(
    policy: PolicyFile | PolicyBook, known: Verifier | None = None, operation: Module | None = None
) -> Presented:
    """Return what is presented to a peer that is known, or may only prove later who it is."""
    book = PolicyBook(policy) if isinstance(policy, PolicyFile) else policy
    if known is not None:
        made = make_operand([book.policy(known)], known, operation)
    else:
        policies = book.policies()
        made = make_operand(
            policies, operation=operation, stranger=book.default if len(policies) == 1 else None
        )
    return Presented(book, made.module, made.parts, made.asking, operation)
