"""lace lake optimize"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.command import Call, Command
from lace.cli.grammar import parse_size
from lace.cli.lakes import add_its_lake, add_spark, open_its_lake, spark_if_asked
from lace.cli.output import count


def _arguments(parser: ArgumentParser) -> None:
    add_its_lake(parser)
    parser.add_argument(
        "--file-bytes", metavar="SIZE", type=parse_size, help="about how large files become (128M)"
    )
    add_spark(parser, "work on Spark there (else: in this process)")


def _run(call: Call) -> int:
    from lace.pipeline import optimize

    size = {} if call.args.file_bytes is None else {"target": call.args.file_bytes}
    done = optimize(open_its_lake(call), spark_if_asked(call), **size)
    call.out.result(
        f"{count(done.before, 'file')} became {done.after:,}; version {done.snapshot.version}",
        {"before": done.before, "after": done.after, "version": done.snapshot.version},
    )
    return 0


COMMAND = Command(
    "optimize",
    "merge small files of a lake into large sorted ones",
    "Older versions keep their files until `lace lake vacuum` removes them.",
    ("lace lake init waters", "lace lake optimize --lake waters"),
    _arguments,
    _run,
)
