"""lace why-send"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.command import Call, Command
from lace.cli.grammar import parse_count
from lace.cli.lakes import add_lake_of_policies
from lace.cli.policyfiles import add_peer, add_policies, open_rehearsal
from lace.cli.why import chosen_size


def add_record(parser: ArgumentParser) -> None:
    """Add what both `why-send` and `why-not-send` take."""
    parser.add_argument("record", metavar="RECORD", help="an id, the beginning of one, or //group//app//name")
    add_peer(parser)
    add_policies(parser)
    parser.add_argument("--depth", metavar="N", type=parse_count, help="how many steps down to show (12)")
    parser.add_argument(
        "--full", action="store_true", help="cut nothing: every step, every premise, whole lines"
    )
    add_lake_of_policies(parser)


def _run(call: Call) -> int:
    from lace.porcelain import why_send

    out = call.out
    with open_rehearsal(call) as stage:
        record = stage.lace.find(call.args.record)
        with stage.working(call):
            answer = why_send(stage.rehearsal, record, here=stage.lace.store.has(record))
    if out.as_json:
        out.value(answer.to_json())
    elif answer.sent:
        for line in answer.lines(**chosen_size(call)):
            out.line(line)
    else:
        more = "; `lace why-not-send` says what holds it back" if answer.here else ""
        out.note("".join(answer.lines()) + more)
    return 0 if answer.sent else 1


COMMAND = Command(
    "why-send",
    "explain why a record may be sent to a peer",
    "Shows a proof with both sides' shares, O0 ours and O1 the peer's, each in its author's own rules, and "
    "what exposes the record to the peer's. "
    "Exit code 1 where the record is not sent.",
    (
        "echo hi | lace put --group u --app notes --name first -",
        "lace policy new group mine.policy --set town=u",
        "lace why-send //u//notes//first --peer anonymous --policy mine.policy",
    ),
    add_record,
    _run,
)
