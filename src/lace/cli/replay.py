"""lace replay"""

from __future__ import annotations

from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from lace.cli.command import Call, Command
from lace.cli.outcomes import summary
from lace.cli.output import Output

if TYPE_CHECKING:
    from lace.drive import Observed
    from lace.porcelain import Replay
    from lace.record import Record


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("capture", metavar="CAPTURE", help="a file of `lace tap` or `lace sync --capture`")
    parser.add_argument(
        "--play", choices=("connecting", "accepting"), default="connecting",
        help="whose bytes are played (connecting); a fresh machine takes the part of the other side",
    )  # fmt: skip
    parser.add_argument(
        "--records", metavar="FILE", action="append", default=[],
        help="records that the fresh store has besides those that its side sent: all that this side had",
    )  # fmt: skip


def _run(call: Call) -> int:
    from lace.porcelain import EXIT_CODES, outcome_of, replay_capture

    args, out = call.args, call.out
    events: list[dict[str, Any]] = []

    def observe(observed: Observed) -> None:
        text, value = _told(observed)
        if value is None:
            return
        if out.as_json:
            events.append(value)
        else:
            for line in text.splitlines():
                out.line(line)

    played = replay_capture(
        partial(_open, Path(args.capture)),
        forth=args.play == "connecting",
        records=_records(out, args.records),
        observe=observe,
    )
    if out.as_json:
        out.value({"events": events, **_summed(played), "hint": _hint(call, played)})
    else:
        _write(call, played)
    return 1 if played.result is None else EXIT_CODES[outcome_of(played.result)]


def _open(path: Path) -> BinaryIO:
    from lace.porcelain import FileRefused, file_faults

    with file_faults(path):
        if path.exists() and not (path.is_file() or path.is_dir()):
            reason = "a device or a pipe, and a capture is read more than once: write it into a file first"
            raise FileRefused(where=str(path), reason=reason)
        return path.open("rb")


def _records(out: Output, paths: list[str]) -> list[Record]:
    from lace.porcelain import Lace

    if not paths:
        return []
    with Lace() as lace:
        report = lace.import_records(*paths, resume=False)
        for source, part in report.first_rejects:
            out.note(f"{source}, byte {part.offset}: {part.error} [{part.error.code}]")
        return [lace.store.get(record) for _, record in lace.store.ids()]


def _told(observed: Observed) -> tuple[str, dict[str, Any] | None]:
    """Return what is told, as words and as a value; None where it is nothing of its own."""
    from lace.drive import (
        ExchangeEnded,
        PlanChanged,
        RecordArrived,
        RecordRejected,
        RecordsLeft,
        RoundEnded,
    )

    match observed:
        case PlanChanged(plan, peer, epoch):
            who = peer or "a peer that proved nothing"
            return f"plan {plan} with {who}", {"event": "plan", "plan": plan, "peer": peer, "epoch": epoch}
        case RecordArrived(record, loop):
            return f"loop {loop}: {record} came", {"event": "received", "id": record, "loop": loop}
        case RecordRejected(record, error, loop):
            told = {"event": "rejected", "id": record, "loop": loop, **error.to_json()}
            return f"loop {loop}: {record} was rejected: {error} [{error.code}]", told
        case RecordsLeft(records, _, loop):
            text = "\n".join(f"loop {loop}: {record} was sent" for record in records)
            return text, {"event": "sent", "ids": list(records), "loop": loop}
        case RoundEnded(result):
            return "both have what they want", {"event": "settled", "loops": result.loops}
        case ExchangeEnded():
            return "", {"event": "ended"}
    return "", None


def _summed(played: Replay) -> dict[str, Any]:
    from lace.porcelain import outcome_of

    result = played.result
    return {
        "outcome": None if result is None else outcome_of(result).value,
        "phase": played.phase,
        "played_bytes": played.played_bytes,
        "unread_bytes": played.unread_bytes,
        "said_bytes": played.said_bytes,
        "differs_at": played.differs_at,
        "differs": played.differs,
        "result": None if result is None else result.to_json(),
    }


def _write(call: Call, played: Replay) -> None:
    out = call.out
    if played.result is None:
        out.line(f"the capture ends in the phase {played.phase}")
    else:
        for line in summary(played.result, None, None):
            out.line(line)
    out.line(f"played {played.played_bytes:,} bytes, answered {played.said_bytes:,}")
    if played.unread_bytes:
        out.line(f"{played.unread_bytes:,} bytes lie behind the end of the exchange")
    if played.differs_at is None:
        out.line("every answer is the captured one, byte for byte")
    else:
        out.line(f"from byte {played.differs_at:,} on the answers are others: {played.differs}")
    hint = _hint(call, played)
    if hint is not None:
        out.line(f"hint: {hint}")


def _hint(call: Call, played: Replay) -> str | None:
    """Say what most likely made a replay fail whose answers are others than the captured ones."""
    from lace.porcelain import Outcome, outcome_of

    # Where it ends well in other words, something else differs, such as a proof that only a key can make.
    well = played.result is not None and outcome_of(played.result) is Outcome.CONVERGED
    if played.differs_at is None or well:
        return None
    # Laces that were in step sent each other nothing, so that nothing of what they had is in a capture.
    side = "accepting" if call.args.play == "connecting" else "connecting"
    has = "what its side sent and what --records gave" if call.args.records else "what its side sent"
    return f"the fresh store has only {has}: give --records FILE with the records that the {side} side had"


COMMAND = Command(
    "replay",
    "play one side of a capture against a fresh machine and store",
    "Nothing is connected to and no store is touched. The machine takes the part of the other side: its "
    "operand, its nonce and its clock are in the capture, and its records are those that it sent. What it "
    "had besides comes from --records FILE, such as an export: without it a capture of laces that were in "
    "step ends as a peer error. The same capture gives the same report. Ends like `lace sync`.",
    ("lace replay talk.capture --play accepting",),
    _arguments,
    _run,
)
