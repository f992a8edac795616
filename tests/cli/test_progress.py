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
