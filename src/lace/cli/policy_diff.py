"""lace policy diff"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from lace.cli.command import Call, Command
from lace.cli.grammar import parse_count
from lace.cli.lakes import add_lake_of_policies, joins_lake
from lace.cli.output import count
from lace.cli.policyfiles import (
    ANONYMOUS,
    Stage,
    add_peer,
    add_peer_policy,
    chosen_peer,
    chosen_peer_policy,
    counted,
    load_policy,
    spark_if_large,
    write_records_named,
)

SHOWN = 10


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("before", metavar="A", help="the policy as it was")
    parser.add_argument("after", metavar="B", help="the policy as it is to be")
    add_peer(parser, ANONYMOUS)
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
    add_lake_of_policies(parser)


def _run(call: Call) -> int:
    from lace.porcelain import diff_policies, diff_rehearsals

    args, out = call.args, call.out
    before, after = load_policy(call, args.before), load_policy(call, args.after)
    changes = diff_policies(before, after)
    told: dict[str, Any] = {"rules": [change._asdict() for change in changes]}
    if not out.as_json:
        for change in changes:
            out.line(str(change))
        out.line(count(len(changes), "difference") if changes else "the rules are the same")
    if joins_lake(call) or args.store is not None:
        peer, theirs = chosen_peer(call, args.peer), chosen_peer_policy(call)
        with call.open(read_only=True) as lace:
            old = lace.rehearse(before, peer=peer, theirs=theirs, session=spark_if_large(call))
            new = old.under(after)
            with Stage(lace, new).working(call):
                found = diff_rehearsals(old, new)._asdict()
                told["records"] = {name: counted(each, args.limit) for name, each in found.items()}
            if not out.as_json:
                for words, records in zip(_WORDS, told["records"].values(), strict=True):
                    out.line(f"{words.format(peer=args.peer)}: {count(records['count'], 'record')}")
                    write_records_named(out, lace, records)
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
    "Shows which rules only one of them has. With --store or --lake it also shows which of its records are "
    "newly selected, newly sent and newly held back, and which are held there but no longer selected.",
    (
        "lace policy new group old.policy",
        "lace policy new group mine.policy --set town=u",
        "lace policy diff old.policy mine.policy --store .",
    ),
    _arguments,
    _run,
)
