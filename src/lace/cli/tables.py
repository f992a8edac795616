"""Tables for eyes: drawn on a terminal, a field a line where it is too narrow for that, aligned in a pipe.

Rules of this file:
1. A long table is not held: columns get the widths of its first rows, and the rest flows.
2. Cells are text, never markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from shutil import get_terminal_size
from unicodedata import combining, east_asian_width

from lace.cli.output import Output, harmless

_MEASURED = 200
_DRAWN = 500
_READABLE = 8
"""A column with fewer characters in a line is no longer read, it is spelled."""
_SHORT_ID_CHARS = 12
_ID = re.compile(r"[A-Z]\.[0-9A-Z_a-z~]{43}(\.H3)?")


def write_table(out: Output, head: Sequence[str], rows: Iterable[Sequence[str]]) -> int:
    """Write a table; return the number of its rows."""
    rows = iter(rows)
    first = list(islice(rows, _DRAWN + 1))
    written = 0
    if out.terminal and least_width(head, first) > get_terminal_size().columns:
        for row in chain(first, rows):
            for line in fields(head, row):
                out.line(line)
            written += 1
        return written
    if out.terminal and len(first) <= _DRAWN:
        out.data(_drawn(head, first).encode())
        return len(first)
    for line in aligned(head, chain(first, rows)):
        out.line(line)
        written += 1
    return written - 1


def least_width(head: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return how wide a terminal must be for a drawn table that can be read.

    >>> least_width(["id", "Name"], [["B.12", "something"]])
    17
    """
    least = 0
    for at, column in enumerate(zip(head, *rows, strict=True)):
        widest = max(map(width, column))
        if not _is_copied(at, rows):
            # What is long is not cut into more than about three lines.
            widest = min(widest, max(_READABLE, min(widest // 3, 2 * _READABLE)))
        least += widest + 3
    return least - 1


def fields(head: Sequence[str], row: Sequence[str]) -> list[str]:
    """Return a row as lines: what it is about, and a line for each field that it has.

    >>> fields(["id", "Name", "Tag"], ["B.12", "something", ""])
    ['B.12', '  Name: something']
    """
    return [row[0], *(f"  {name}: {cell}" for name, cell in zip(head[1:], row[1:], strict=True) if cell)]


def aligned(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield lines whose columns stand below each other.

    >>> list(aligned(["id", "Name"], [["B.1", "one"], ["P.12", ""]]))
    ['id    Name', 'B.1   one', 'P.12']
    """
    rows = iter(rows)
    first = [[harmless(cell) for cell in row] for row in chain([head], islice(rows, _MEASURED))]
    widths = [max(map(width, column)) for column in zip(*first, strict=True)]
    for row in chain(first, rows):
        cells = [harmless(cell) for cell in row]
        padded = [cell + " " * (most - width(cell)) for cell, most in zip(cells[:-1], widths, strict=False)]
        yield "  ".join([*padded, *cells[-1:]]).rstrip()


def width(text: str) -> int:
    """Return how many columns of a terminal a text takes, about.

    >>> width("abc"), width("新"), width("e\\u0301")
    (3, 2, 1)
    """
    if text.isascii():
        return len(text)
    return sum([0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text])


def short_id(text: str) -> str:
    """Cut an id to what a person types; enough of it to be alone among a billion.

    >>> short_id("P.Z3RQ51PN8gP6WyiwXlfks86bp~KlM5oLp9C3OEeJzc0.H3")
    'P.Z3RQ51PN8g'
    """
    return text[:_SHORT_ID_CHARS]


def _is_copied(at: int, rows: Iterable[Sequence[str]]) -> bool:
    """Tell whether a column holds what a person copies, which stays in one line: the first, and ids."""
    return at == 0 or any(_ID.fullmatch(row[at]) for row in rows)


def _drawn(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for at, name in enumerate(head):
        table.add_column(Text(harmless(name)), overflow="fold", no_wrap=_is_copied(at, rows))
    for row in rows:
        table.add_row(*[Text(harmless(cell)) for cell in row])
    console = Console()
    with console.capture() as captured:  # it would write in the encoding of the locale
        console.print(table)
    return captured.get()
