"""Where a lace lies, and the ways to name it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.porcelain.place import LaceExists, NoLace, imports_folder, make_place, store_file
from lace.stores import FileRefused, SqliteStore


def test_a_lace_is_named_by_its_folder_the_folder_inside_or_the_file(tmp_path: Path) -> None:
    file = make_place(tmp_path / "a" / "b")
    file.touch()
    assert store_file(tmp_path / "a" / "b") == file
    assert store_file(tmp_path / "a" / "b" / ".lace") == file
    assert store_file(file) == file


def test_a_lace_is_not_made_twice(tmp_path: Path) -> None:
    make_place(tmp_path).write_bytes(b"a store")
    with pytest.raises(LaceExists, match="nothing was changed"):
        make_place(tmp_path)


def test_an_empty_file_of_a_killed_init_is_no_lace_yet(tmp_path: Path) -> None:
    file = make_place(tmp_path)
    file.touch()
    assert make_place(tmp_path) == file
    with SqliteStore(file) as store:
        assert not any(store.stats().records.values())
    with pytest.raises(LaceExists):
        make_place(tmp_path)


def test_a_folder_without_a_lace_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(NoLace, match="lace init"):
        store_file(tmp_path)


def test_a_place_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileRefused, match="Not a directory"):
        make_place(tmp_path / "file")


def test_the_journal_lies_beside_the_store(tmp_path: Path) -> None:
    assert imports_folder(tmp_path / ".lace" / "store.sqlite") == tmp_path / ".lace" / "imports"
    assert imports_folder(tmp_path / "mine.db") == tmp_path / "mine.db.imports"
