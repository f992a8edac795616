"""The table of leading bytes, the order of items, and the pattern of fact lines."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.errors import FactError
from lace.facts import parse_fact_line
from lace.iltp.grammar import (
    CLEAN,
    DISPATCH,
    FACT_LINES,
    LIMITS,
    NEXT,
    PREFACE,
    RESOURCE_MARK,
    TRAILER_OPEN,
    Lead,
    Place,
    find_lead,
    first_unlike,
)
from lace.record import MARK
from tests.strategies import texts


@pytest.mark.req("060-012", "060-013", "060-021", "060-040")
def test_the_markers_are_these_bytes() -> None:
    assert bytes.fromhex("f09faaa23a20") + b"iltp/1\n" == PREFACE
    assert bytes.fromhex("f09fa7a93a20") == RESOURCE_MARK
    assert bytes.fromhex("f09f96a73a20") == MARK
    assert bytes.fromhex("e28baf") + MARK[:-1] == TRAILER_OPEN


@pytest.mark.req("060-050")
@pytest.mark.parametrize("marker", DISPATCH, ids=lambda marker: DISPATCH[marker].name)
def test_a_marker_is_known_by_all_of_its_bytes(marker: bytes) -> None:
    for size in range(1, len(marker)):
        assert find_lead(marker, 0, size) is None
    assert find_lead(marker, 0, len(marker)) is DISPATCH[marker]
    for at in range(len(marker)):
        other = marker[:at] + bytes([marker[at] ^ 1]) + marker[at + 1 :]
        if other not in DISPATCH:
            assert find_lead(other, 0, len(other)) is Lead.UNKNOWN


@pytest.mark.req("060-044", "060-051")
def test_one_byte_is_a_letter_a_hash_an_lf_the_start_of_a_marker_or_unknown() -> None:
    known = {byte: find_lead(bytes([byte]), 0, 1) for byte in range(256)}
    assert {byte for byte, lead in known.items() if lead is Lead.FACT} == set(
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    )
    assert {byte for byte, lead in known.items() if lead is None} == {0xF0, 0xE2}
    assert (known[ord("#")], known[ord("\n")]) == (Lead.COMMENT, Lead.BLANK)
    assert sum(lead is Lead.UNKNOWN for lead in known.values()) == 256 - 52 - 2 - 2


def test_what_an_error_shows_does_not_depend_on_how_much_has_arrived() -> None:
    stream = RESOURCE_MARK[:3] + b"?????"
    shown = {first_unlike(stream[:size], tuple(DISPATCH)) for size in range(4, len(stream) + 1)}
    assert shown == {stream[:4]}


def test_every_place_and_lead_is_in_the_table_or_a_fault() -> None:
    table = {place: {lead.name for lead in Lead if (place, lead) in NEXT} for place in Place}
    assert table == {
        Place.START: {"PREFACE"},
        Place.OPENED: {"FACT", "RESOURCE", "RECORD"},
        Place.BOUNDARY: {"FACT", "RESOURCE", "RECORD", "BLANK"},
        Place.PENDING: {"FACT", "RESOURCE", "RECORD", "BLANK"},
        Place.FACTS: {"FACT", "BLANK"},
        Place.RECORDS: {"RECORD", "RESOURCE", "BLANK"},
    }
    assert {NEXT[place, lead] for place, lead in product(Place, Lead) if (place, lead) in NEXT} == set(
        Place
    ) - {Place.START}
    assert {Place.OPENED, Place.BOUNDARY} == CLEAN


@pytest.mark.req("060-107", "060-112")
def test_the_limits_are_those_of_060_and_050() -> None:
    assert (LIMITS.fact_line_bytes, LIMITS.comment_bytes, LIMITS.marker_line_bytes) == (1024, 128, 1024)
    assert (LIMITS.resource_bytes, LIMITS.resource_lines, LIMITS.resources) == (2**20, 4096, 256)
    assert LIMITS.block_bytes == 64 * 2**20


_pieces = st.sampled_from(
    ["A", "b-2~_", "(", ")", "'", "','", "\\", "\\'", "\\\\", ",", "()", "('x')", " ", "\r", "é", "."]
)
_almost = st.lists(_pieces, max_size=10).map("".join)
_values = st.lists(texts(0, 6), max_size=3).map(
    lambda values: "A(" + ",".join(f"'{v}'" for v in values) + ")"
)


@given(_almost | _values | st.text(max_size=12))
def test_the_pattern_of_many_lines_and_the_reader_of_one_agree(line: str) -> None:
    if "\n" in line:
        return
    try:
        raw = line.encode()
    except UnicodeEncodeError:
        return
    try:
        parse_fact_line(line)
        is_fact = True
    except FactError as error:
        if error.code != "fact/line":  # its values are no text: not the pattern's business
            return
        is_fact = False
    assert (FACT_LINES.fullmatch(raw + b"\n") is not None) == is_fact
    assert (FACT_LINES.fullmatch(b"A()\n" + raw + b"\nB('x')\n") is not None) == is_fact
