"""Tables for eyes: drawn on a terminal, aligned in a pipe.

Rules of this file:
1. A long table is not held: columns get the widths of its first rows, and the rest flows.
2. Cells are text, never markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from unicodedata import combining, east_asian_width

from lace.cli.output import Output, harmless

_MEASURED = 200
_DRAWN = 500
_SHORT_ID_CHARS = 12


def write_table(out: Output, head: Sequence[str], rows: Iterable[Sequence[str]]) -> int:
    """Write a table; return the number of its rows."""
    rows = iter(rows)
    first = list(islice(rows, _DRAWN + 1))
    if out.terminal and len(first) <= _DRAWN:
        _draw(head, first)
        return len(first)
    written = 0
    for line in aligned(head, chain(first, rows)):
        out.line(line)
        written += 1
    return written - 1


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


def _draw(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for at, name in enumerate(head):
        # The first column is what a person copies: it stays in one line.
        table.add_column(Text(harmless(name)), overflow="fold", no_wrap=at == 0)
    for row in rows:
        table.add_row(*[Text(harmless(cell)) for cell in row])
    Console().print(table)
