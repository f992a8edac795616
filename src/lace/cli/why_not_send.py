"""lace why-not-send"""

from __future__ import annotations

from lace.cli.command import Call, Command
from lace.cli.policyfiles import open_rehearsal
from lace.cli.why import chosen_size
from lace.cli.why_send import add_record


def _run(call: Call) -> int:
    from lace.porcelain import why_not_send

    out = call.out
    with open_rehearsal(call) as stage:
        record = stage.lace.find(call.args.record)
        with stage.working(call):
            answer = why_not_send(stage.rehearsal, record, here=stage.lace.store.has(record))
    if out.as_json:
        out.value(answer.to_json())
    elif answer.sent:
        out.note("".join(answer.lines()) + "; `lace why-send` says why")
    else:
        for line in answer.lines(**chosen_size(call)):
            out.line(line)
    return 1 if answer.sent else 0


COMMAND = Command(
    "why-not-send",
    "explain what holds a record back from a peer",
    "For each side's selector, each expose section and each restriction that does not agree: how far its "
    "rules hold, and the atom that fails. Exit code 1 where the record may be sent.",
    (
        "echo hi | lace put --group u --app notes --name first -",
        "lace policy new group town.policy",
        "lace why-not-send //u//notes//first --peer anonymous --policy town.policy",
    ),
    add_record,
    _run,
)
