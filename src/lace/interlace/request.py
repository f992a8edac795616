"""Transition: evaluate request set (050; PROFILE 10, Requests).

050: "A side may request record P only when MayRequest(P) and Advertised(P, S_peer) and not Have(P), and the
record hash suffix is accepted by local policy."
"""

from __future__ import annotations

from operator import itemgetter

from lace.interlace.blocks import MAY_REQUEST, MalformedBlock
from lace.interlace.claims import Claims
from lace.interlace.events import Evaluation, Output, RequestBlock, SendBlock
from lace.interlace.own import format_suffixes
from lace.interlace.partitions import PAYLOAD
from lace.interlace.state import Exchange
from lace.policy import among
from lace.text import is_foreign_record_id

_LINE_BYTES = len(f"{MAY_REQUEST}('')\n")
_content = itemgetter(slice(PAYLOAD, None))


def requestable(exchange: Exchange, evaluation: Evaluation) -> list[str]:
    """Return what may be asked for now, sorted by what names its content and not by its type.

    Seals take many times as long to check as other records. Were they asked for behind all others, the core
    that checks would be idle until they come, and the one that stores from then on.

    PROFILE 9: "While its advertisement is unchanged, a rejected hash is not asked for again in the exchange
    and a not-available one not in the round".
    """
    agreed = exchange.agreed
    advertised = agreed.advertised.claims
    _forget_changed(exchange.rejected, advertised)
    _forget_changed(exchange.unavailable, advertised)
    suffixes = format_suffixes(agreed.terms.formats & exchange.settings.formats)
    held_off = exchange.rejected.keys() | exchange.unavailable.keys()
    # What is missing first: between peers that know each other it is little.
    missing = agreed.lacking.look(agreed.advertised, evaluation.have)
    found = [
        record
        for record in among(evaluation.may_request, missing)
        if record.endswith(suffixes) and record not in held_off
    ]
    return sorted(found, key=_content)


def _forget_changed(remembered: dict[str, Claims], advertised: dict[str, Claims]) -> None:
    for record in [each for each, claims in remembered.items() if advertised.get(each) != claims]:
        del remembered[record]


def lacks_nothing(exchange: Exchange) -> bool:
    """Tell whether the store had all that the peer advertises when the loop began.

    Then no policy could request any of it, and none need be asked. What has been removed since is missed by
    the next round.
    """
    have, agreed = exchange.loop.have, exchange.agreed
    if have is None or exchange.rejected or exchange.unavailable:
        return False
    return not agreed.lacking.look(agreed.advertised, have)


def request_nothing(exchange: Exchange) -> list[Output]:
    """Send an empty request list."""
    return _send(exchange, [])


def request(exchange: Exchange, evaluation: Evaluation) -> list[Output]:
    """Send the request list: as much of what is requestable as one block and our own bound allow."""
    room = exchange.agreed.terms.limits.max_fact_block_bytes
    chosen: list[str] = []
    for record in requestable(exchange, evaluation)[: exchange.settings.local.request_records]:
        room -= _LINE_BYTES + len(record)
        if room < 0:
            break
        chosen.append(record)
    return _send(exchange, chosen)


def _send(exchange: Exchange, chosen: list[str]) -> list[Output]:
    exchange.loop.requested = dict.fromkeys(chosen)
    exchange.loop.requested_any = bool(chosen)
    exchange.round.reconciled = True
    return [SendBlock(tuple((MAY_REQUEST, record) for record in chosen))]


def receive_request(exchange: Exchange, block: RequestBlock) -> None:
    """Read what the peer asks for."""
    requests = [fact[1] for fact in block.facts]
    distinct = set(requests)
    if len(distinct) != len(requests):
        raise MalformedBlock(reason="a record is requested twice")
    if not distinct <= exchange.agreed.own.ids:
        for record in requests:
            if not is_foreign_record_id(record):
                raise MalformedBlock(reason=f"{record[:60]!r} is no record id")
    exchange.loop.peer_requests = tuple(requests)
    exchange.loop.requested_any = exchange.loop.requested_any or bool(requests)
