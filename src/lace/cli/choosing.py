"""Options that choose records and columns; `ls` and `export` share them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from lace.cli.grammar import parse_count

if TYPE_CHECKING:
    from lace.porcelain import Lace, TableView

TYPES = {"blob": "B", "plex": "P", "seal": "S"}


def add_choosing(parser: ArgumentParser) -> None:
    """Add the options that choose which records, in which order, with which columns."""
    which = parser.add_argument_group("which records")
    which.add_argument(
        "-w", "--where", metavar="CONDITION", action="append", default=[],
        help="keep records with Field=value, Field!=value, Field~pattern*, Field!~pattern*, "
        "Field<value, <=, >, >=, Field (it is there) or !Field (it is not); all of them must hold; "
        "the value of TAI is a time, as of --since",
    )  # fmt: skip
    which.add_argument("--type", choices=TYPES, action="append", default=[], help="keep records of this type")
    which.add_argument(
        "--since", metavar="TIME", help="from this time on: 2024-01-31, '2024-01-31 12:30', 2h, today"
    )
    which.add_argument("--until", metavar="TIME", help="before this time")
    which.add_argument("-n", "--limit", metavar="N", type=parse_count, help="at most so many")
    order = parser.add_argument_group("order and columns")
    order.add_argument("--sort", metavar="FIELD", help="sort by a field, numbers by value (else: as stored)")
    order.add_argument("--descending", action="store_true", help="greatest first")
    order.add_argument("--newest", action="store_true", help="newest first: --sort TAI --descending")
    order.add_argument(
        "-c", "--columns", metavar="FIELDS",
        help="fields to show, with commas between them; '*' for every field there is",
    )  # fmt: skip


def chosen_view(lace: Lace, args: Namespace) -> TableView:
    """Return the view that the options choose."""
    from lace.porcelain import COLUMNS

    columns = COLUMNS if args.columns is None else args.columns
    choices = {
        "where": args.where,
        "types": "".join(TYPES[each] for each in args.type),
        "since": args.since,
        "until": args.until,
        "sort": "TAI" if args.newest else args.sort,
        "descending": args.descending or args.newest,
        "limit": args.limit,
    }
    return lace.view(columns, **choices)


def chooses(args: Namespace) -> bool:
    """Tell whether any option keeps records out or puts them in another order."""
    return (
        bool(args.where or args.type or args.since or args.until or args.sort or args.newest)
        or args.limit is not None
    )
