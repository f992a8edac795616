"""The exchange benchmark runs, counts what it says, and its cheap cases are cheap."""

from __future__ import annotations

from bench.interlace import LARGE, MAKERS, Case
from bench.moving import filtered, in_process
from bench.shelves import CLAIMS
from lace.interlace import write_advertisement
from lace.record import make_blob
from lace.signing import Secret


def test_every_case_of_the_table_comes_to_a_fixed_point() -> None:
    found = {(e.mode, e.what, e.long): e for maker in MAKERS.values() for e in maker(300)}
    # In a store of 300, a thousand differences and ten thousand are the same.
    assert len(found) == 24
    assert all(0 < sent <= 100 for sent in found["one root", "d = 0", False].sent)
    first, then = (found["standard", what, False] for what in ("copy", "next"))
    assert first.note.startswith("transfer-limit, 1")
    assert then.note.startswith("fixed-point, 1")


def test_a_goal_is_of_large_stores_alone() -> None:
    large, small = (Case(size, "one root", "d = 0", False, (90, 101), 1, 1, 0.0) for size in (LARGE, 1000))
    assert (large.met, small.met) == (False, True)
    assert "MISSED" in str(large)
    assert str(small).rstrip().endswith("0.0")


def test_advertisements_are_as_long_as_the_table_says() -> None:
    record, source = make_blob(b"").id, Secret(bytes([1] * 32)).verifier
    assert [len(write_advertisement(record, source, claims)) for claims in ((), CLAIMS)] == [114, 714]


def test_the_lines_under_real_policies_run() -> None:
    for line in (in_process(True), filtered(True)):
        for side in (line.floor, line.contender):
            with side.fresh() as given:
                side.run(given)
