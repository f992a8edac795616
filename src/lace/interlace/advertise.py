"""Transition: evaluate and advertise send set (050; PROFILE 9, Advertisement block).

    snapshot ──▶ MaySend ∧ Have ──▶ summaries, where both sides agreed on them, else a full listing

Rules of this file:
1. 050: "Advertisement records and partition summaries MUST be computed only from `EffectiveSend`."
2. What is too much to be listed is an error of ours before anything is sent.
"""

from __future__ import annotations

from lace.facts import Fact
from lace.interlace.answer import Answers
from lace.interlace.blocks import TICK_READY, MalformedBlock, block_size, check_size
from lace.interlace.claims import advertisement_facts
from lace.interlace.events import (
    AdvertisementBlock,
    AnotherTurn,
    AnswerBlock,
    AskBlock,
    Evaluation,
    InnerEvent,
    Moment,
    NeedEvaluation,
    Output,
    Purpose,
    SendBlock,
    TurnsOver,
)
from lace.interlace.limits import ExchangeLimit
from lace.interlace.partitions import ADVERTISEMENT_PARTITION
from lace.interlace.peer import read_advertisements
from lace.interlace.reconcile import Asked, MalformedSummary, Reconciliation
from lace.interlace.state import Agreed, Exchange, Loop


def need_evaluation(exchange: Exchange, purpose: Purpose) -> NeedEvaluation:
    """Ask for an evaluation over everything that is known now and has a part in it."""
    agreed = exchange.agreed
    return NeedEvaluation(purpose, agreed.runtime(exchange.settings), agreed.claims_for(purpose))


def begin_loop(exchange: Exchange, held: AdvertisementBlock | None = None) -> list[Output]:
    """Start a loop: ask who may be sent what, under the time that both sides have reached."""
    exchange.loop = Loop(held=held)
    exchange.round.loops += 1
    exchange.woken = False
    ticks = exchange.agreed.ticks
    ticks.current = ticks.shared
    return [need_evaluation(exchange, Purpose.ADVERTISE)]


def advertise(exchange: Exchange, evaluation: Evaluation, now: Moment) -> list[Output]:
    """Send what we may send: the advertisement block."""
    agreed, loop = exchange.agreed, exchange.loop
    loop.own_differs = agreed.own.update(evaluation)
    loop.have = evaluation.have
    facts = _tick(exchange, now) + (_summaries(agreed, loop) or _listing(agreed))
    check_size(block_size(facts), agreed.terms.limits.max_fact_block_bytes)
    return [SendBlock(tuple(facts))]


def _tick(exchange: Exchange, now: Moment) -> list[Fact]:
    """Announce a tick that our clock has reached, where an open exchange has rules that read it.

    050: "A bounded exchange normally uses `TickTAI = StartTAI` for its whole run."
    """
    agreed = exchange.agreed
    if not exchange.settings.stays_open or not agreed.reads_ticks:
        return []
    reached = agreed.ticks.reached(now.tai)
    if reached == agreed.ticks.local:
        return []
    agreed.ticks.local = reached
    return [(TICK_READY, reached)]


def _summaries(agreed: Agreed, loop: Loop) -> list[Fact]:
    """Return summaries, or nothing where a listing is called for."""
    if not agreed.terms.partitions:
        return []
    summaries = agreed.own.tree.summaries(agreed.terms.partition_start)
    if not summaries or len(summaries) > agreed.terms.limits.max_partition_summaries:
        return []
    loop.answers = Answers(summaries, agreed.own, agreed.terms)
    return [summary.fact() for summary in summaries]


def _listing(agreed: Agreed) -> list[Fact]:
    own, bound = agreed.own, agreed.terms.limits.max_advertisement_records
    if len(own.ids) > bound:
        raise ExchangeLimit(
            limit="max_advertisement_records",
            bound=bound,
            seen=len(own.ids),
            advice="a full listing would be longer; let both sides use partitions",
        )
    return [
        fact
        for record in sorted(own.ids)
        for fact in advertisement_facts(record, own.source, own.claims(record, own.source))
    ]


def receive_advertisement(exchange: Exchange, block: AdvertisementBlock, now: Moment) -> InnerEvent:
    """Learn what the peer advertises, or at least of what there are summaries."""
    agreed, loop = exchange.agreed, exchange.loop
    ticks = [fact[1] for fact in block.facts if fact[0] == TICK_READY]
    summaries = [fact for fact in block.facts if fact[0] == ADVERTISEMENT_PARTITION]
    records = [fact for fact in block.facts if fact[0] not in (TICK_READY, ADVERTISEMENT_PARTITION)]
    if len(ticks) > 1:
        raise MalformedBlock(reason="there is more than one tick in it")
    if summaries and records:
        raise MalformedBlock(reason="summaries and advertisement records do not mix outside an answer")
    if summaries and not agreed.terms.partitions:
        raise MalformedSummary(prefix=summaries[0][1][:50], reason="partitions were not agreed on")
    for tick in ticks:
        agreed.ticks.hear(tick, now.tai)
    peer = agreed.advertised
    peer.begin_loop()
    if summaries:
        predicts, most = exchange.settings.predicts, exchange.settings.local.advertised_records
        loop.reconciliation = Reconciliation(
            summaries, peer, agreed.own, agreed.terms, predicts=predicts, most=most
        )
    else:
        claims = read_advertisements(records, peer.source, peer.schema)
        bound = agreed.terms.limits.max_advertisement_records
        if len(claims) > bound:
            raise ExchangeLimit(
                limit="max_advertisement_records", bound=bound, seen=len(claims), advice="in a full listing"
            )
        peer.set_all(claims)
    # PROFILE 9: turns "happen only when an advertisement block of this loop held summaries."
    return AnotherTurn() if loop.answers or loop.reconciliation else TurnsOver()


def ask(exchange: Exchange) -> list[Output]:
    """Send our half of a turn's questions, perhaps none."""
    loop = exchange.loop
    exchange.round.turns += 1
    loop.asked = Asked() if loop.reconciliation is None else loop.reconciliation.ask()
    return [SendBlock(tuple(loop.asked.facts()))]


def receive_ask(exchange: Exchange, block: AskBlock) -> list[Output]:
    """Answer what the peer asks, perhaps nothing."""
    loop = exchange.loop
    if loop.answers is None:
        if block.facts:
            raise MalformedBlock(reason="it asks about partitions, and there were no summaries")
        loop.was_asked = Asked()
        return [SendBlock(())]
    loop.was_asked = loop.answers.read(block.facts)
    facts = loop.answers.answer(loop.was_asked)
    return [SendBlock(tuple(facts))]


def receive_answer(exchange: Exchange, block: AnswerBlock) -> InnerEvent:
    """Take an answer; PROFILE 9: "Turns end with the first one in which both asked for nothing"."""
    loop = exchange.loop
    if loop.reconciliation is not None:
        loop.reconciliation.accept(block.facts)
    elif block.facts:
        raise MalformedBlock(reason="no answer: nothing was asked")
    return AnotherTurn() if loop.asked or loop.was_asked else TurnsOver()
