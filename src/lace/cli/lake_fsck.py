"""lace lake fsck"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.command import Call, Command
from lace.cli.grammar import parse_count
from lace.cli.lakes import add_inbox, add_its_lake, add_spark, count_inbox, open_its_lake, spark_if_asked
from lace.cli.output import count


def _arguments(parser: ArgumentParser) -> None:
    add_its_lake(parser)
    parser.add_argument("--at", metavar="VERSION", type=parse_count, help="this version (else: the newest)")
    parser.add_argument("--signatures", action="store_true", help="verify signatures again as well")
    add_inbox(parser)
    add_spark(parser, "work on Spark there (else: in this process)")


def _run(call: Call) -> int:
    from lace.pipeline import fsck

    args, out = call.args, call.out
    lake = open_its_lake(call)
    waiting = count_inbox(lake, out, args.inbox)
    found = fsck(lake, spark_if_asked(call), version=args.at, signatures=args.signatures)
    if out.as_json:
        out.value({
            "sound": found.is_sound, "version": found.version, "files": found.files, "records": found.records,
            "facts": found.facts, "faults": dict(found.faults),
            "findings": [{"kind": f.kind, "where": f.where, "detail": f.detail} for f in found.findings],
            "orphans": list(found.orphans), "waiting": waiting,
        })  # fmt: skip
        return 0 if found.is_sound else 1
    for each in found.findings:
        out.line(f"{each.kind}: {each.where}: {each.detail}")
    seen = f"{count(found.records, 'record')}, {count(found.facts, 'fact')}, {count(found.files, 'file')}"
    faults = sum(found.faults.values())
    out.line(f"version {found.version}: {seen}: " + (f"{count(faults, 'fault')}" if faults else "all sound"))
    if found.orphans:
        loose = count(len(found.orphans), "file")
        out.note(f"{loose} of writers at work, or killed; `lace lake vacuum` removes old ones")
    return 0 if found.is_sound else 1


COMMAND = Command(
    "fsck",
    "check a lake: manifests, files, every record and every fact",
    "Changes nothing. Exit code 1 where anything is wrong.",
    ("lace lake init waters", "lace lake fsck --lake waters"),
    _arguments,
    _run,
)
