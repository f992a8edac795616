"""lace ls"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from lace.cli.choosing import add_choosing, chosen_view
from lace.cli.command import Call, Command
from lace.cli.elsewhere import add_from, fetch_first
from lace.cli.grammar import Usage
from lace.cli.lakes import add_lake
from lace.cli.tables import short_id, write_table

if TYPE_CHECKING:
    from lace.policy import Module
    from lace.porcelain import Row


def _arguments(parser: ArgumentParser) -> None:
    add_choosing(parser)
    form = parser.add_argument_group("form").add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="CSV")
    form.add_argument("-q", "--ids", action="store_true", help="nothing but ids")
    parser.add_argument("--full", action="store_true", help="ids in full and TAI text, also on a terminal")
    add_lake(parser)
    add_from(parser)


def _run(call: Call) -> int:
    from lace.porcelain import ID_COLUMN, TABLE_FORMATS

    args, out = call.args, call.out
    if args.origin is not None and args.lake is not None:
        raise Usage(reason="--from fetches into a store: leave --lake out", command=args.parser.prog)
    if args.csv and out.as_json:
        raise Usage(reason="--csv and --json: choose one", command=args.parser.prog)
    code = 0
    with call.open(read_only=args.origin is None) as lace:
        if args.origin is not None:
            code = fetch_first(call, lace, _wanted(args.where))
        if args.ids and args.columns is None:
            args.columns = ""
        view = chosen_view(lace, args)
        rows = lace.rows(view)
        if args.ids and not out.as_json:
            for row in rows:
                out.line(row.id)
        elif out.as_json or args.csv:
            form = TABLE_FORMATS["csv" if args.csv else "jsonl"]
            for line in chain([form.head(view.columns)], form.lines(rows, view.columns)):
                if out.terminal and line:
                    out.exact(line.decode().rstrip("\r\n"))
                else:
                    out.data(line)
        else:
            short = out.terminal and not args.full
            show = _shown(view.columns, full=args.full, short=short)
            if not write_table(out, [ID_COLUMN, *view.columns], map(show, rows)):
                out.note("no records")
    return code


def _wanted(conditions: Sequence[str]) -> Module:
    """Return the selector of what to fetch: the place that the conditions name, or everything."""
    from lace.drive import Place, select_place
    from lace.porcelain import parse_condition

    parsed = [parse_condition(each) for each in conditions]
    given = {each.field: each.value for each in parsed if each.sign == "=" and not each.denied}
    return select_place(Place(given.get("Group", ""), given.get("App", ""), given.get("Name", "")))


def _shown(columns: Sequence[str], *, full: bool, short: bool) -> Callable[[Row], list[str]]:
    """Return what shows a row to people."""
    from lace.porcelain import show_time
    from lace.text import Tai

    def plain(cell: str) -> str:
        return cell

    def time(cell: str) -> str:
        return show_time(Tai(cell))

    special: dict[str, Callable[[str], str]] = {} if full else {"TAI": time}
    if short:
        special |= {"Signed-By": short_id, "Signature": short_id}
    writers = [special.get(name, plain) for name in columns]
    show_id = short_id if short else plain

    def show(row: Row) -> list[str]:
        cells = zip(writers, row.cells, strict=True)
        return [
            show_id(row.id),
            *[
                "" if cell is None else write(cell) if isinstance(cell, str) else ", ".join(cell)
                for write, cell in cells
            ],
        ]

    return show


COMMAND = Command(
    "ls",
    "list records: one row a record, fields as columns",
    "Times are shown in UTC. With --json one object a line: null where a record has no such field, "
    "a list where it repeats one; times are TAI text. With --from, what lies in the Group, App and Name that "
    "--where asks for is fetched first, and stored.",
    (
        "lace ls --newest --limit 5",
        "lace ls --where Group=u --where 'Name~links/*' --columns Name,TAI,Author",
        "lace ls --type seal --since 2023-11-14 --json",
    ),
    _arguments,
    _run,
)
