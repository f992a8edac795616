"""lace ls"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from lace.cli.output import Output
from lace.porcelain import Lace
from lace.porcelain.generate import generate
from lace.record import make_plex
from tests.cli.conftest import Run

RECORDS = list(generate(4, 300))


@pytest.fixture
def stocked(lace: Run, home: Path) -> Run:
    with Lace.open(home) as opened:
        opened.put_records(RECORDS)
    return lace


def test_there_is_a_row_for_each_record_and_times_are_readable(stocked: Run) -> None:
    done = stocked("ls")
    assert done.lines[0].split() == ["id", "Group", "App", "Name", "TAI", "Data-Length"]
    assert [line.split()[0] for line in done.lines[1:]] == [record.id for record in RECORDS]
    assert "2023-11-14 22:1" in done.lines[1]


def test_an_empty_lace_has_no_rows(lace: Run) -> None:
    done = lace("ls")
    assert (done.code, len(done.lines), done.err) == (0, 1, "lace: no records\n")
    assert lace("ls", "--json").out == lace("ls", "--ids").out == ""


def test_json_lines_hold_chosen_fields_and_tai_text(stocked: Run) -> None:
    values = stocked("ls", "--json", "--columns", "TAI,Tag").values
    assert [value["id"] for value in values] == [record.id for record in RECORDS]
    assert set(values[0]) == {"id", "TAI", "Tag"}
    assert values[0]["TAI"][10] == ":"
    assert any(isinstance(value["Tag"], list) for value in values)


def test_csv_has_a_head_and_the_same_rows(stocked: Run) -> None:
    head, *rows = csv.reader(io.StringIO(stocked("ls", "--csv", "-c", "Group,Tag").out, newline=""))
    assert head == ["id", "Group", "Tag"]
    assert [row[0] for row in rows] == [record.id for record in RECORDS]


def test_ids_alone_can_be_fed_to_other_verbs(stocked: Run) -> None:
    ids = stocked("ls", "-q", "--type", "blob").lines
    assert ids == [record.id for record in RECORDS if record.type == "B"]
    assert stocked("rm", *ids).code == 0
    assert stocked("ls", "-q", "--type", "blob").lines == []


def test_every_field_there_is_can_be_shown(stocked: Run) -> None:
    value = stocked("ls", "--json", "-c", "*", "-n", "1").values[0]
    assert {"id", "Type", "Signature", "Author", "+Link"} <= set(value)


def test_rows_are_filtered_sorted_and_limited(stocked: Run) -> None:
    values = stocked(
        "ls", "--json", "--where", "Group=u", "--where", "Name~l*", "--type", "plex", "--type", "seal",
        "--since", "2023-11-14", "--until", "2023-11-16", "--newest", "--limit", "3", "-c", "Group,Name,TAI",
    ).values  # fmt: skip
    assert len(values) == 3
    assert {value["Group"] for value in values} == {"u"}
    assert all(value["Name"].startswith("l") for value in values)
    times = [value["TAI"] for value in values]
    assert times == sorted(times, reverse=True)
    sizes = stocked("ls", "--json", "--sort", "Data-Length", "--descending", "-c", "Data-Length").values
    assert [int(size["Data-Length"]) for size in sizes] == sorted(
        (int(size["Data-Length"]) for size in sizes), reverse=True
    )


def test_full_shows_tai_text(stocked: Run) -> None:
    assert "1700000" in stocked("ls", "--full", "-n", "1").lines[1]


def test_on_a_terminal_ids_are_short_and_can_be_typed(stocked: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Output, "terminal", property(lambda self: True))
    shown = stocked("ls", "-n", "1", "-c", "Name,Signed-By").out
    assert RECORDS[0].id not in shown
    assert RECORDS[0].id[:12] in shown
    assert stocked("get", RECORDS[0].id[:12]).code == 0
    assert RECORDS[0].id in stocked("ls", "-n", "1", "--full").out


def test_a_value_cannot_steer_the_terminal(lace: Run, home: Path) -> None:
    with Lace.open(home) as opened:
        opened.put_records([make_plex("u", "a", "b\x9b2J", "1640995200:000000000", b"x")])
    assert "b\\u009b2J" in lace("ls").out


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--where", "="], "table/condition"),
        (["--since", "soon"], "times/not-a-time"),
        (["--columns", "id"], "table/column"),
        (["--columns", "Name,Name"], "table/column"),
    ],
)
def test_a_choice_that_cannot_be_made_is_wrong_input(lace: Run, options: list[str], code: str) -> None:
    done = lace("ls", *options)
    assert done.code == 3
    assert f"[{code}]" in done.err
