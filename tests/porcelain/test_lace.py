"""A Lace, as people use it from Python."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lace.facts import facts_of_record
from lace.porcelain import Lace, LaceExists, LaceStays, NoLace, UnknownOption, new_secret, now_tai
from lace.porcelain.generate import generate
from lace.porcelain.making import BlobStaysBare, HalfAPlace
from lace.porcelain.reference import AmbiguousId, NoSuchId, NothingThere
from lace.record import Blob, Plex, Seal, make_blob
from lace.stores import FileRefused, Forgotten, NoStore, NotStored, ReadOnly, SqliteStore
from lace.text import parse_record_id
from tests.porcelain.streams.test_export import spoil


@pytest.fixture(params=["memory", "sqlite"])
def lace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lace]:
    with Lace() if request.param == "memory" else Lace.init(tmp_path / "lace") as lace:
        yield lace


def test_an_open_lace_is_not_handed_to_another_process(lace: Lace) -> None:
    """To start a process by `spawn` pickles its arguments, and Python only knows of a lock in it."""
    with pytest.raises(LaceStays, match=r"Lace\.open\(path\)"):
        pickle.dumps(lace)


def test_data_alone_is_a_blob(lace: Lace) -> None:
    record = lace.put(b"hello world")
    assert isinstance(record, Blob)
    assert lace.get(record.id) == record


def test_data_with_a_place_is_a_plex_of_now(lace: Lace) -> None:
    before = now_tai()
    record = lace.put(b"hi", group="u", app="notes", name="first", extra=[("Tag", "new")])
    assert isinstance(record, Plex)
    assert before <= record.tai <= now_tai()
    assert (record.group, record.app, record.name, record.extra) == ("u", "notes", "first", (("Tag", "new"),))


def test_a_signed_plex_is_a_seal_with_fresh_randomness(lace: Lace) -> None:
    secret = new_secret()
    one, other = (
        lace.put(b"hi", group="u", app="notes", name="first", tai="1640995200:000000000", sign=secret)
        for _ in range(2)
    )
    assert isinstance(one, Seal)
    assert isinstance(other, Seal)
    assert one.signer == secret.verifier
    assert one.plex == other.plex
    assert one != other


def test_a_time_may_be_typed(lace: Lace) -> None:
    record = lace.put(b"hi", group="u", app="notes", name="first", tai="2022-01-01")
    assert isinstance(record, Plex)
    assert record.tai == "1640995237:000000000"


def test_links_name_records_in_any_way_and_foreign_ones_as_they_are(lace: Lace) -> None:
    first = lace.put(b"one", group="u", app="notes", name="first")
    foreign = "P." + "0" * 43 + ".H9"
    record = lace.put(
        b"two", group="u", app="notes", name="second",
        links=["//u//notes//first", ("reply", first.id[:12]), ("see", foreign)],
    )  # fmt: skip
    assert isinstance(record, Plex)
    assert [(link.data, link.target) for link in record.links()] == [
        ("", first.id), ("reply", first.id), ("see", foreign),
    ]  # fmt: skip


def test_a_link_to_nothing_stores_nothing(lace: Lace) -> None:
    with pytest.raises(NothingThere):
        lace.put(b"x", group="u", app="notes", name="a", links=["//u//notes//b"])
    assert list(lace.store.ids()) == []


@pytest.mark.parametrize("missing", ["group", "app", "name"])
def test_a_place_has_three_parts(lace: Lace, missing: str) -> None:
    place: Any = {"group": "u", "app": "notes", "name": "first"}
    del place[missing]
    with pytest.raises(HalfAPlace, match=f"{missing} is missing"):
        lace.put(b"x", **place)


def test_a_bare_blob_takes_nothing_that_it_cannot_carry(lace: Lace) -> None:
    carried: Any = ({"sign": new_secret()}, {"extra": [("Tag", "x")]}, {"tai": "now"})
    for what in carried:
        with pytest.raises(BlobStaysBare):
            lace.put(b"x", **what)


def test_a_word_that_a_record_does_not_know_is_refused(lace: Lace) -> None:
    unknown: Any = {"link": ["//u//notes//b"]}
    with pytest.raises(UnknownOption, match=r"no option link \(did you mean links\?\)"):
        lace.put(b"x", group="u", app="notes", name="a", **unknown)
    misspelt: Any = {"grup": "u"}
    with pytest.raises(UnknownOption, match=r"did you mean group\?"):
        lace.put(b"x", **misspelt)
    assert list(lace.store.ids()) == []


def test_a_record_is_got_by_coordinate_short_id_and_id(lace: Lace) -> None:
    record = lace.put(b"hi", group="u", app="notes", name="links/1")
    assert lace.get("//u//notes//links/1") == lace.get(record.id[:10]) == lace.get(record.id) == record
    with pytest.raises(NotStored):
        lace.get(make_blob(b"elsewhere").id)
    with pytest.raises(NoSuchId):
        lace.get("P.zzzzzz")


def test_an_ambiguous_name_lists_what_it_could_be(lace: Lace) -> None:
    lace.put(b"382")
    lace.put(b"1503")
    with pytest.raises(AmbiguousId):
        lace.get("B.Lz2x")


def test_facts_are_those_of_the_stored_record_and_a_removed_one_has_none(lace: Lace) -> None:
    record = lace.put(b"hi", group="u", app="notes", name="first")
    assert lace.facts(record.id) == facts_of_record(record)
    lace.rm(record.id)
    with pytest.raises(NotStored):
        lace.facts(record.id)


def test_rows_are_chosen_by_field_type_and_time(lace: Lace) -> None:
    lace.put_records(generate(9, 500))
    rows = list(
        lace.ls(("Group", "TAI"), where=["Group=u"], types="P", since="2023-11-14", until="2023-11-15")
    )
    assert rows
    assert {row.cells[0] for row in rows} == {"u"}
    assert {row.id[0] for row in rows} == {"P"}
    assert list(lace.ls(since="2030-01-01")) == []
    every = next(lace.ls(("*",)))
    assert len(every.cells) > 8


def test_the_newest_come_first_when_asked_for(lace: Lace) -> None:
    for day in (3, 1, 2):
        lace.put(b"x", group="u", app="notes", name=str(day), tai=f"2022-01-0{day}")
    rows = lace.ls(("Name",), sort="TAI", descending=True, limit=2)
    assert [row.cells for row in rows] == [("3",), ("2",)]


def test_removing_is_all_or_nothing(lace: Lace) -> None:
    record = lace.put(b"one")
    with pytest.raises(NotStored):
        lace.rm(record.id, make_blob(b"two").id)
    assert lace.store.has(record.id)
    assert lace.rm(record.id[:12]) == [record.id]


def test_a_forgotten_record_stays_out_until_it_is_allowed(lace: Lace) -> None:
    record = lace.put(b"one")
    never = make_blob(b"never seen").id
    assert lace.forget(record.id[:12], never) == [record.id]
    assert lace.forgotten() == sorted([record.id, never])
    with pytest.raises(Forgotten):
        lace.put(b"one")
    assert lace.allow(record.id[:12]) == [record.id]
    assert lace.allow(record.id) == []
    lace.put(b"one")
    with pytest.raises(NoSuchId):
        lace.allow("B.zzzz")


def test_a_sound_store_verifies(lace: Lace) -> None:
    lace.put_records(generate(9, 20))
    record = lace.put(b"one")
    assert lace.verify().sound
    found = lace.verify(record.id[:12], record.id)
    assert (found.sound, found.checked) == (True, 2)


def test_a_rotten_record_is_found_and_taken_out(tmp_path: Path) -> None:
    with Lace.init(tmp_path) as lace:
        record = lace.put(b"one")
        spoil(tmp_path, record)
        one = lace.verify(record.id)
        assert [each.record_id for each in one.rotten] == [record.id]
        assert lace.store.has(record.id)
        assert [each.record_id for each in lace.verify().rotten] == [record.id]
        assert not lace.store.has(record.id)


def test_a_lace_is_made_once_and_opened_again(tmp_path: Path) -> None:
    with Lace.init(tmp_path) as lace:
        record = lace.put(b"one")
    with pytest.raises(LaceExists):
        Lace.init(tmp_path)
    for path in (tmp_path, tmp_path / ".lace", tmp_path / ".lace" / "store.sqlite"):
        with Lace.open(path) as lace:
            assert lace.get(record.id) == record
    with pytest.raises(NoLace):
        Lace.open(tmp_path.parent)


def test_a_lace_opened_for_reading_writes_nothing(tmp_path: Path) -> None:
    with Lace.init(tmp_path) as lace:
        record = lace.put(b"one")
    with Lace.open(tmp_path, read_only=True) as lace:
        assert lace.get(record.id) == record
        with pytest.raises(ReadOnly):
            lace.put(b"two")


@pytest.mark.req("020-039")
def test_inner_records_are_admitted_only_when_asked(tmp_path: Path) -> None:
    with Lace.init(tmp_path / "a") as plain, Lace.init(tmp_path / "b", admit_inner=True) as wide:
        for lace, has in ((plain, False), (wide, True)):
            record = lace.put(b"hi", group="u", app="notes", name="first")
            assert isinstance(record, Plex)
            assert lace.store.has(record.blob.id) is has


def test_statistics_count_what_is_there(lace: Lace) -> None:
    lace.put_records(generate(9, 200))
    assert sum(lace.stat().records.values()) == 200


def test_a_new_secret_is_new() -> None:
    assert new_secret() != new_secret()


def test_an_id_can_be_found_without_being_stored(lace: Lace) -> None:
    record_id = make_blob(b"elsewhere").id
    assert lace.find(parse_record_id(record_id)) == record_id


def test_a_folder_that_is_gone_under_the_program_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Lace.init(tmp_path).close()
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(NoStore):
        Lace.open("shelf/store.sqlite")
    with pytest.raises(FileRefused):
        SqliteStore("store.sqlite")
    with pytest.raises(FileRefused):
        Lace.open(tmp_path, send_only="notes")
