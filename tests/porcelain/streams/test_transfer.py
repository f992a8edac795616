"""Imports: everything good is stored, everything bad is set aside, and nothing is done twice or lost."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from lace.errors import RecordError
from lace.porcelain import Lace
from lace.porcelain.generate import generate
from lace.porcelain.streams.journal import Counts
from lace.porcelain.streams.transfer import ImportProgress
from lace.record import Record, make_blob, parse_record
from lace.text import RecordId, decode
from tests.porcelain.damage import CODES, damaged_stream

THREE_THOUSAND = list(generate(5, 3000))
STREAM = b"".join(record.raw for record in THREE_THOUSAND)


class StoppedError(Exception):
    """What an interruption raises in these tests."""


def stop_after(commits: int) -> Callable[[ImportProgress], None]:
    def progress(_: ImportProgress) -> None:
        nonlocal commits
        commits -= 1
        if commits == 0:
            raise StoppedError

    return progress


@pytest.fixture
def lace(tmp_path: Path) -> Iterator[Lace]:
    with Lace.init(tmp_path / "lace") as lace:
        yield lace


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "in.records"
    path.write_bytes(STREAM)
    return path


def stored(lace: Lace) -> list[RecordId]:
    return [record_id for _, record_id in lace.store.ids()]


def ids(records: list[Record]) -> list[RecordId]:
    return [record.id for record in records]


def journal(lace_folder: Path) -> list[Path]:
    folder = lace_folder / ".lace" / "imports"
    return list(folder.iterdir()) if folder.exists() else []


def test_a_stream_is_stored_in_its_order(lace: Lace) -> None:
    report = lace.import_records(io.BytesIO(STREAM))
    assert stored(lace) == ids(THREE_THOUSAND)
    assert report.counts == Counts(stored=3000)


def test_storing_again_changes_nothing(lace: Lace, file: Path) -> None:
    lace.import_records(file)
    version = lace.store.version()
    assert lace.import_records(file).counts == Counts(known=3000)
    assert lace.store.version() == version


def test_a_commit_holds_a_thousand_records(lace: Lace, file: Path) -> None:
    seen: list[ImportProgress] = []
    lace.import_records(file, progress=lambda p: seen.append(p._replace(counts=Counts(p.counts.stored))))
    assert [each.counts.stored for each in seen] == [1000, 2000, 3000, 3000]
    assert [(each.source, each.total) for each in seen] == [(str(file), len(STREAM))] * 4
    assert seen[-1].done == len(STREAM)


def test_large_records_are_committed_before_they_fill_the_memory(lace: Lace) -> None:
    big = [make_blob(bytes([n]) * (6 << 20)) for n in range(4)]
    seen: list[int] = []
    stream = io.BytesIO(b"".join(record.raw for record in big))
    lace.import_records(stream, progress=lambda progress: seen.append(progress.counts.stored))
    assert seen == [3, 4]


@pytest.mark.parametrize("commits", [1, 2, 3])
def test_an_interrupted_import_goes_on_where_it_was(
    tmp_path: Path, lace: Lace, file: Path, commits: int
) -> None:
    with pytest.raises(StoppedError):
        lace.import_records(file, progress=stop_after(commits))
    assert stored(lace) == ids(THREE_THOUSAND[: commits * 1000])
    assert len(journal(tmp_path / "lace")) == 1
    report = lace.import_records(file)
    assert stored(lace) == ids(THREE_THOUSAND)
    # Nothing was looked at twice: no record came a second time.
    assert report.counts == Counts(stored=3000)
    assert report.resumed_bytes == sum(record.size for record in THREE_THOUSAND[: commits * 1000])
    assert journal(tmp_path / "lace") == []


def test_another_process_can_go_on(tmp_path: Path, file: Path) -> None:
    with Lace.init(tmp_path / "lace") as lace, pytest.raises(StoppedError):
        lace.import_records(file, progress=stop_after(1))
    with Lace.open(tmp_path / "lace") as lace:
        assert lace.import_records(file).resumed_bytes > 0
        assert stored(lace) == ids(THREE_THOUSAND)


def test_an_interruption_at_every_commit_loses_nothing_and_repeats_nothing(lace: Lace, file: Path) -> None:
    runs = 0
    while True:
        try:
            report = lace.import_records(file, progress=stop_after(1), batch_records=250)
        except StoppedError:
            runs += 1
        else:
            break
    assert runs == 13  # twelve batches, and the word that the source is finished
    assert report.counts == Counts(stored=3000)
    assert stored(lace) == ids(THREE_THOUSAND)


def test_a_file_that_was_finished_is_not_read_again_until_all_are(tmp_path: Path, lace: Lace) -> None:
    one, two = tmp_path / "one.records", tmp_path / "two.records"
    half = sum(record.size for record in THREE_THOUSAND[:1500])
    one.write_bytes(STREAM[:half])
    two.write_bytes(STREAM[half:])
    with pytest.raises(StoppedError):
        lace.import_records(one, two, progress=stop_after(3))
    assert len(stored(lace)) == 2500
    report = lace.import_records(one, two)
    assert report.counts == Counts(stored=3000)
    assert (report.sources, report.resumed_bytes > half) == (2, True)


def test_an_import_that_is_over_looks_at_everything_again(lace: Lace, file: Path) -> None:
    lace.import_records(file)
    lace.rm(THREE_THOUSAND[7].id)
    assert lace.import_records(file).counts == Counts(stored=1, known=2999)


def test_a_changed_file_is_read_from_its_start(lace: Lace, file: Path) -> None:
    with pytest.raises(StoppedError):
        lace.import_records(file, progress=stop_after(2))
    file.write_bytes(make_blob(b"new at the front").raw + STREAM)
    report = lace.import_records(file)
    assert (report.resumed_bytes, report.counts) == (0, Counts(stored=1001, known=2000))


def test_an_import_can_be_told_to_begin_again(lace: Lace, file: Path) -> None:
    with pytest.raises(StoppedError):
        lace.import_records(file, progress=stop_after(2))
    assert lace.import_records(file, resume=False).counts == Counts(stored=1000, known=2000)


def test_a_store_that_was_set_back_gets_everything(tmp_path: Path, file: Path) -> None:
    Lace.init(tmp_path / "lace").close()
    store = tmp_path / "lace" / ".lace" / "store.sqlite"
    before = store.read_bytes()
    with Lace.open(tmp_path / "lace") as lace, pytest.raises(StoppedError):
        lace.import_records(file, progress=stop_after(2))
    store.write_bytes(before)
    with Lace.open(tmp_path / "lace") as lace:
        lace.import_records(file)
        assert stored(lace) == ids(THREE_THOUSAND)


def test_ten_kinds_of_damage_leave_the_rest_whole(tmp_path: Path, lace: Lace) -> None:
    stream, good = damaged_stream(2000)
    report = lace.import_records(io.BytesIO(stream), rejects=tmp_path / "bad.jsonl")
    assert stored(lace) == ids(good)
    lines = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["code"] for line in lines] == CODES
    assert report.counts.rejected == len(CODES) == 10
    assert report.counts.rejected_bytes == len(stream) - sum(record.size for record in good)
    assert [part.error.code for _, part in report.first_rejects] == CODES[:5]
    for line in lines:
        raw = decode(line["raw"])
        assert stream[line["offset"] : line["offset"] + line["bytes"]] == raw
        with pytest.raises(RecordError):
            parse_record(raw)


def test_an_interrupted_import_tells_of_each_bad_part_once(tmp_path: Path, lace: Lace) -> None:
    stream, good = damaged_stream(2000)
    file, rejects = tmp_path / "in.records", tmp_path / "bad.jsonl"
    file.write_bytes(stream)
    rejects.write_text("kept from before\n")
    for _ in range(3):
        with pytest.raises(StoppedError):
            lace.import_records(file, rejects=rejects, progress=stop_after(2), batch_records=300)
        with rejects.open("a") as late:  # the power went in the middle of it
            late.write('{"code": "half a line')
    report = lace.import_records(file, rejects=rejects, batch_records=300)
    assert report.counts == Counts(2000, 0, 0, 10, len(stream) - sum(record.size for record in good))
    first, *lines = rejects.read_text(encoding="utf-8").splitlines()
    assert first == "kept from before"
    lines = [line for line in lines if line != '{"code": "half a line']
    assert [json.loads(line)["code"] for line in lines] == CODES
    offsets = [json.loads(line)["offset"] for line in lines]
    assert all(one < other for one, other in pairwise(offsets))


def test_a_long_bad_part_is_one_part_in_pieces(tmp_path: Path, lace: Lace) -> None:
    noise = b"x" * 300_000
    report = lace.import_records(io.BytesIO(noise + STREAM[:1]), rejects=tmp_path / "bad.jsonl")
    assert (report.counts.rejected, report.counts.rejected_bytes) == (1, 300_001)
    pieces = [json.loads(line)["raw"] for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert b"".join(map(decode, pieces)) == noise + STREAM[:1]


def test_a_huge_length_holds_nothing_back(lace: Lace) -> None:
    liar = make_blob(b"hello").raw.replace(b"Length: 5", b"Length: 1000000000000000000")
    report = lace.import_records(io.BytesIO(liar + STREAM))
    assert report.counts.stored == 3000


def test_forgotten_records_are_refused_and_the_rest_is_stored(lace: Lace, file: Path) -> None:
    lace.forget(THREE_THOUSAND[3].id, THREE_THOUSAND[2500].id)
    assert lace.import_records(file).counts == Counts(stored=2998, refused=2)


def test_an_empty_stream_is_no_records(lace: Lace) -> None:
    assert lace.import_records(io.BytesIO(b"")).counts == Counts()


def test_a_lace_without_a_disk_imports_without_a_journal(file: Path) -> None:
    with Lace() as lace:
        with pytest.raises(StoppedError):
            lace.import_records(file, progress=stop_after(1))
        assert lace.import_records(file).counts == Counts(stored=2000, known=1000)


def test_bad_parts_of_several_files_are_each_told_once_across_interruptions(
    tmp_path: Path, lace: Lace
) -> None:
    rejects = tmp_path / "bad.jsonl"
    files = [tmp_path / f"{name}.records" for name in "abc"]
    for number, file in enumerate(files):
        part = THREE_THOUSAND[number * 300 : number * 300 + 300]
        pieces = [record.raw for record in part]
        file.write_bytes(b"first" + b"".join(pieces[:150]) + b"second" + b"".join(pieces[150:]) + b"third")
    while True:
        try:
            report = lace.import_records(*files, rejects=rejects, progress=stop_after(1), batch_records=100)
        except StoppedError:
            continue
        break
    told = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert [(each["source"], decode(each["raw"])) for each in told] == [
        (str(file), raw) for file in files for raw in (b"first", b"second", b"third")
    ]
    assert report.counts == Counts(stored=900, rejected=9, rejected_bytes=3 * len(b"firstsecondthird"))


def noisy(tmp_path: Path, name: str = "in.records") -> Path:
    """Write a file with bad parts in its first, second and last hundred records."""
    file = tmp_path / name
    pieces = [record.raw for record in THREE_THOUSAND[:300]]
    pieces[50:50], pieces[150:150] = [b"first"], [b"second"]
    file.write_bytes(b"".join(pieces) + b"third")
    return file


def told(rejects: Path) -> list[tuple[str, bytes]]:
    lines = [json.loads(line) for line in rejects.read_text(encoding="utf-8").splitlines()]
    return [(Path(line["source"]).name, decode(line["raw"])) for line in lines]


BAD_PARTS = [b"first", b"second", b"third"]


def test_two_imports_share_a_file_of_rejects(tmp_path: Path, lace: Lace) -> None:
    one, other, rejects = noisy(tmp_path), noisy(tmp_path, "other.records"), tmp_path / "bad.jsonl"
    with pytest.raises(StoppedError):
        lace.import_records(one, rejects=rejects, progress=stop_after(1), batch_records=100)
    lace.import_records(other, rejects=rejects)
    assert lace.import_records(one, rejects=rejects).resumed_bytes > 0
    assert sorted(told(rejects)) == [(file.name, part) for file in (one, other) for part in BAD_PARTS]


def test_an_import_that_begins_again_repeats_no_line(tmp_path: Path, lace: Lace) -> None:
    file, rejects = noisy(tmp_path), tmp_path / "bad.jsonl"
    lace.import_records(file, rejects=rejects)
    lace.import_records(file, rejects=rejects, resume=False)
    assert [part for _, part in told(rejects)] == BAD_PARTS


@pytest.mark.parametrize(("before", "after"), [(None, "b"), ("a", "b"), ("a", None)])
def test_another_file_of_rejects_means_from_the_start(
    tmp_path: Path, lace: Lace, before: str | None, after: str | None
) -> None:
    file = noisy(tmp_path)
    first, second = (name and tmp_path / name for name in (before, after))
    with pytest.raises(StoppedError):
        lace.import_records(file, rejects=first, progress=stop_after(2), batch_records=100)
    report = lace.import_records(file, rejects=second)
    assert report.resumed_bytes == 0
    assert report.counts == Counts(stored=100, known=200, rejected=3, rejected_bytes=16)
    if second is not None:
        assert [part for _, part in told(Path(second))] == BAD_PARTS


def test_a_file_of_rejects_that_was_taken_away_is_written_again(tmp_path: Path, lace: Lace) -> None:
    file, rejects = noisy(tmp_path), tmp_path / "bad.jsonl"
    with pytest.raises(StoppedError):
        lace.import_records(file, rejects=rejects, progress=stop_after(2), batch_records=100)
    rejects.unlink()
    lace.import_records(file, rejects=rejects)
    assert [part for _, part in told(rejects)] == BAD_PARTS


def test_inner_records_are_wanted_from_the_start(tmp_path: Path, file: Path) -> None:
    with Lace.init(tmp_path / "lace") as lace, pytest.raises(StoppedError):
        lace.import_records(file, progress=stop_after(2))
    with Lace.open(tmp_path / "lace", admit_inner=True) as lace:
        assert lace.import_records(file).resumed_bytes == 0


def test_records_that_were_removed_meanwhile_come_back(lace: Lace, file: Path) -> None:
    with pytest.raises(StoppedError):
        lace.import_records(file, progress=stop_after(2))
    lace.rm(THREE_THOUSAND[7].id)
    lace.put(b"something else")
    report = lace.import_records(file)
    assert (report.resumed_bytes, report.counts) == (0, Counts(stored=1001, known=1999))
    assert all(lace.store.has(record.id) for record in THREE_THOUSAND)
