"""lace allow"""

from __future__ import annotations

from lace.record import make_blob
from tests.cli.conftest import Run

ONE = make_blob(b"one")


def test_allowing_what_was_not_forgotten_is_no(lace: Run) -> None:
    done = lace("allow", ONE.id)
    assert (done.code, done.out) == (1, "")
    assert "not forgotten here" in done.err
    assert lace("allow", "B.zzzz").code == 1
