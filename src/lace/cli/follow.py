"""lace follow"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any

from lace.cli.command import Call, Command
from lace.cli.connecting import (
    CODES,
    add_command,
    add_connecting,
    asked_for,
    check_address,
    introduced_by,
    note_withheld,
)
from lace.cli.lakes import add_lake_peer, add_send_only, fold_joined, open_joined
from lace.cli.outcomes import size
from lace.cli.output import count
from lace.cli.policyfiles import chosen_policy, place_of
from lace.cli.signals import on_end_signals

if TYPE_CHECKING:
    from lace.porcelain import Disconnected, Followed, Introduction, Lace


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("address", metavar="ADDRESS", help="tcp:HOST:PORT, unix:PATH, ws:…, wss:…, or stdio")
    add_connecting(parser, timeout="of one try to connect, and of one round: then it is tried again")
    parser.add_argument(
        "--settled", action="store_true", help="end when both sides have what they want for the first time"
    )
    add_send_only(parser)
    add_lake_peer(parser)
    add_command(parser)


def _run(call: Call) -> int:
    import asyncio

    address = check_address(call, call.args.address)
    policy, asked = chosen_policy(call), asked_for(call)
    with open_joined(call) as lace:
        call.out.kept = "what came until then is stored"
        introduced = introduced_by(address, asked)
        note_withheld(call, introduced)
        try:
            code = asyncio.run(
                _follow(
                    call,
                    _Telling(call, lace, introduced),
                    lambda: lace.interlace(address, policy, stays_open=True, **asked),
                )
            )
        except asyncio.CancelledError:  # asked to end a second time
            raise KeyboardInterrupt from None
        fold_joined(call, lace)
    return code


async def _follow(call: Call, telling: _Telling, make: Any) -> int:
    import asyncio

    from lace.drive import ExchangeEnded, RoundEnded
    from lace.porcelain import EXIT_CODES, Connected, Disconnected, follow, outcome_of

    stop, task = asyncio.Event(), asyncio.current_task()
    assert task is not None

    def end() -> None:
        # The first time at the next fixed point, the second time now.
        if stop.is_set():
            task.cancel()
        stop.set()

    code = 0
    with on_end_signals(end):
        async for event in follow(make, stop=stop):
            telling.tell(event)
            # The exit code is that of the last exchange, also where the next one is being waited for.
            if isinstance(event, Connected):
                code = 0
            elif isinstance(event, RoundEnded) and call.args.settled:
                stop.set()
            elif isinstance(event, ExchangeEnded):
                code = EXIT_CODES[outcome_of(event.result)]
            elif isinstance(event, Disconnected) and event.error is not None:
                code = code or event.error.exit_code
    return code


class _Telling:
    """Tells what happens: a line each, or an object each."""

    def __init__(self, call: Call, lace: Lace, introduced: Introduction) -> None:
        self._out = call.out
        self._lace = lace
        self._introduced = introduced

    def tell(self, event: Followed) -> None:
        from lace.drive import ExchangeEnded, PlanChanged, RecordArrived, RecordRejected, RecordsLeft
        from lace.drive import RoundEnded as Settled
        from lace.porcelain import Connected, Disconnected, words_of

        told: dict[str, Any]
        match event:
            case Connected(address, remote):
                told = {"address": address, "remote": remote, "key_withheld": self._introduced.withheld}
                self._say("connected", f"connected to {address} ({remote})", told)
            case PlanChanged(plan, peer, epoch):
                told = {"plan": plan, "peer": peer, "epoch": epoch}
                self._say("plan", f"plan {plan} with {peer or 'a peer that proved nothing'}", told)
            case RecordArrived(record):
                place = place_of(self._lace, record)
                self._say("received", f"received {record}  {place}".rstrip(), {"id": record, "place": place})
            case RecordsLeft(records):
                for record in records:
                    place = place_of(self._lace, record)
                    self._say("sent", f"sent {record}  {place}".rstrip(), {"id": record, "place": place})
            case RecordRejected(record, error):
                self._say(
                    "rejected",
                    f"rejected {record}: {error} [{error.code}]",
                    {"id": record, **error.to_json()},
                )
            case Settled(result):
                moved = f"{len(result.received_hashes):,} in, {len(result.sent_hashes):,} out"
                told = {"received": len(result.received_hashes), "sent": len(result.sent_hashes)}
                self._say("settled", f"settled: {moved} in {count(result.loops, 'loop')}", told)
            case ExchangeEnded(result):
                moved = f"{size(result.bytes_received)} in, {size(result.bytes_sent)} out"
                words = words_of(result, self._introduced)
                why = "" if words is None else f"; {words}"
                told = {"result": result.to_json(), "words": words}
                self._say("ended", f"ended: {result.cause.value}, {moved}{why}", told)
            case Disconnected():
                self._disconnected(event)

    def _disconnected(self, event: Disconnected) -> None:
        error, wait = event.error, event.retry_seconds
        words = "" if error is None else f": {error} [{error.code}]"
        then = "" if wait is None else f"; again in {wait:.1f} s"
        told = {"error": None if error is None else error.to_json(), "retry_seconds": wait}
        self._say("disconnected", f"disconnected from {event.address}{words}{then}", told)

    def _say(self, event: str, text: str, value: dict[str, Any]) -> None:
        self._out.result(text, {"event": event, **value})
        self._out.flush()


COMMAND = Command(
    "follow",
    "stay in exchange with another lace, and tell what happens",
    "What either side stores later goes to the other while this runs. Where the connection breaks it is made "
    "again, after waits that grow. Ctrl-C, or a TERM signal, ends it in good order when both have what they "
    f"want; twice ends it at once. {CODES} That is how the last try ended. With --json one object a line. "
    "With --lake what came is folded into the tables of the lake at the end.",
    (
        "lace policy new group mine.policy --set town=u && lace init other",
        "lace follow stdio --settled --policy mine.policy --command lace serve stdio --store other"
        " --policy mine.policy",
    ),
    _arguments,
    _run,
)
