"""lace preview"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any

from lace.cli.command import Call, Command
from lace.cli.grammar import parse_count, parse_path
from lace.cli.lakes import add_lake_of_policies
from lace.cli.output import Output, count
from lace.cli.policyfiles import (
    ANONYMOUS,
    Stage,
    add_peer,
    add_policies,
    counted,
    open_rehearsal,
    write_records_named,
)

if TYPE_CHECKING:
    from lace.porcelain import HeldBack, Lace, Preview

SHOWN = 10
_WHAT = {
    "select": "our policy does not select {them}",
    "expose": "the peer's rules cannot see {them}",
    "peer": "the peer's policy does not select {them}",
    "send": "this restriction does not let {them} go",
}
_OUR_OWN = "our SelectAdvertised is run there over what we advertise, and selects"


def _arguments(parser: ArgumentParser) -> None:
    add_peer(parser, ANONYMOUS)
    add_policies(parser)
    parser.add_argument(
        "--peer-store",
        metavar="PATH",
        type=parse_path,
        help="the peer's lace, or its lake if that is small, where it is at hand: what it would advertise",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "-n",
        "--limit",
        metavar="N",
        type=parse_count,
        default=SHOWN,
        help=f"so many records of each ({SHOWN})",
    )
    which.add_argument("--all", dest="limit", action="store_const", const=None, help="all records")
    add_lake_of_policies(parser)


def _run(call: Call) -> int:
    with open_rehearsal(call) as stage:
        with stage.working(call):
            told = _told(call, stage, stage.rehearsal.preview())
        if call.out.as_json:
            call.out.value(told)
        else:
            _show(call.out, stage.lace, told)
    return 0


def _show(out: Output, lace: Lace, told: dict[str, Any]) -> None:
    proven = "proven" if told["proven"] else "it proves nothing"
    out.line(f"with {told['viewer']} ({proven}), by {told['plan']}")
    if told["words"]:
        out.line(f"{told['words']}: its rules find nothing here, and get only what they name by its id")
    else:
        out.line(f"exposed to it: {told['exposed']:,} of {count(told['stored'], 'record')}")
    out.line(f"may be sent: {count(told['may_send']['count'], 'record')}")
    write_records_named(out, lace, told["may_send"])
    unasked = told["unasked"]["count"]
    if unasked and unasked == told["may_send"]["count"]:
        out.line(f"the peer may ask for none of that: {_OUR_OWN} none of it")
    elif unasked:
        out.line(f"the peer may not ask for {count(unasked, 'record')} of that: {_OUR_OWN} only the others")
        write_records_named(out, lace, told["unasked"])
    if told["may_request"] is not None:
        out.line(f"may be asked for: {count(told['may_request']['count'], 'record')}")
        write_records_named(out, lace, told["may_request"])
        if told["kept_out"]["count"]:
            out.line(f"not asked for, because forgotten here: {count(told['kept_out']['count'], 'record')}")
            write_records_named(out, lace, told["kept_out"])
    else:
        out.line("may be asked for: not known without --advertised or --peer-store")
    out.line(f"held back: {count(told['stored'] - told['may_send']['count'], 'record')}")
    for held in told["held"]:
        by = held["where"] if told["words"] == held["where"] else f"by {held['where']}"
        what = _WHAT[held["by"]].format(them="it" if held["count"] == 1 else "them")
        out.line(f"{by}: {count(held['count'], 'record')}, {what}")
        write_records_named(out, lace, held)


def _told(call: Call, stage: Stage, found: Preview) -> dict[str, Any]:
    """Return a preview as a program reads it, and as it is shown: counted, with the first of each."""
    limit = call.args.limit

    def held(each: HeldBack) -> dict[str, Any]:
        return {"by": each.by, "where": each.where, **counted(each.records, limit)}

    return {
        "plan": found.plan,
        "viewer": found.viewer,
        "proven": stage.rehearsal.peer is not None,
        "words": found.words,
        "stored": found.stored,
        "exposed": found.exposed,
        "selected": len(found.selected),
        "may_send": counted(found.may_send, limit),
        "may_request": None if found.may_request is None else counted(found.may_request, limit),
        "held": [held(each) for each in found.held],
        "kept_out": counted(found.kept_out, limit),
        "unasked": counted(found.unasked, limit),
    }


COMMAND = Command(
    "preview",
    "show what an exchange with a peer would send, ask for and hold back",
    "Nothing is sent and nobody is asked: the policies are evaluated over this lace as it is. What is held "
    "back is shown by the section that holds it. Over a large lake Spark decides. With --json one object.",
    (
        "echo hi | lace put --group u --app notes --name first -",
        "lace policy new group mine.policy --set town=u",
        "lace preview --policy mine.policy --as anonymous",
        "lace key new bob && lace preview --policy mine.policy --as bob --json",
        "lace lake init waters && lace preview --lake waters --policy mine.policy",
    ),
    _arguments,
    _run,
)
