"""lace get"""

from __future__ import annotations

from argparse import ArgumentParser
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lace.cli.command import Call, Command
from lace.cli.elsewhere import add_from, fetch_first
from lace.cli.grammar import Usage, parse_path
from lace.cli.lakes import add_lake
from lace.cli.targets import STDOUT

if TYPE_CHECKING:
    from lace.record import Record


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("record", metavar="RECORD", help="an id, the beginning of one, or //group//app//name")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--raw", action="store_true", help="the whole record as it is stored")
    form.add_argument("--headers", action="store_true", help="the fields instead of the data")
    parser.add_argument(
        "-o", "--out", metavar="FILE", type=parse_path, help="write a file instead of stdout; - is stdout"
    )
    parser.add_argument("--force", action="store_true", help="replace FILE")
    add_lake(parser)
    add_from(parser)


def _run(call: Call) -> int:
    from lace.porcelain import new_file

    args, out = call.args, call.out
    out.tells_damage = True
    if args.raw and out.as_json and args.out in (None, STDOUT):
        reason = "--raw and --json: choose one, or write the record to a file with --out"
        raise Usage(reason=reason, command=args.parser.prog)
    record, code = _find(call)
    if record is None:
        return code
    file_name = None if args.out == STDOUT else args.out
    if out.as_json:
        out.value(_described(record, only_fields=args.headers or file_name is not None))
        if file_name is None:
            return code
    if args.raw:
        content = record.raw
    elif args.headers:
        content = "".join(f"{name}: {value}\n" for name, value in _fields(record)).encode()
    else:
        content = _data(record)
    if file_name is not None:
        with new_file(Path(file_name), replace=args.force) as file:
            file.write(content)
    else:
        out.data(content)
    return code


def _find(call: Call) -> tuple[Record | None, int]:
    """Return the record and how fetching it went; None where it could not be fetched and is not here."""
    args = call.args
    if args.origin is None:
        with call.open(read_only=True) as lace:
            return lace.get(args.record), 0
    from lace.errors import Missing
    from lace.porcelain import select_reference  # with all that an exchange needs

    if args.lake is not None:
        raise Usage(reason="--from fetches into a store: leave --lake out", command=args.parser.prog)
    with call.open() as lace:
        code = fetch_first(call, lace, select_reference(args.record))
        try:
            return lace.get(args.record), code
        except Missing:
            if code == 0:
                raise
            return None, code


def _data(record: Record) -> bytes:
    from lace.record import Blob, Plex

    if isinstance(record, Blob):
        return record.data
    return record.blob.data if isinstance(record, Plex) else record.plex.blob.data


def _fields(record: Record) -> list[tuple[str, str]]:
    from lace.facts import facts_of_record

    return [(fact[2], fact[4]) for fact in facts_of_record(record) if fact[0] == "Field"]


def _described(record: Record, *, only_fields: bool) -> dict[str, Any]:
    described: dict[str, Any] = {"id": record.id, "fields": _fields(record)}
    if only_fields:
        return described
    data = _data(record)
    try:
        return {**described, "text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {**described, "base64": b64encode(data).decode()}


COMMAND = Command(
    "get",
    "write the data of a record",
    "With --json: the fields, and the data as `text` where it is UTF-8 and else as `base64`; --raw then "
    "needs --out.",
    (
        "echo hi | lace put --group u --app notes --name first -",
        "lace get //u//notes//first",
        "lace get //u//notes//first --headers",
    ),
    _arguments,
    _run,
)
