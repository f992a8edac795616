"""The facts of a record: all of them, no others, and only of valid ones (020, Record facts)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from lace.errors import FactError, RecordError
from lace.facts import VALUE_BYTES, Fact, Predicate, ValueTooLong, check_value, facts_of_record
from lace.record import Blob, Plex, Record, Seal, make_blob, make_plex, make_seal, parse_record
from lace.text import parse_record_id, parse_verifier
from tests.golden import load_vectors
from tests.strategies import AUX, SECRETS, records

GOLDEN = load_vectors("facts")["cases"]
REJECTS = load_vectors("records")["reject"]
TAI = "1640995200:000000000"
TARGET = f"P.{'0' * 43}.H3"
ELSEWHERE = f"B.{'0' * 43}.H9"

BLOB = make_blob(b"hello world")
PLEX = make_plex("u/v", "ding", "links/1", TAI, b"hello world", [("Tag", "one"), ("+Link", f"why {TARGET}")])
SEAL = make_seal(PLEX, SECRETS[0], AUX)
KINDS = pytest.mark.parametrize("record", [BLOB, PLEX, SEAL], ids=["B", "P", "S"])


def fields(record: Record, name: str) -> list[tuple[str, str]]:
    """Return (index, value) of the fields of one name, in the order they were given."""
    return [(fact[3], fact[4]) for fact in facts_of_record(record) if fact[0] == "Field" and fact[2] == name]


def of(record: Record, predicate: str) -> list[Fact]:
    return [fact[1:] for fact in facts_of_record(record) if fact[0] == predicate]


def with_headers(*extra: tuple[str, str]) -> Plex:
    return make_plex("u", "a", "n", TAI, b"", extra)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["id"][:5])
def test_golden_facts(case: dict[str, Any]) -> None:
    record = parse_record(bytes.fromhex(case["hex"]))
    assert record.id == case["id"]
    assert sorted(facts_of_record(record)) == [tuple(fact) for fact in case["facts"]]


@pytest.mark.req("020-007")
@pytest.mark.parametrize("case", REJECTS, ids=lambda case: case["note"])
def test_an_invalid_record_produces_no_facts(case: dict[str, Any]) -> None:
    facts: list[Fact] = []
    with pytest.raises(RecordError):
        facts += facts_of_record(parse_record(bytes.fromhex(case["hex"])))
    assert facts == []


@given(records())
def test_facts_are_distinct_and_hold_only_values_that_facts_may_hold(record: Record) -> None:
    facts = facts_of_record(record)
    assert len(set(facts)) == len(facts)
    arities = {"Have": 1, "Field": 4, "RecordLink": 5, "BlobHash": 2, "PlexHash": 2}
    for fact in facts:
        assert len(fact) == arities[fact[0]] + 1
        assert fact[1] == record.id
        for value in fact[1:]:
            assert check_value(value) == value


class TestPredicates:
    """Five predicates, by name and arity."""

    @pytest.mark.req("020-008")
    @KINDS
    def test_have_names_the_record_itself(self, record: Record) -> None:
        assert of(record, "Have") == [(record.id,)]

    @pytest.mark.req("020-009")
    def test_field_is_record_name_index_value(self) -> None:
        assert (PLEX.id, "Tag", "0", "one") in of(PLEX, "Field")
        assert (PLEX.id, "Group", "0", "u/v") in of(PLEX, "Field")

    @pytest.mark.req("020-010")
    def test_record_link_is_record_name_index_data_target(self) -> None:
        assert of(PLEX, "RecordLink") == [(PLEX.id, "+Link", "0", "why", TARGET)]

    @pytest.mark.req("020-011")
    def test_blob_hash_names_the_embedded_blob(self) -> None:
        assert of(PLEX, "BlobHash") == [(PLEX.id, BLOB.id)]
        assert of(BLOB, "BlobHash") == []

    @pytest.mark.req("020-012")
    def test_plex_hash_names_the_embedded_plex(self) -> None:
        assert of(SEAL, "PlexHash") == [(SEAL.id, PLEX.id)]

    @pytest.mark.req("020-002")
    @KINDS
    def test_the_record_of_a_fact_is_an_id_of_its_type(self, record: Record) -> None:
        for fact in facts_of_record(record):
            assert parse_record_id(fact[1]).startswith(f"{record.type}.")


class TestFieldNames:
    """Singleton protocol fields under their exact header names."""

    @pytest.mark.req("020-018")
    @pytest.mark.parametrize(("record", "letter"), [(BLOB, "B"), (PLEX, "P"), (SEAL, "S")], ids="BPS")
    def test_type_is_the_letter(self, record: Record, letter: str) -> None:
        assert fields(record, "Type") == [("0", letter)]

    @pytest.mark.req("020-019")
    def test_data_length_is_decimal_text(self) -> None:
        assert fields(BLOB, "Data-Length") == [("0", "11")]
        assert fields(make_blob(b""), "Data-Length") == [("0", "0")]
        assert fields(make_blob(b"x" * 1000), "Data-Length") == [("0", "1000")]

    @pytest.mark.req("020-020")
    def test_group_is_the_group_path(self) -> None:
        assert fields(PLEX, "Group") == [("0", "u/v")]

    @pytest.mark.req("020-021")
    def test_app_is_the_app(self) -> None:
        assert fields(PLEX, "App") == [("0", "ding")]

    @pytest.mark.req("020-022")
    def test_name_is_the_name(self) -> None:
        assert fields(PLEX, "Name") == [("0", "links/1")]

    @pytest.mark.req("020-023")
    def test_tai_is_the_header_text(self) -> None:
        assert fields(PLEX, "TAI") == [("0", TAI)]

    @pytest.mark.req("020-024")
    def test_signed_by_is_the_verifier(self) -> None:
        [(index, value)] = fields(SEAL, "Signed-By")
        assert (index, parse_verifier(value)) == ("0", SECRETS[0].verifier)

    @pytest.mark.req("020-025")
    def test_signature_is_the_signature(self) -> None:
        assert fields(SEAL, "Signature") == [("0", SEAL.signature)]
        assert f"Signature: {SEAL.signature}\n".encode() in SEAL.raw

    @pytest.mark.req("020-026")
    def test_an_extra_header_is_a_field_of_its_name(self) -> None:
        plex = with_headers(("Überschrift", "naïve ☕"), ("x-1", "trailing "), ("+", "plus"))
        assert fields(plex, "Überschrift") == [("0", "naïve ☕")]
        assert fields(plex, "x-1") == [("0", "trailing ")]
        assert fields(plex, "+") == [("0", "plus")]

    @pytest.mark.req("020-017")
    def test_names_are_exact_to_the_letter(self) -> None:
        plex = with_headers(("tag", "a"), ("Tag", "b"), ("TAG", "c"), ("group", "d"))
        assert [fields(plex, name) for name in ("tag", "Tag", "TAG", "group", "Group")] == [
            [("0", "a")], [("0", "b")], [("0", "c")], [("0", "d")], [("0", "u")],
        ]  # fmt: skip


class TestIndexes:
    """Occurrences of a name are numbered in record order, from 0."""

    @pytest.mark.req("020-027")
    def test_indexes_are_decimal_without_leading_zeros(self) -> None:
        plex = with_headers(("Note", "x"), *[("Tag", f"v{n}") for n in range(12)])
        assert fields(plex, "Tag") == [(str(n), f"v{n}") for n in range(12)]
        assert fields(plex, "Tag")[10][0] == "10"

    @pytest.mark.req("020-028")
    @KINDS
    def test_singleton_fields_have_index_0(self, record: Record) -> None:
        singletons = {"Type", "Data-Length", "Group", "App", "Name", "TAI", "Signed-By", "Signature"}
        seen = [
            (fact[2], fact[3])
            for fact in facts_of_record(record)
            if fact[0] == "Field" and fact[2] in singletons
        ]
        assert {index for _, index in seen} == {"0"}
        assert len(seen) == len(set(seen)) == {"B": 2, "P": 6, "S": 8}[record.type]

    @pytest.mark.req("020-029", "020-016")
    def test_repeated_headers_are_numbered_in_the_order_of_the_record(self) -> None:
        plex = with_headers(("Tag", "c"), ("Note", "x"), ("Tag", "a"), ("Tag", "b"))
        assert fields(plex, "Tag") == [("0", "c"), ("1", "a"), ("2", "b")]
        assert fields(plex, "Note") == [("0", "x")]
        assert fields(plex, "Group") == [("0", "u")]

    @pytest.mark.req("020-030")
    def test_equal_headers_stay_two_facts(self) -> None:
        plex = with_headers(("Tag", "a"), ("Tag", "a"))
        assert fields(plex, "Tag") == [("0", "a"), ("1", "a")]
        assert len({fact for fact in facts_of_record(plex) if fact[0] == "Field" and fact[2] == "Tag"}) == 2


class TestByReference:
    """An outer record shows what its inner records say, under its own id."""

    @pytest.mark.req("020-031")
    def test_a_seal_shows_the_fields_links_and_blob_of_its_plex(self) -> None:
        shown = {(fact[0], *fact[2:]) for fact in facts_of_record(SEAL)}
        of_plex = {(fact[0], *fact[2:]) for fact in facts_of_record(PLEX) if fact[0] != "Have"}
        assert of_plex - shown == {("Field", "Type", "0", "P")}
        assert {fact[1] for fact in facts_of_record(SEAL)} == {SEAL.id}
        assert of(SEAL, "BlobHash") == [(SEAL.id, BLOB.id)]
        assert of(SEAL, "RecordLink") == [(SEAL.id, "+Link", "0", "why", TARGET)]

    @pytest.mark.req("020-032")
    def test_only_seals_have_signed_by_signature_and_plex_hash(self) -> None:
        for record in (BLOB, PLEX):
            assert fields(record, "Signed-By") == fields(record, "Signature") == of(record, "PlexHash") == []
        assert fields(SEAL, "Signed-By")
        assert fields(SEAL, "Signature")
        assert of(SEAL, "PlexHash")

    @pytest.mark.req("020-033")
    @KINDS
    def test_all_types_have_the_length_of_the_innermost_data(self, record: Record) -> None:
        assert fields(record, "Data-Length") == [("0", "11")]

    def test_a_blob_has_no_place_and_no_time(self) -> None:
        assert {fact[2] for fact in facts_of_record(BLOB) if fact[0] == "Field"} == {"Type", "Data-Length"}

    @pytest.mark.req("020-037")
    def test_an_outer_record_gives_its_inner_ones_no_have(self) -> None:
        assert of(SEAL, "Have") == [(SEAL.id,)]
        assert of(PLEX, "Have") == [(PLEX.id,)]
        assert {fact[1] for fact in facts_of_record(PLEX)} == {PLEX.id}

    @pytest.mark.req("020-038")
    def test_an_inner_record_has_facts_of_its_own_only_when_taken_by_itself(self) -> None:
        assert ("Have", PLEX.id) not in facts_of_record(SEAL)
        assert facts_of_record(SEAL.plex) == facts_of_record(PLEX)
        assert ("Have", PLEX.id) in facts_of_record(SEAL.plex)


class TestLinks:
    """RecordLink facts come from well-formed link headers only."""

    @pytest.mark.req("020-034")
    def test_a_well_formed_link_header_is_a_field_and_a_link(self) -> None:
        plex = with_headers(("+Link", f"two words {TARGET}"), ("+See", TARGET))
        assert of(plex, "RecordLink") == [
            (plex.id, "+Link", "0", "two words", TARGET),
            (plex.id, "+See", "0", "", TARGET),
        ]
        assert fields(plex, "+Link") == [("0", f"two words {TARGET}")]

    @pytest.mark.req("020-035")
    @pytest.mark.parametrize("value", ["no target", TARGET + " ", TARGET[:-3], f"x{TARGET}", "P.short.H3"])
    def test_a_malformed_one_stays_a_field(self, value: str) -> None:
        plex = with_headers(("+Link", value))
        assert fields(plex, "+Link") == [("0", value)]
        assert of(plex, "RecordLink") == []

    def test_a_target_under_a_name_without_plus_is_no_link(self) -> None:
        plex = with_headers(("Link", TARGET), ("x+", TARGET))
        assert of(plex, "RecordLink") == []

    def test_the_index_of_a_link_counts_malformed_ones_too(self) -> None:
        plex = with_headers(("+Link", "no target"), ("+Link", TARGET), ("+Other", TARGET), ("+Link", TARGET))
        assert [fact[1:3] for fact in of(plex, "RecordLink")] == [
            ("+Link", "1"),
            ("+Other", "0"),
            ("+Link", "2"),
        ]

    @pytest.mark.req("020-004", "020-005")
    def test_a_target_of_an_unknown_format_is_named_and_nothing_more(self) -> None:
        plex = with_headers(("+Link", ELSEWHERE))
        assert of(plex, "RecordLink") == [(plex.id, "+Link", "0", "", ELSEWHERE)]
        assert {fact[1] for fact in facts_of_record(plex)} == {plex.id}
        assert ("Have", ELSEWHERE) not in facts_of_record(plex)

    @pytest.mark.req("020-036")
    @KINDS
    def test_there_are_no_composite_coordinates(self, record: Record) -> None:
        assert {fact[0] for fact in facts_of_record(record)} <= {
            "Have",
            "Field",
            "RecordLink",
            "BlobHash",
            "PlexHash",
        }
        assert not any("//" in value for fact in facts_of_record(record) for value in fact)


class TestValueLimit:
    """A value over the limit of the evaluating profile is refused, never cut."""

    @pytest.mark.req("020-014")
    def test_a_smaller_limit_refuses_the_record_and_not_part_of_it(self) -> None:
        plex = with_headers(("Tag", "x" * 90))
        assert facts_of_record(plex, 90)
        with pytest.raises(ValueTooLong) as caught:
            facts_of_record(plex, 89)
        assert caught.value.fields["limit"] == 89

    @pytest.mark.req("020-014")
    def test_bytes_count_not_characters(self) -> None:
        plex = with_headers(("Tag", "é" * 40))
        assert facts_of_record(plex, 80)
        with pytest.raises(ValueTooLong):
            facts_of_record(plex, 79)

    def test_names_count_as_values_too(self) -> None:
        plex = with_headers(("T" * 90, "x"))
        assert facts_of_record(plex, 90)
        with pytest.raises(FactError):
            facts_of_record(plex, 89)

    def test_no_header_can_pass_the_limit_of_the_language(self) -> None:
        plex = with_headers(("T", "x" * 1021), ("T" * 1021, "x"))
        longest = max(len(value.encode()) for fact in facts_of_record(plex) for value in fact)
        assert longest == 1021 < VALUE_BYTES

    def test_a_larger_limit_changes_nothing(self) -> None:
        assert facts_of_record(PLEX, 1 << 20) == facts_of_record(PLEX)


def test_predicates_have_the_arities_of_their_facts() -> None:
    seen = {Predicate(fact[0], len(fact) - 1) for fact in facts_of_record(SEAL)}
    assert seen == {
        Predicate("Have", 1), Predicate("Field", 4), Predicate("RecordLink", 5),
        Predicate("BlobHash", 2), Predicate("PlexHash", 2),
    }  # fmt: skip


def test_the_classes_are_told_apart() -> None:
    assert [type(record) for record in (BLOB, PLEX, SEAL)] == [Blob, Plex, Seal]
