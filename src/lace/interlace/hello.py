"""Transition: negotiate exchange plan (050; PROFILE 9 and 10).

    setup blocks ──▶ proof ──▶ our hello
    their hello  ──▶ proof checked ──▶ terms ──▶ who is who ──▶ link id

Rules of this file:
1. 050: "A runtime MUST NOT send or accept `HelloSigner(V)` unless the execution binding or an
   application-defined proof establishes that the sender controls the corresponding signing secret."
2. A source label is the verifier that hello proved, else the opaque label; it never makes a `Peer`.
"""

from __future__ import annotations

from lace.errors import PolicyError, RemoteProtocolError
from lace.facts import write_fact_line
from lace.interlace.blocks import SETUP_NONCE
from lace.interlace.claims import LINE_BYTES, Schema
from lace.interlace.events import HelloBlock, Moment, Output, PlanAgreed, SendBlock, SendResource
from lace.interlace.limits import PARTITION_SUMMARIES
from lace.interlace.own import OwnAdvertisements
from lace.interlace.peer import PeerAdvertisements
from lace.interlace.proof import canonical_setup, is_proof, make_proof, proof_digest
from lace.interlace.setup import EXCHANGE_PLAN, PlanNotCompiled
from lace.interlace.state import Agreed, Exchange
from lace.interlace.terms import OFFERED_FIELD, Offer, PlanMismatch, negotiate, read_hello
from lace.interlace.tick import Ticks, reads_ticks
from lace.policy import ExchangePlan
from lace.text import Verifier, link_id

_NOT_OURS = "the proof is not its own over this exchange"
_OTHER_CERTIFICATE = (
    "; where a proxy ends TLS, its server has to be told which certificate the proxy shows"
    " (public-certificate), and else somebody stands between"
)


class SignerNotProven(RemoteProtocolError):
    """A signer that nothing proves."""

    code = "interlace/signer"
    text = "the peer names {verifier} as its signer, and {reason}"


class SignerInClear(PolicyError):
    """A proof on a connection in clear, where we were not told to take any; the peer broke no rule."""

    code = "interlace/signer-in-clear"
    text = (
        "the peer shows the key {verifier} on a connection in clear, where a relay could not be seen, and we"
        " take no proofs there; let both sides say prove-in-clear (--prove-in-clear, prove_in_clear=True), or"
        " meet over wss or unix"
    )


class VerifierMismatch(RemoteProtocolError):
    """A proven signer that is not whom the transport proved."""

    code = "interlace/verifier-mismatch"
    text = "the peer proved to be {proven}, but the transport proved it to be {expected}"


def send_hello(exchange: Exchange, plan: ExchangePlan, now: Moment) -> list[Output]:
    """Make our offer."""
    settings = exchange.settings
    limits = settings.limits.by_name()
    if not settings.partitions:
        # PROFILE 10: "A side without partitions does not send `max_partition_summaries`."
        del limits[PARTITION_SUMMARIES]
    signer, proof = _prove(exchange)
    offer = Offer(
        plan=plan.id,
        tai=now.tai,
        tick_interval=settings.tick_interval,
        formats=settings.formats,
        fields=_fields(exchange, plan),
        limits=limits,
        partition_start=settings.partition_start if settings.partitions else None,
        signer=signer,
        proof=proof,
    )
    exchange.epoch.offer = offer
    # PROFILE 10: "An `E.` resource is always sent, never required".
    return [SendResource(plan.id, EXCHANGE_PLAN, str(plan.transcript)), SendBlock(tuple(offer.facts()))]


def _fields(exchange: Exchange, plan: ExchangePlan) -> Schema:
    """Offer what the plan requires: every further field is a disclosure, and costs bytes in every loop."""
    settings = exchange.settings
    if settings.all_fields or plan.fields.every or settings.more_fields is None:
        return None
    for name in plan.fields.names:
        size = len(write_fact_line((OFFERED_FIELD, name)).encode())
        if size > LINE_BYTES:
            raise PlanNotCompiled(
                reason=f"the field {name[:40]!r}… is required, and what offers it is a line of {size} bytes,"
                f" over the limit of {LINE_BYTES}"
            )
    return frozenset(plan.fields.names) | settings.more_fields


def _digest(exchange: Exchange, index: int) -> bytes:
    epoch, settings = exchange.epoch, exchange.settings
    ours, theirs = canonical_setup(epoch.setup), canonical_setup(epoch.peer_setup)
    setups = (ours, theirs) if settings.index == 0 else (theirs, ours)
    return proof_digest(index, setups, settings.link.binding)


def _has_nonces(exchange: Exchange) -> bool:
    """PROFILE 9: "Both sides must have sent a nonce."""
    epoch = exchange.epoch
    return all(any(fact[0] == SETUP_NONCE for fact in each) for each in (epoch.setup, epoch.peer_setup))


def _prove(exchange: Exchange) -> tuple[Verifier | None, str | None]:
    settings = exchange.settings
    if settings.secret is None or not settings.link.may_prove or not _has_nonces(exchange):
        return None, None
    aux = settings.dice.aux(exchange.epoch.number)
    proof = make_proof(_digest(exchange, settings.index), settings.secret, aux)
    return settings.secret.verifier, proof


def _check_signer(exchange: Exchange, offer: Offer) -> Verifier | None:
    """Return the verifier that the peer's hello proves; None where it names none."""
    if offer.signer is None:
        return None
    shown = offer.signer[:60]
    if offer.proof is None:
        raise SignerNotProven(verifier=shown, reason="gives no proof")
    # PROFILE 9: "neither sends nor accepts `HelloSigner` unless it was told to": it was, and we were not.
    if not exchange.settings.link.may_prove:
        raise SignerInClear(verifier=shown)
    if not _has_nonces(exchange):
        raise SignerNotProven(verifier=shown, reason="a proof needs a nonce of both sides")
    bound = exchange.settings.link.binding
    if not is_proof(_digest(exchange, 1 - exchange.settings.index), offer.signer, offer.proof):
        raise SignerNotProven(verifier=shown, reason=_NOT_OURS + (_OTHER_CERTIFICATE if bound else ""))
    return Verifier(offer.signer)


def receive_hello(exchange: Exchange, block: HelloBlock) -> list[Output]:
    """Agree with the peer's offer, or raise why not."""
    epoch, settings = exchange.epoch, exchange.settings
    plan, mine = epoch.plan, epoch.offer
    assert plan is not None
    assert mine is not None
    theirs = read_hello(block.facts)
    if theirs.plan != mine.plan:
        raise PlanMismatch(ours=mine.plan, theirs=theirs.plan)
    signer = _check_signer(exchange, theirs)
    expected = settings.link.peer
    if signer is not None and expected is not None and signer != expected:
        raise VerifierMismatch(proven=signer, expected=expected)
    terms = negotiate(mine, theirs, plan.fields, settings.limits, settings.local)
    peer = signer or expected
    ours = None if mine.signer is None else Verifier(mine.signer)
    if peer is not None:
        plan = plan.prove(1 - settings.index, peer)
    own_label = plan.operands[settings.index].origin.label
    peer_label = plan.operands[1 - settings.index].origin.label
    source, peer_source = ours or own_label, signer or peer_label
    epoch.plan = plan
    epoch.agreed = Agreed(
        plan=plan,
        terms=terms,
        # PROFILE 10: "`Here(V)` is supplied only where our verifier was proven to this peer."
        here=ours or settings.link.here,
        peer=peer,
        source=source,
        peer_source=peer_source,
        # 050: "When both sides have proven signer verifiers".
        link_id=None if ours is None or signer is None else link_id(ours, signer, plan.id),
        ticks=Ticks.begin(terms.start_tai, terms.tick_interval, settings.local.clock_cap_seconds),
        reads_ticks=reads_ticks(plan),
        own=OwnAdvertisements(source, peer_source, terms.fields, terms.formats, summarizes=terms.partitions),
        advertised=PeerAdvertisements(peer_source, terms.fields, summarizes=terms.partitions),
    )
    agreed = epoch.agreed
    return [PlanAgreed(plan, settings.index, terms, peer, peer_source, agreed.link_id, epoch.number)]
