"""lace lake rejects"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from itertools import islice
from typing import Any

from lace.cli.command import Call, Command
from lace.cli.grammar import parse_count
from lace.cli.lakes import add_its_lake, open_its_lake
from lace.cli.tables import write_table

_COLUMNS = ("source", "offset", "length", "code", "reason")


def _arguments(parser: ArgumentParser) -> None:
    add_its_lake(parser)
    parser.add_argument(
        "--at", metavar="VERSION", type=parse_count, help="as it was (else: the newest version)"
    )
    parser.add_argument("-n", "--limit", metavar="N", type=parse_count, help="at most so many")
    parser.add_argument("--raw", action="store_true", help="with --json: the bytes too, as base64")


def _run(call: Call) -> int:
    from base64 import b64encode

    args, out = call.args, call.out
    names = (*_COLUMNS, "raw") if args.raw else _COLUMNS
    rows = islice(_rows(call, names), args.limit)
    if out.as_json:
        for row in rows:
            told = dict(zip(names, row, strict=True))
            out.value({**told, "raw": b64encode(told["raw"]).decode()} if args.raw else told)
        return 0
    if not write_table(out, _COLUMNS, ([str(cell) for cell in row[:5]] for row in rows)):
        out.note("nothing was rejected")
    return 0


def _rows(call: Call, names: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    for batch in (
        open_its_lake(call).snapshot(call.args.at).dataset("rejects").to_batches(columns=list(names))
    ):
        yield from zip(*(batch.column(name).to_pylist() for name in names), strict=True)


COMMAND = Command(
    "rejects",
    "list what ingest rejected, with source, place and reason",
    "The bytes are kept in the table too.",
    ("lace lake init waters", "lace lake rejects --lake waters"),
    _arguments,
    _run,
)
