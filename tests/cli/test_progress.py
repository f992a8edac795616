"""Progress bars keep out of the way of programs."""

from __future__ import annotations

import io
import sys

import pytest

from lace.cli.progress import progress_bar


def test_where_nobody_looks_nothing_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("importing", "bytes") as update:
        update(5, 10)
    assert capsys.readouterr() == ("", "")


def test_a_log_gets_a_line_for_each_piece_of_work_and_each_quarter_of_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LACE_PROGRESS", "lines")
    with progress_bar("starting", "tasks") as update:
        update(0, None)
        for done in range(9):
            update(done, 8, "checking")
        update(0, 0, "writing")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "lace: starting …",
        "lace: checking …",
        *(f"lace: checking: {done} of 8 tasks" for done in (2, 4, 6, 8)),
        "lace: writing …",
    ]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("unit", ["bytes", "records"])
def test_on_a_terminal_a_bar_is_drawn_on_stderr(
    unit: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar("importing [x]", unit) as update:
        update(5, None)
        update(10, 10)
    assert "importing [x]" in terminal.getvalue()
    assert capsys.readouterr().out == ""
