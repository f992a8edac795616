"""lace rm"""

from __future__ import annotations

from lace.record import make_blob
from tests.cli.conftest import Run

ONE, TWO = make_blob(b"one"), make_blob(b"two")


def test_a_removed_record_is_gone_and_may_come_back(lace: Run) -> None:
    lace("put", "-", stdin=b"one")
    assert lace("rm", ONE.id[:12]).out == f"removed {ONE.id}\n"
    assert lace("get", ONE.id).code == 1
    assert lace("import", "-", stdin=ONE.raw).out.startswith("stored 1 record,")
    assert lace("rm", ONE.id, "--json").values == [{"removed": ONE.id}]


def test_removing_is_all_or_nothing(lace: Run) -> None:
    lace("put", "-", stdin=b"one")
    done = lace("rm", ONE.id, TWO.id)
    assert (done.code, done.out) == (1, "")
    assert lace("get", ONE.id).code == 0
