"""lace export"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.choosing import add_choosing, chooses, chosen_view
from lace.cli.command import Call, Command
from lace.cli.grammar import Usage
from lace.cli.lakes import add_lake
from lace.cli.progress import progress_bar
from lace.cli.targets import add_target, chosen_target, tell_written


def _arguments(parser: ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument(
        "--format", choices=("records", "jsonl", "csv"), default="records",
        help="records as they are stored (the default), or the table view of them",
    )  # fmt: skip
    add_choosing(parser)
    add_lake(parser)


def _run(call: Call) -> int:
    args, out = call.args, call.out
    out.tells_damage = True
    if args.format == "records" and args.columns is not None:
        reason = "--columns goes with --format csv or jsonl: records are written whole"
        raise Usage(reason=reason, command=args.parser.prog)
    target, bound = chosen_target(args, is_json=args.format == "jsonl")
    with call.open(read_only=True) as lace, progress_bar("exporting", "records") as update:

        def moved(records: int) -> None:
            update(records, None)

        if args.format == "records":
            view = chosen_view(lace, args) if chooses(args) else None
            report = lace.export_records(
                target, view=view, shard_bytes=bound, replace=args.force, progress=moved
            )
        else:
            report = lace.export_table(
                target, chosen_view(lace, args), format=args.format, shard_bytes=bound,
                replace=args.force, progress=moved,
            )  # fmt: skip
    tell_written(out, args, report)
    for record_id in report.rotten:
        out.note(f"{record_id} is damaged and was left out; `lace verify` takes it out of the store")
    return 1 if report.rotten else 0


COMMAND = Command(
    "export",
    "write records, or a table of them, to files or a stream",
    "Records are hashed again on their way out; a damaged one is reported and left out, and the exit code "
    "is 1. A folder gets files of bounded size and a manifest.json that lists them.",
    (
        "lace export all.records",
        "lace export shards/ --shard-bytes 16M --where Group=u",
        "lace export --format csv --columns Group,Name,TAI table.csv",
    ),
    _arguments,
    _run,
)
