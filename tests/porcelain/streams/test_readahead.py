"""A child process reads ahead and gives the same items as this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.porcelain import Lace, ReaderLost, generate
from lace.porcelain.streams import readahead
from lace.porcelain.streams.readahead import read_items, read_items_ahead
from lace.record import Accepted, Item, Rejected

pytestmark = pytest.mark.net


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A stream of records with noise before, between and after them, and one record changed."""
    raws = [record.raw for record in generate(7, 1500)]
    raws[3] = raws[3].replace(b"TAI: ", b"TAJ: ") if b"TAI: " in raws[3] else raws[3][:-1] + b"?"
    raws[700] = raws[700][:-1]
    path = tmp_path / "damaged.records"
    path.write_bytes(b"noise" + b"".join(raws[:900]) + b"\n\nmore noise\n" + b"".join(raws[900:]) + b"end")
    return path


def flat(batches: list[list[Item]]) -> list[tuple[object, ...]]:
    return [
        (item.offset, item.record.raw, item.record.id)
        if isinstance(item, Accepted)
        else (item.offset, item.raw, item.error.code, item.error.offset)
        for items in batches
        for item in items
    ]


@pytest.mark.parametrize("start", [0, 5])
def test_items_are_the_same_in_the_same_order(damaged: Path, start: int) -> None:
    with damaged.open("rb") as file:
        file.seek(start)
        here = flat(list(read_items(file, start)))
    there = flat(list(read_items_ahead(damaged, start)))
    assert there == here
    assert sum(len(item) == 4 for item in here) >= 4, "some of it is rejected"


def test_a_file_that_cannot_be_read_is_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_items_ahead(tmp_path / "missing", 0))


def test_a_child_that_dies_is_not_the_end_of_the_source(
    damaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readahead.sys, "executable", "/bin/false")
    with pytest.raises(ReaderLost):
        list(read_items_ahead(damaged, 0))


def test_an_import_that_reads_ahead_stores_the_same(
    damaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def imported(name: str) -> tuple[list[str], object]:
        with Lace.init(tmp_path / name) as lace:
            report = lace.import_records(damaged)
            return sorted(row.record_id for row in lace.store.log(0)), report.counts

    here = imported("here")
    monkeypatch.setattr(readahead, "WORTH_BYTES", 1)
    monkeypatch.setattr(readahead, "count_cores", lambda: 2)
    asked: list[Path] = []

    def watched(path: Path, offset: int) -> object:
        asked.append(path)
        return read_items_ahead(path, offset)

    monkeypatch.setattr("lace.porcelain.streams.transfer.read_items_ahead", watched)
    there = imported("there")
    assert asked, "the child was used"
    assert there == here


def test_rejected_items_cross_the_pipe_with_their_reason(damaged: Path) -> None:
    rejected = [i for items in read_items_ahead(damaged, 0) for i in items if isinstance(i, Rejected)]
    assert "record/markline" in {item.error.code for item in rejected}
    assert all(str(item.error) for item in rejected)


def test_a_long_bad_part_has_one_reason_in_all_its_pieces(tmp_path: Path) -> None:
    path = tmp_path / "noise.records"
    path.write_bytes(b"x" * 300_000 + next(iter(generate(1, 1))).raw + b"y" * 10)
    rejected = [i for items in read_items_ahead(path, 0) for i in items if isinstance(i, Rejected)]
    assert len(rejected) > 3
    assert len({id(item.error) for item in rejected}) == 2


def test_nothing_is_imported_from_the_current_folder(
    damaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "struct.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    assert list(read_items_ahead(Path(damaged.name), 0))
