"""lace forget"""

from __future__ import annotations

from lace.record import make_blob
from tests.cli.conftest import Run

ONE, TWO = make_blob(b"one"), make_blob(b"two")


def test_a_forgotten_record_stays_out_until_it_is_allowed(lace: Run) -> None:
    lace("put", "-", stdin=b"one")
    done = lace("forget", ONE.id[:12], TWO.id)
    assert done.lines == [f"forgot {ONE.id}, which was here", f"forgot {TWO.id}, which was not here"]
    assert lace("forget", "--list").lines == sorted([ONE.id, TWO.id])
    assert "2 refused" in lace("import", "-", stdin=ONE.raw + TWO.raw).out
    assert lace("allow", ONE.id[:12]).out == f"allowed {ONE.id}\n"
    assert lace("forget", "--list", "--json").values == [{"id": TWO.id}]
    assert lace("put", "-", stdin=b"one").code == 0


def test_json_says_whether_it_was_here(lace: Run) -> None:
    assert lace("forget", TWO.id, "--json").values == [{"forgotten": TWO.id, "removed": False}]
    assert lace("allow", TWO.id, "--json").values == [{"allowed": TWO.id}]


def test_forgetting_needs_records_or_the_wish_for_a_list(lace: Run) -> None:
    assert lace("forget").code == 2
    assert lace("forget", "--list", ONE.id).code == 2
