"""What an exchange would do, asked before there is one: how it is supposed to be, over the facts of a store.

Rules of this file:
1. Whatever is not said is not known or not proven: the peer is anybody, and wants everything.
2. Both sides read the same clock, and are told the same about what is between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

from lace.errors import PolicyError
from lace.facts import Fact
from lace.policy import Module
from lace.porcelain.arguments import (
    Kind,
    WrongArgument,
    check_kinds,
    check_offers,
    check_options,
    read_verifier,
)
from lace.porcelain.exchanges.peerpolicy import PolicyBook, given_policies, present
from lace.porcelain.policies.file import PolicyFile
from lace.porcelain.policies.parse import GivenPolicy, given_policy, parse_policy
from lace.porcelain.reasons.rehearsal import WANTS_ALL, Rehearsal
from lace.porcelain.rules.resident import ResidentFacts
from lace.porcelain.rules.workbench import given_facts
from lace.stores import Store
from lace.text import Tai, Verifier

if TYPE_CHECKING:
    from lace.pipeline import Session
    from lace.porcelain.lace import Lace

TIMES: Final = ("StartTAI", "TickTAI")
NO_SKEW: Final[Fact] = ("ClockSkewSeconds", "0")
WHO: Final = frozenset({"Peer", "Here"})
KINDS: Final = {"encrypted": Kind(bool, "True or False", optional=False)}
SHARES_ALL: Final = f"[select]\n{WANTS_ALL}\n[expose selected]\n"
"""The policy of a peer of which only the records are known."""


class Supposed(TypedDict, total=False):
    """How an exchange is supposed to be, besides our policy; what is left out is not known or not proven."""

    peer: str | None
    """The verifier that the peer proves; None proves nothing."""
    here: str | None
    """The verifier that we prove."""
    theirs: GivenPolicy | PolicyBook | None
    """The policy of the peer, or its book of several, else one that wants everything."""
    there: Lace | None
    """The lace of the peer, where it is at hand: then it is known what it would advertise."""
    advertised: Iterable[Fact | str] | None
    """What the peer advertises, where it is known otherwise: `Advertised` and `AdvertisedField` facts, as
    tuples or as text."""
    encrypted: bool
    """Whether the transport is encrypted."""
    runtime: Iterable[Fact | str]
    """Other facts about the exchange, such as `("Transport", "…")`; the times are those of now."""
    session: Session | None
    """Of Spark, for a lake that has more facts than fit in memory."""


def rehearse(
    store: Store,
    policy: GivenPolicy | PolicyBook,
    now: Tai,
    sends_only: bool = False,
    /,
    **supposed: Unpack[Supposed],
) -> Rehearsal:
    """Think an exchange through over a store as it is; where it `sends_only`, nothing is asked for."""
    check_options(supposed, Supposed.__annotations__)
    check_kinds(supposed, KINDS)
    peer, here = read_verifier("peer", supposed.get("peer")), read_verifier("here", supposed.get("here"))
    given, named = given_policies(policy), supposed.get("theirs")
    ours = given_policy(_chosen(given, peer))
    theirs = None if named is None else given_policies(named)
    runtime = _runtime(supposed.get("runtime", ()), now, encrypted=supposed.get("encrypted", False))
    claims, there = supposed.get("advertised"), supposed.get("there")
    advertised = None if claims is None else _facts("advertised", claims)
    make = partial(
        _rehearsals_over(store, supposed.get("session")),
        ours,
        peer=peer,
        here=here,
        theirs=theirs,
        runtime=runtime,
        sends_only=sends_only,
        kept_out=frozenset(store.forgotten()),
        presented=_presented(given),
    )
    if there is not None:
        check_offers("there", there, "interlace", "the Lace of the peer; Lace.open(path) opens one")
        facts = ResidentFacts(there.store).database
        their_policy = parse_policy(SHARES_ALL, "the peer") if theirs is None else _chosen(theirs, here)
        other = Rehearsal(facts, their_policy, peer=here, theirs=given, here=peer, side=1, runtime=runtime)
        # The name under which a peer advertises follows from both operands.
        advertised = [*(advertised or ()), *other.advertise(there.store, make().source)]
    return make(advertised=advertised)


def _presented(given: PolicyFile | PolicyBook) -> Module | None:
    """Return what is presented to whoever has proved nothing yet; None where that cannot be."""
    with suppress(PolicyError):
        return present(given).module
    return None


def _chosen(given: PolicyFile | PolicyBook, peer: Verifier | None) -> PolicyFile:
    """Return the policy that a side has for whom the other one proves to be."""
    return given.policy(peer) if isinstance(given, PolicyBook) else given


def _rehearsals_over(store: Store, session: Session | None) -> Callable[..., Rehearsal]:
    """Return what makes rehearsals over a store: in this process, or on Spark over a lake."""
    if session is None:
        return partial(Rehearsal, ResidentFacts(store).database)
    from lace.pipeline import LakeStore
    from lace.porcelain.reasons.lakerehearsal import LakeRehearsal

    if not isinstance(store, LakeStore):
        found = f"one for a {type(store).__name__}"
        raise WrongArgument(name="session", wanted="for what Lace.open_lake opened", found=found)
    return partial(LakeRehearsal, store.snapshot, session)


def _runtime(given: Iterable[Fact | str], now: Tai, *, encrypted: bool) -> list[Fact]:
    """Return what is known about the exchange besides who takes part; both begin and tick now."""
    facts = _facts("runtime", given)
    if encrypted:
        facts.append(("TransportEncrypted",))
    told = {fact[0] for fact in facts}
    if named := sorted(told & WHO):
        wanted = "what is known besides peer= and here=, which say who takes part"
        raise WrongArgument(name="runtime", wanted=wanted, found=f"a fact {named[0]}")
    clocks: list[Fact] = [*((name, now) for name in TIMES), NO_SKEW]
    return [*facts, *(fact for fact in clocks if fact[0] not in told)]


def _facts(name: str, given: Iterable[Fact | str]) -> list[Fact]:
    return given_facts(name, given, "a list of facts, such as [('Transport', 'tcp:…')]")
