"""lace gen"""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.porcelain import Lace, Shape
from lace.porcelain.generate import generate, generate_pair
from tests.cli.conftest import Done, Run


def raw(done: Done) -> bytes:
    return done.out.encode("utf-8", "surrogateescape")


def test_the_same_seed_writes_the_same_bytes_wherever_they_go(lace: Run, home: Path) -> None:
    stream = b"".join(record.raw for record in generate(7, 300))
    assert raw(lace("gen", "--seed", "7", "--count", "300")) == stream
    assert lace("gen", "--seed", "7", "--count", "300", "a.records").code == 0
    assert (home / "a.records").read_bytes() == stream
    assert lace("gen", "--seed", "7", "--count", "300", "out", "--shard-bytes", "20k").code == 0
    shards = sorted((home / "out").glob("*.records"))
    assert b"".join(shard.read_bytes() for shard in shards) == stream
    assert (
        lace("gen", "--seed", "7", "--count", "300", "--store", ".").out
        == "stored 300 records, 0 known already\n"
    )
    assert raw(lace("export")) == stream
    assert lace("gen", "--seed", "7", "--count", "300", "--store", ".", "--json").values == [
        {"stored": 0, "known": 300}
    ]


def test_options_are_the_shape(run: Run) -> None:
    done = run(
        "gen", "--count", "200", "--sealed", "0", "--blobs", "500", "--groups", "2", "--data-bytes", "1k"
    )
    shape = Shape(sealed=0, blobs=500, groups=2, data_bytes=1024)
    assert raw(done) == b"".join(record.raw for record in generate(1, 200, shape=shape))


def test_a_part_of_a_set_can_be_made(run: Run) -> None:
    expected = list(generate(1, 20))[15:]
    assert raw(run("gen", "--start", "15", "--count", "5")) == b"".join(record.raw for record in expected)


def test_pairs_have_records_in_common(run: Run) -> None:
    for side, records in zip(("left", "right"), generate_pair(3, 100, overlap=0.5), strict=True):
        done = run("gen", "--seed", "3", "--count", "100", "--pair", side, "--overlap", "0.5")
        assert raw(done) == b"".join(record.raw for record in records)


@pytest.mark.parametrize(
    "options",
    [["--blobs", "1000"], ["--groups", "0"], ["--pair", "left", "--overlap", "2"], ["--large", "5000"]],
)
def test_a_shape_that_no_set_has_is_wrong_input(run: Run, options: list[str]) -> None:
    done = run("gen", *options)
    assert (done.code, done.out) == (3, "")
    assert "[generate/shape]" in done.err


def test_only_one_target_can_be_named(lace: Run) -> None:
    assert lace("gen", "a.records", "--store", ".").code == 2


def test_a_store_is_used_only_when_it_is_named(lace: Run, home: Path) -> None:
    lace("gen", "--count", "5")
    with Lace.open(home) as opened:
        assert list(opened.store.ids()) == []
