"""Names of records: ids, their beginnings, coordinates; and what is said where a name does not do."""

from __future__ import annotations

import pytest

from lace.errors import InputError, LaceError, Missing
from lace.porcelain.reference import (
    CANDIDATES_SHOWN,
    AmbiguousId,
    BadCoordinate,
    Coordinate,
    NoSuchId,
    NotAReference,
    NothingThere,
    ShortId,
    choose,
    find_record,
    parse_coordinate,
    parse_reference,
)
from lace.record import make_blob, make_plex
from lace.stores import MemoryStore
from lace.text import BadFill, RecordId

BLOB = make_blob(b"hello world")


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    store.put(BLOB)
    return store


def test_an_id_in_full_is_itself_and_need_not_be_stored(store: MemoryStore) -> None:
    unknown = make_blob(b"elsewhere").id
    assert find_record(store, unknown) == unknown


@pytest.mark.parametrize("length", [6, 12, 45, 46, 47])
def test_the_beginning_of_an_id_names_the_one_record_that_begins_so(store: MemoryStore, length: int) -> None:
    assert find_record(store, BLOB.id[:length]) == BLOB.id


def test_the_type_letter_may_be_left_out(store: MemoryStore) -> None:
    assert find_record(store, BLOB.id[2:10]) == BLOB.id


def test_a_coordinate_names_the_newest_record_there(store: MemoryStore) -> None:
    for second in (3, 9, 6):
        store.put(make_plex("u", "ding", "links/1", f"164099520{second}:000000000", b"x"))
    newest = make_plex("u", "ding", "links/1", "1640995209:000000000", b"x")
    assert find_record(store, "//u//ding//links/1") == newest.id


def test_a_coordinate_is_written_as_it_was_read() -> None:
    text = "//team/ox//café//λ/1 a"
    assert str(parse_coordinate(text)) == text
    assert parse_reference(text) == Coordinate("team/ox", "café", "λ/1 a")


@pytest.mark.parametrize(
    "text", ["//u//ding", "//u//ding//", "////ding//x", "//u//ding//x//y", "//u//../x//y", "//u//e\u0301//x"]
)
def test_text_that_begins_as_a_coordinate_and_is_none_is_told_so(store: MemoryStore, text: str) -> None:
    with pytest.raises(BadCoordinate, match="write //group//app//name"):
        find_record(store, text)


@pytest.mark.parametrize(
    "text", ["", "P.", "P.abc", "abc", "hello world", "V.abcd", "P.abcd!", "P." + "a" * 44]
)
def test_text_that_can_name_nothing_is_told_what_can(text: str) -> None:
    with pytest.raises(NotAReference, match="give an id"):
        parse_reference(text)


def test_the_least_beginning_is_counted_behind_the_letter_of_an_id_and_so_it_is_told() -> None:
    assert parse_reference("P.abcd") == "P.abcd"
    with pytest.raises(NotAReference, match="4 characters or more behind the P\\."):
        parse_reference("P.ab")


def test_a_whole_id_is_read_strictly() -> None:
    with pytest.raises(BadFill):
        parse_reference("B." + "0" * 42 + "1.H3")


def test_a_secret_given_in_place_of_an_id_is_not_repeated() -> None:
    with pytest.raises(NotAReference) as caught:
        parse_reference("&.00420lG51WS82GdB30pE3m0H4XCK5HON61_Q6mlT7Xx.H3")
    assert "00420" not in str(caught.value)


def test_a_beginning_shared_by_several_ids_lists_them() -> None:
    ids = [RecordId("P." + letter * 43 + ".H3") for letter in "abc"]
    with pytest.raises(AmbiguousId) as caught:
        choose(ShortId("P."), ids)
    assert all(each in str(caught.value) for each in ids)
    assert isinstance(caught.value, InputError)


def test_a_long_list_of_candidates_is_cut_and_says_so() -> None:
    ids = [RecordId(f"P.{number:043}.H3") for number in range(CANDIDATES_SHOWN + 1)]
    with pytest.raises(AmbiguousId, match="or another") as caught:
        choose(ShortId("P.0000"), ids)
    assert ids[-1] not in str(caught.value)


def test_an_ambiguous_beginning_in_a_store_is_an_error_until_it_is_long_enough(store: MemoryStore) -> None:
    # Found by counting up: their ids both begin with B.Lz2x.
    one, other = make_blob(b"382"), make_blob(b"1503")
    store.put_many([one, other])
    with pytest.raises(AmbiguousId) as caught:
        find_record(store, "B.Lz2x")
    assert one.id in str(caught.value)
    assert other.id in str(caught.value)
    assert find_record(store, "Lz2xo") == one.id


@pytest.mark.parametrize(("text", "error"), [("P.zzzz", NoSuchId), ("//u//ding//nothing", NothingThere)])
def test_a_name_of_nothing_is_missing(store: MemoryStore, text: str, error: type[LaceError]) -> None:
    with pytest.raises(error) as caught:
        find_record(store, text)
    assert isinstance(caught.value, Missing)
    assert caught.value.exit_code == 1
