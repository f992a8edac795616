"""lace why-sent"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING

from lace.cli.command import Call, Command
from lace.cli.grammar import parse_count
from lace.cli.history import add_exchange_peer, add_noted, named_peer, open_noted, whom
from lace.cli.output import Output, count
from lace.cli.why import chosen_size

if TYPE_CHECKING:
    from lace.drive import ExchangeEntry, Passage
    from lace.porcelain import Sending, WhySent

_OTHERS = {
    "came": "came from {peer}",
    "rejected": "came from {peer} and was rejected: {words}",
    "not-available": "was asked of {peer}, who could no longer send it",
    "deferred": "was asked of {peer}, who left it for later",
    "held-back": "was asked for by {peer}, and held back",
}


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("record", metavar="RECORD", help="an id, the beginning of one, or //group//app//name")
    add_exchange_peer(parser)
    parser.add_argument(
        "--explain", metavar="COUNT", type=parse_count, help="explain so many times, the newest (10)"
    )
    parser.add_argument("--proof", action="store_true", help="show whole proofs, as `lace why-send` does")
    parser.add_argument("--depth", metavar="N", type=parse_count, help="how many steps down to show (12)")
    parser.add_argument(
        "--full", action="store_true", help="cut nothing: every step, every premise, whole lines"
    )
    add_noted(parser)


def _run(call: Call) -> int:
    args, out = call.args, call.out
    with open_noted(call) as lace:
        found = lace.why_sent(args.record, peer=named_peer(call, args.peer), explain=args.explain)
        noted = next(lace.history(limit=1), None) is not None
    if out.as_json:
        out.value(_told(found))
    else:
        _show(call, found, noted)
    return 0 if found.sendings else 1


def _told(found: WhySent) -> dict[str, object]:
    return {
        "record": found.record,
        "sent": bool(found.sendings),
        "sendings": [each.to_json() for each in found.sendings],
        "others": [
            {
                "exchange": passage.number, "way": passage.way.value, "at": passage.at, "loop": passage.loop,
                "peer": entry.peer, "address": entry.address, "code": passage.error_code,
            }
            for passage, entry in found.others
        ],
    }  # fmt: skip


def _show(call: Call, found: WhySent, noted: bool) -> None:
    out = call.out
    if not found.sendings:
        to = " to this peer" if call.args.peer else ""
        since = "" if noted else ": no exchange was noted here yet"
        out.line(f"{found.record} never left{to}, as far as the history goes{since}")
    else:
        out.line(f"{found.record} left {count(len(found.sendings), 'time')}")
    for sending in found.sendings:
        _show_sending(call, sending)
    for passage, entry in found.others:
        _show_other(out, passage, entry)


def _show_sending(call: Call, sending: Sending) -> None:
    from lace.datalog import show_proof
    from lace.drive import Way
    from lace.porcelain import Worth, show_time

    out, passage, agreed = call.out, sending.passage, sending.agreement
    perhaps = "" if passage.way is Way.LEFT else " perhaps: the process ended while it was about to leave"
    out.line(f"exchange {passage.number}, {show_time(passage.at)}: to {whom(sending.entry)}{perhaps}")
    if agreed is not None:
        out.line(f"  under {agreed.plan}, epoch {passage.epoch}, loop {passage.loop}, tick {passage.tick}")
        out.line(f"  the peer's rules saw what is shown to {agreed.viewer}")
    for whose, rules in zip(("us", "the peer"), sending.selected_by, strict=True):
        for rule in rules:
            out.line(f"  selected by {whose}: {rule}")
    for shown in sending.shown_by:
        out.line(f"  shown by {shown.section}: {shown.rule}")
    if sending.worth is Worth.NOT_ASKED:
        out.line("  not explained: --explain takes a larger number")
    else:
        words = f": {'; '.join(sending.words)}" if sending.words else ""
        out.line(f"  this reason is {sending.worth.value}{words}")
    if sending.proof is not None and (call.args.proof or call.args.full or call.args.depth is not None):
        for line in show_proof(sending.proof, **chosen_size(call)).split("\n"):
            out.line(f"    {line}")


def _show_other(out: Output, passage: Passage, entry: ExchangeEntry) -> None:
    from lace.porcelain import show_time

    words = _OTHERS[passage.way.value].format(peer=whom(entry), words=passage.words)
    out.line(f"exchange {passage.number}, {show_time(passage.at)}: it {words}")


COMMAND = Command(
    "why-sent",
    "say every time that a record left, to whom and by whose rules",
    "The history keeps the rules and facts that decided, so that the answer stays the same when the policy "
    "file changes. It says whether the reason is as it was, or made again over a store that lost records "
    "since; and whence the record came. Exit code 1 where it never left.",
    (
        "lace policy new group mine.policy --set town=u && lace init other",
        "lace sync stdio --policy mine.policy --command lace serve stdio --store other --policy mine.policy",
        "lace why-sent //u//notes//first --peer anonymous",
    ),
    _arguments,
    _run,
)
