"""lace why-sent"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.command import Call, Command
from lace.cli.grammar import parse_count
from lace.cli.history import add_exchange_peer, add_noted, named_peer, open_noted
from lace.cli.why import chosen_size


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "record", metavar="RECORD",
        help="an id, the beginning of one, or //group//app//name for the newest that is there now",
    )  # fmt: skip
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
    if out.as_json:
        out.value(found.to_json())
    else:
        proofs = args.proof or args.full or args.depth is not None
        for line in found.lines(proofs=proofs, **chosen_size(call)):
            out.line(line)
        if args.record.startswith("//"):
            # Who asks about a place may mean all that ever was there, and a newer one may have stayed.
            out.note(f"{args.record} is the newest record there; ask about older ones by their ids")
    return 0 if found.sendings else 1


COMMAND = Command(
    "why-sent",
    "say every time that a record left, to whom and by whose rules",
    "The history keeps the rules and facts that decided, so that the answer stays the same when the policy "
    "file changes. It says whether the reason is as it was, or made again over a store that lost records "
    "since; whence the record came; and what it cannot tell about, because it was cut, or was noted without "
    "ids. Exit code 1 where it never left, as far as the history goes.",
    (
        "lace policy new group mine.policy --set town=u && lace init other",
        "lace sync stdio --policy mine.policy --command lace serve stdio --store other --policy mine.policy",
        "lace why-sent //u//notes//first --peer anonymous",
    ),
    _arguments,
    _run,
)
