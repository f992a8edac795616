"""lace why-not-send"""

from __future__ import annotations

from lace.cli.command import Call, Command
from lace.cli.policyfiles import open_rehearsal
from lace.cli.why import chosen_size
from lace.cli.why_send import add_record


def _run(call: Call) -> int:
    from lace.porcelain import tell_held

    out, size = call.out, chosen_size(call)
    with open_rehearsal(call) as (lace, rehearsal):
        record = lace.find(call.args.record)
        held = rehearsal.why_not_send(record)
        parts = rehearsal.held_by(held)
        if out.as_json:
            hidden = rehearsal.why_not_exposed(record) if "expose" in parts else []
            out.value({
                "record": record, "sent": not held.reasons, "exposed": held.seen, "held_by": parts,
                "words": rehearsal.decision.words,
                "expose": [
                    {"where": rehearsal.ours.place(section), **answer.to_json()} for section, answer in hidden
                ],
                "reasons": [answer.to_json() for answer in held.reasons],
            })  # fmt: skip
        elif not held.reasons:
            out.note(f"{record} may be sent to this peer; `lace why-send` says why")
        else:
            if not lace.store.has(record):
                out.line("The record is not here.")
            for line in tell_held(rehearsal, held, **size):
                out.line(line)
    return 0 if held.reasons else 1


COMMAND = Command(
    "why-not-send",
    "explain what holds a record back from a peer",
    "For each side's selector, each expose section and each restriction that does not agree: how far its "
    "rules hold, and the atom that fails. Exit code 1 where the record may be sent.",
    (
        "lace policy new group town.policy",
        "lace why-not-send //u//notes//first --peer anonymous --policy town.policy",
    ),
    add_record,
    _run,
)
