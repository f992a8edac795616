"""lace policy diff"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from lace.cli.command import Call, Command
from lace.cli.grammar import parse_count
from lace.cli.output import count
from lace.cli.policyfiles import (
    ANONYMOUS,
    add_peer,
    add_peer_policy,
    chosen_peer,
    chosen_peer_policy,
    counted,
    load_policy,
    records_of,
    write_records_named,
)

SHOWN = 10


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("before", metavar="A", help="the policy as it was")
    parser.add_argument("after", metavar="B", help="the policy as it is to be")
    add_peer(parser, "--as", default=ANONYMOUS)
    add_peer_policy(parser)
    parser.add_argument(
        "-n",
        "--limit",
        metavar="N",
        type=parse_count,
        default=SHOWN,
        help=f"so many records of each ({SHOWN})",
    )
    parser.add_argument("--exit-code", action="store_true", help="1 where the rules differ")


def _run(call: Call) -> int:
    from lace.porcelain import diff_policies, diff_records

    args, out = call.args, call.out
    before, after = load_policy(call, args.before), load_policy(call, args.after)
    changes = diff_policies(before, after)
    told: dict[str, Any] = {"rules": [change._asdict() for change in changes]}
    if not out.as_json:
        for change in changes:
            out.line(str(change))
        out.line(count(len(changes), "difference") if changes else "the rules are the same")
    if args.store is not None:
        peer, theirs = chosen_peer(call, args.peer), chosen_peer_policy(call)
        with call.open(read_only=True) as lace:
            found = diff_records(records_of(lace), before, after, peer=peer, theirs=theirs)
            if not out.as_json:
                for words, records in zip(_WORDS, found, strict=True):
                    out.line(f"{words.format(peer=args.peer)}: {count(len(records), 'record')}")
                    write_records_named(out, lace, records, args.limit)
        told["records"] = {name: counted(each, args.limit) for name, each in found._asdict().items()}
    if out.as_json:
        out.value(told)
    return 1 if changes and args.exit_code else 0


_WORDS = (
    "newly selected",
    "held in the store, but no longer selected",
    "newly sent to {peer}",
    "newly held back from {peer}",
)

COMMAND = Command(
    "diff",
    "say what two policies do differently",
    "Shows which rules only one of them has. With --store it also shows which records of that lace are newly "
    "selected, newly sent and newly held back, and which are held in the store but no longer selected.",
    (
        "lace policy new group old.policy",
        "lace policy new group mine.policy --set town=u",
        "lace policy diff old.policy mine.policy --store .",
    ),
    _arguments,
    _run,
)
