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
    add_peer(parser, "--peer")
    add_policies(parser)
    parser.add_argument("--depth", metavar="N", type=parse_count, help="how many steps down to show (12)")
    parser.add_argument(
        "--full", action="store_true", help="cut nothing: every step, every premise, whole lines"
    )
    add_lake_of_policies(parser)


def _run(call: Call) -> int:
    from lace.datalog import show_proof

    out = call.out
    with open_rehearsal(call) as stage:
        record = stage.lace.find(call.args.record)
        # Rules may name a record that is not here, such as one inside of another: it is not sent.
        here = stage.lace.store.has(record)
        with stage.working(call):
            rehearsal = stage.rehearsal
            proof = rehearsal.why_send(record) if here else None
            shown = rehearsal.why_exposed(record) if proof is not None else []
            exposed = [(rehearsal.ours.place(section), why) for section, why in shown]
    if out.as_json:
        out.value({
            "record": record, "sent": proof is not None, "proof": proof and proof.to_json(),
            "expose": [{"where": where, **(why.to_json() if why else {})} for where, why in exposed],
        })  # fmt: skip
    elif not here:
        out.note(f"{record} is not here, so it is not sent")
    elif proof is None:
        out.note(f"{record} is not sent to this peer; `lace why-not-send` says what holds it back")
    else:
        for line in show_proof(proof, **chosen_size(call)).split("\n"):
            out.line(line)
        for where, why in exposed:
            out.line(f"The peer's rules may see it by {where}{':' if why else '.'}")
            for line in show_proof(why, **chosen_size(call)).split("\n") if why else ():
                out.line(line)
    return 0 if proof else 1


COMMAND = Command(
    "why-send",
    "explain why a record may be sent to a peer",
    "Shows a proof with both sides' shares, O0 ours and O1 the peer's, each in its author's own rules, and "
    "what exposes the record to the peer's. "
    "Exit code 1 where the record is not sent.",
    (
        "lace policy new group mine.policy --set town=u",
        "lace why-send //u//notes//first --peer anonymous --policy mine.policy",
    ),
    add_record,
    _run,
)
