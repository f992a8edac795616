"""Tables for programs: JSONL and CSV say the same as the rows."""

from __future__ import annotations

import csv
import io
import json

import pytest

from lace.porcelain.formats import TABLE_FORMATS, cell_text
from lace.porcelain.table import Cell, Row
from lace.text import RecordId

COLUMNS = ("Group", "Tag", "Title")
ROWS = [
    Row(RecordId("P.1"), ("café", ("red", 'a "b", c'), None)),
    Row(RecordId("P.2"), ("u", None, "=1+1; tab\u00a0λ")),
]


def test_a_line_of_jsonl_is_a_row_with_its_id_first() -> None:
    lines = list(TABLE_FORMATS["jsonl"].lines(ROWS, COLUMNS))
    assert TABLE_FORMATS["jsonl"].head(COLUMNS) == b""
    assert [json.loads(line) for line in lines] == [
        {"id": "P.1", "Group": "café", "Tag": ["red", 'a "b", c'], "Title": None},
        {"id": "P.2", "Group": "u", "Tag": None, "Title": "=1+1; tab\u00a0λ"},
    ]
    assert all(line.count(b"\n") == 1 and line.endswith(b"\n") for line in lines)


def test_a_csv_reader_gets_the_cells_back() -> None:
    chosen = TABLE_FORMATS["csv"]
    text = (chosen.head(COLUMNS) + b"".join(chosen.lines(ROWS, COLUMNS))).decode()
    assert list(csv.reader(io.StringIO(text, newline=""))) == [
        ["id", "Group", "Tag", "Title"],
        ["P.1", "café", 'red\na "b", c', ""],
        ["P.2", "u", "", "=1+1; tab\u00a0λ"],
    ]


@pytest.mark.parametrize(("cell", "text"), [(None, ""), ("x", "x"), (("x", "y"), "x\ny")])
def test_a_cell_is_one_text(cell: Cell, text: str) -> None:
    assert cell_text(cell) == text
