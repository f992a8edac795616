"""lace init"""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run


def test_a_lace_is_made_here_or_in_a_folder(run: Run, home: Path) -> None:
    assert (run("init").code, (home / ".lace" / "store.sqlite").exists()) == (0, True)
    done = run("init", "a/b", "--json")
    assert done.values == [{"store": "a/b/.lace"}]
    assert (home / "a" / "b" / ".lace" / "store.sqlite").exists()


def test_a_second_one_in_the_same_place_is_refused(lace: Run) -> None:
    done = lace("init")
    assert (done.code, done.out) == (7, "")
    assert "[lace/exists]" in done.err
