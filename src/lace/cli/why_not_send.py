"""lace why-not-send"""

from __future__ import annotations

from lace.cli.command import Call, Command
from lace.cli.policyfiles import open_rehearsal
from lace.cli.why import chosen_size
from lace.cli.why_send import add_record


def _run(call: Call) -> int:
    from lace.porcelain import tell_held

    out, size = call.out, chosen_size(call)
    with open_rehearsal(call) as stage:
        lace, rehearsal = stage
        record = lace.find(call.args.record)
        here = lace.store.has(record)
        with stage.working(call):
            held = rehearsal.why_not_send(record)
            parts = rehearsal.held_by(held)
            hidden = rehearsal.why_not_exposed(record) if out.as_json and "expose" in parts else []
            lines = [] if out.as_json else list(tell_held(rehearsal, held, **size))
        if out.as_json:
            out.value({
                "record": record, "sent": here and not held.reasons, "exposed": held.seen, "held_by": parts,
                "words": rehearsal.words,
                "expose": [
                    {"where": rehearsal.ours.place(section), **answer.to_json()} for section, answer in hidden
                ],
                "reasons": [answer.to_json() for answer in held.reasons],
            })  # fmt: skip
        elif here and not held.reasons:
            out.note(f"{record} may be sent to this peer; `lace why-send` says why")
        else:
            if not here:
                out.line("The record is not here.")
            for line in lines:
                out.line(line)
    return 0 if held.reasons or not here else 1


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
