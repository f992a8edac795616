"""Rows of the table view as lines for programs: JSONL and CSV.

Rules of this file:
1. Values go out as the facts have them: TAI text stays TAI text.
2. In JSON a field that a record does not have is null, one that it repeats is a list. In CSV it is an empty
   cell, or the values with an LF between them, which no value holds.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from lace.porcelain.table import ID_COLUMN, Cell, Row


class TableFormat(NamedTuple):
    """A way to write a table."""

    suffix: str
    head: Callable[[Sequence[str]], bytes]
    lines: Callable[[Iterable[Row], Sequence[str]], Iterator[bytes]]


def row_object(row: Row, columns: Sequence[str]) -> dict[str, Cell]:
    """Return a row as JSON has it.

    >>> row_object(Row("B.…", ("u", None)), ("Group", "Tag"))
    {'id': 'B.…', 'Group': 'u', 'Tag': None}
    """
    return {ID_COLUMN: row.id, **dict(zip(columns, row.cells, strict=True))}


def _jsonl_lines(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[bytes]:
    # The encoder is made once; json.dumps with arguments would make one for each row.
    write = json.JSONEncoder(ensure_ascii=False).encode
    for row in rows:
        yield (write(row_object(row, columns)) + "\n").encode()


def _csv_line(cells: Iterable[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(cells)  # RFC 4180 ends lines with CRLF
    return text.getvalue().encode()


def _csv_head(columns: Sequence[str]) -> bytes:
    return _csv_line((ID_COLUMN, *columns))


def _csv_lines(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[bytes]:
    for row in rows:
        yield _csv_line([row.id, *map(cell_text, row.cells)])


def cell_text(cell: Cell) -> str:
    r"""Write a cell as one text.

    >>> [cell_text(cell) for cell in (None, "red", ("red", "blue"))]
    ['', 'red', 'red\nblue']
    """
    return "" if cell is None else cell if isinstance(cell, str) else "\n".join(cell)


TABLE_FORMATS: Final = {
    "jsonl": TableFormat(".jsonl", lambda columns: b"", _jsonl_lines),
    "csv": TableFormat(".csv", _csv_head, _csv_lines),
}
