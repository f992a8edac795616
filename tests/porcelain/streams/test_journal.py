"""The journal of imports: it counts for the same file and the same store, and never promises too much."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.porcelain.streams.journal import Counts, Entry, Journal
from lace.stores import Identity, Version

FILE = Identity("/data/a.records", 1000, 5, 7)
VERSION = Version("aaaa", 10)
ENTRY = Entry(500, False, Counts(3, 1, 0, 2, 40), "/data/bad.jsonl", 99, True, VERSION.last)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    journal = Journal(tmp_path / "imports")
    journal.write(FILE, VERSION, ENTRY)
    return journal


def test_an_entry_is_read_as_it_was_written(journal: Journal) -> None:
    assert journal.read(FILE, VERSION) == ENTRY


def test_a_store_that_has_grown_is_the_same_store(journal: Journal) -> None:
    assert journal.read(FILE, Version("aaaa", 11)) == ENTRY


@pytest.mark.parametrize("version", [Version("bbbb", 10), Version("aaaa", 9)])
def test_another_store_or_an_earlier_state_begins_from_the_start(journal: Journal, version: Version) -> None:
    assert journal.read(FILE, version) == Entry()


@pytest.mark.parametrize("change", [{"path": "/data/b"}, {"size": 1001}, {"changed": 6}, {"inode": 8}])
def test_another_file_begins_from_the_start(journal: Journal, change: dict[str, int]) -> None:
    assert journal.read(FILE._replace(**change), VERSION) == Entry()


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"source": 1}', b"7", b"\xff\xfe", b"[" * 100_000])
def test_an_entry_that_cannot_be_read_counts_as_none(journal: Journal, raw: bytes) -> None:
    [path] = journal.folder.iterdir()
    path.write_bytes(raw)
    assert journal.read(FILE, VERSION) == Entry()


def test_an_entry_in_which_a_digit_changed_counts_as_none(journal: Journal) -> None:
    """Going on from another byte would leave records out, and say that all is well."""
    [path] = journal.folder.iterdir()
    raw = path.read_text()
    assert '"offset": 500,' in raw
    path.write_text(raw.replace('"offset": 500,', '"offset": 900,'))
    assert journal.read(FILE, VERSION) == Entry()


def test_what_is_over_is_dropped_and_the_rest_stays(journal: Journal) -> None:
    other = FILE._replace(path="/data/b")
    journal.write(other, VERSION, ENTRY)
    journal.drop([FILE])
    assert journal.read(FILE, VERSION) == Entry()
    assert journal.read(other, VERSION) == ENTRY
    journal.drop([other, other])
    assert not journal.folder.exists()


def test_a_path_of_any_bytes_can_be_kept(journal: Journal) -> None:
    strange = FILE._replace(path="/data/\udcff")
    journal.write(strange, VERSION, ENTRY)
    assert journal.read(strange, VERSION) == ENTRY
