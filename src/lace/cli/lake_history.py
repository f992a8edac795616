"""lace lake history"""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import UTC, datetime
from itertools import islice

from lace.cli.command import Call, Command
from lace.cli.grammar import parse_count
from lace.cli.lakes import add_inbox, add_its_lake, count_inbox, open_its_lake
from lace.cli.tables import write_table


def _arguments(parser: ArgumentParser) -> None:
    add_its_lake(parser)
    add_inbox(parser)
    parser.add_argument("-n", "--limit", metavar="N", type=parse_count, help="at most so many")


def _run(call: Call) -> int:
    lake = open_its_lake(call)
    count_inbox(lake, call.out, call.args.inbox)
    versions = islice(lake.history(), call.args.limit)
    if call.out.as_json:
        for each in versions:
            call.out.value({
                "version": each.version, "at": each.at,
                "at_utc": datetime.fromtimestamp(each.at, UTC).isoformat(),
                "operation": each.operation, "batch": each.batch,
                "counts": dict(each.counts), "records": each.rows("records"), "rejects": each.rows("rejects"),
                "files": sum(map(len, each.files.values())),
            })  # fmt: skip
        return 0
    rows = (
        [
            str(each.version),
            f"{datetime.fromtimestamp(each.at, UTC):%Y-%m-%d %H:%M:%SZ}",
            each.operation,
            f"{each.rows('records'):,}",
            f"{sum(map(len, each.files.values())):,}",
            ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in each.counts.items() if count),
        ]
        for each in versions
    )
    write_table(call.out, ["version", "committed", "by", "records", "files", "what it did"], rows)
    return 0


COMMAND = Command(
    "history",
    "list the versions of a lake, newest first",
    "Each can be read with --at until `lace lake vacuum` has removed it.",
    ("lace lake init waters", "lace lake history --lake waters"),
    _arguments,
    _run,
)
