"""Tables for eyes, drawn or aligned."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator

import pytest

from lace.cli.output import Output
from lace.cli.tables import aligned, write_table


def test_columns_stand_below_each_other_whatever_script_they_are_in() -> None:
    lines = list(aligned(["id", "Name", "Tag"], [["1", "新年", "a"], ["22", "e\u0301t\u00e9", "b"]]))
    assert lines == ["id  Name  Tag", "1   新年  a", "22  e\u0301t\u00e9   b"]


def test_a_long_table_flows() -> None:
    taken = 0

    def rows() -> Iterator[list[str]]:
        nonlocal taken
        while True:
            taken += 1
            yield ["x" * taken, "y"]

    lines = aligned(["id", "Name"], rows())
    for _ in range(300):
        next(lines)
    assert taken < 310


class Terminal(Output):
    """An output that a person looks at."""

    @property
    def terminal(self) -> bool:
        return True


def test_on_a_terminal_a_short_table_is_drawn_without_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rows = [["B.1", "[bold]x[/bold] :smile: \x1b[2J"]]
    assert write_table(Terminal(as_json=False), ["id", "[red]Name"], rows) == 1
    drawn = capsys.readouterr().out
    assert "[bold]x[/bold] :smile: \\u001b[2J" in drawn
    assert "[red]Name" in drawn
    assert "─" in drawn
    assert "\x1b[2J" not in drawn


def test_on_a_narrow_terminal_each_field_has_its_line(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    head, row = ["id", "Group", "Name", "TAI"], ["P.Z3RQ51PN8g", "dörf", "", "2023-11-14 22:45:02Z"]
    lines = ["P.Z3RQ51PN8g", "  Group: dörf", "  TAI: 2023-11-14 22:45:02Z"]
    for columns, drawn in (("36", False), ("60", True)):
        monkeypatch.setenv("COLUMNS", columns)
        # Text is UTF-8 whatever the locale says.
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(sys.stdout.buffer, encoding="ascii"))
        assert write_table(Terminal(as_json=False), head, [row] * 3) == 3
        shown = capsysbinary.readouterr().out.decode()
        assert "dörf" in shown
        assert (shown.splitlines() == lines * 3) is not drawn
    # An id is drawn in one line or not at all.
    row[2] = f"V.{'x' * 43}.H3"
    for columns in ("70", "90"):
        monkeypatch.setenv("COLUMNS", columns)
        assert write_table(Terminal(as_json=False), head, [row]) == 1
        assert row[2] in capsysbinary.readouterr().out.decode()


def test_a_long_table_is_aligned_on_a_terminal_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert write_table(Terminal(as_json=False), ["id"], ([str(n)] for n in range(2000))) == 2000
    sys.stdout.flush()
    assert len(capsys.readouterr().out.splitlines()) == 2001
