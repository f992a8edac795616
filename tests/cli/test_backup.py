"""lace backup"""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run


def test_a_copy_is_made_and_is_a_lace(lace: Run, home: Path) -> None:
    lace("gen", "--count", "100", "--store", ".")
    assert lace("backup", "saved").lines == ["copied 100 records and the history to saved/.lace"]
    assert lace("verify", "--store", "saved").lines == ["checked 100 records: all sound"]
    told = lace("backup", "saved")
    assert (told.code, "[lace/exists]" in told.err) == (7, True)
    (value,) = lace("backup", "more", "--json").values
    assert value == {"store": "more/.lace", "records": 100, "last": 100}
