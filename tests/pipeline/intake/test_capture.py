"""Captures of exchanges are ingested like any other file: whole records are found, the talk is set aside."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from lace.pipeline import LakeStore, fsck, ingest
from lace.porcelain import CaptureWriter, Lace, now_tai, run_sync
from tests.pipeline.lakes import lake_of
from tests.porcelain.talking import Answering, ids, interlacing, notes, stocked


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """What two laces said to each other, with records in both directions."""
    path = tmp_path / "talk.capture"
    with path.open("wb") as file:
        tap = CaptureWriter(file, "here", "there", now_tai(), time.monotonic)
        run_sync(interlacing(stocked(notes("a", 6)), Answering(stocked(notes("b", 4))), tap=tap))
        tap.close()
    return path


@pytest.mark.parametrize("split_bytes", [None, 700])
def test_a_lake_takes_from_a_capture_what_an_import_takes(
    tmp_path: Path, capture: Path, split_bytes: int | None
) -> None:
    with Lace() as lace:
        imported = lace.import_records(capture).counts
        expected = ids(lace.store)
    lake = lake_of(tmp_path / "lake")
    done = ingest(lake, [capture], split_bytes=split_bytes)
    assert {record for _, record in LakeStore(lake).ids()} == expected
    assert done.stored == len(expected) == 10
    assert (done.rejected, done.rejected_bytes) == (imported.rejected, imported.rejected_bytes)
    assert fsck(lake).is_sound
    again = ingest(lake, [capture])
    assert (again.skipped, again.committed) == (1, False)


def test_a_capture_that_is_cut_off_gives_what_is_whole(tmp_path: Path, capture: Path) -> None:
    raw = capture.read_bytes()
    last = max(raw.rfind(record.raw) for record in (*notes("a", 6), *notes("b", 4)))
    capture.write_bytes(raw[: last + 40])
    assert ingest(lake_of(tmp_path / "lake"), [capture]).stored == 9
