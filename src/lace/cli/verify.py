"""lace verify"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING

from lace.cli.command import Call, Command
from lace.cli.lakes import add_lake
from lace.cli.output import count
from lace.cli.progress import progress_bar
from lace.errors import Unavailable

if TYPE_CHECKING:
    from lace.porcelain import Lace


class NothingTakenOut(Unavailable):
    """A store that can only be read, where what is damaged would be taken out."""

    code = "cli/verify-read-only"
    text = (
        "{where} can be read, but not written ({reason}), and verifying takes out what is damaged;"
        " to look, and leave the store as it is, give --read-only"
    )


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("records", metavar="RECORD", nargs="*", help="these records (else: everything)")
    parser.add_argument("--read-only", action="store_true", help="look, and leave the store as it is")
    add_lake(parser)


def _run(call: Call) -> int:
    args, out = call.args, call.out
    out.tells_damage = True
    with _open(call) as lace, progress_bar("verifying", "records") as update:
        found = lace.verify(*args.records, progress=update)
    if out.as_json:
        out.value({
            "sound": found.sound, "checked": found.checked, "taken": found.taken, "mended": found.mended,
            "rotten": [each._asdict() for each in found.rotten], "damage": list(found.damage),
        })  # fmt: skip
        return 0 if found.sound else 1
    for each in found.rotten:
        out.line(f"{each.record_id} is damaged: {each.reason}")
    for line in found.damage:
        out.line(f"the file is damaged: {line}")
    if found.mended:
        out.line(f"wrote {count(found.mended, 'segment')} of fact columns again")
    if found.rotten:
        taken = "taken out of the store" if found.taken else "left where they are"
        out.line(f"checked {count(found.checked, 'record')}: {len(found.rotten):,} damaged, {taken}")
    else:
        out.line(f"checked {count(found.checked, 'record')}" + (": all sound" if found.sound else ""))
    return 0 if found.sound else 1


def _open(call: Call) -> Lace:
    from lace.stores import ReadOnly

    try:
        return call.open(read_only=call.args.read_only)
    except ReadOnly as error:
        raise NothingTakenOut(**error.fields) from error


COMMAND = Command(
    "verify",
    "hash and validate records again, signatures included",
    "Damaged records are taken out of the store, so that they can be stored again. Exit code 1 where "
    "anything was wrong.",
    ("lace verify", "lace verify //u//notes//first"),
    _arguments,
    _run,
)
