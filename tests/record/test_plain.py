"""Plain records are read at a stroke, and nothing but time tells: the same records, the same refusals."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lace.errors import RecordError
from lace.porcelain import generate
from lace.record import (
    LIMITS,
    MARK,
    MARKLINE_BYTES,
    Plex,
    Record,
    RecordLimits,
    Seal,
    check_parts,
    find_parts,
    make_blob,
    make_plex,
    make_seal,
    may_be_plain,
    parse_record,
)
from lace.record.plain import DATA_BYTES, HEADERS
from tests.record.samples import BLOB, NAMED, PLEX, SAMPLES, SEAL, TAI, header_part, plex_bytes, stored
from tests.strategies import AUX, SECRETS, damaged, plexes, seals

SLOW = RecordLimits(headers=HEADERS - 1)
"""Under these limits nothing is plain, and nothing here is over them."""


def take(raw: bytes) -> Plex | Seal | None:
    """Read a record at a stroke, or not at all."""
    found = find_parts(raw.decode("latin-1"), 0)
    return None if found is None or found[2] != len(raw) else check_parts(raw, found[0])


def said(record: Record) -> tuple[Any, ...]:
    """Return everything that a record says, of its inner ones too."""
    if isinstance(record, Seal):
        return record.id, record.raw, record.signer, record.signature, said(record.plex)
    if isinstance(record, Plex):
        named = (record.group, record.app, record.name, record.tai, record.extra)
        return record.id, record.raw, named, said(record.blob)
    return record.id, record.raw, record.data, record.length


def outcome(raw: bytes, limits: RecordLimits) -> tuple[Any, ...]:
    try:
        return said(parse_record(raw, limits))
    except RecordError as error:
        return error.code, error.offset, str(error)


@given(st.data(), plexes())
@settings(max_examples=150)
def test_headers_that_hash_are_judged_alike_however_they_are_read(data: st.DataObject, plex: Plex) -> None:
    head = plex.raw[MARKLINE_BYTES : len(plex.raw) - plex.blob.size]
    raw = plex_bytes(data.draw(damaged(head)), plex.blob.raw)
    assert outcome(raw, LIMITS) == outcome(raw, SLOW)


@given(st.data(), st.one_of(plexes(), seals()))
@settings(max_examples=100)
def test_damage_is_told_alike_however_a_record_is_read(data: st.DataObject, record: Plex | Seal) -> None:
    taken = take(record.raw)
    assert taken is None or said(taken) == outcome(record.raw, SLOW)
    raw = data.draw(damaged(record.raw))
    assert outcome(raw, LIMITS) == outcome(raw, SLOW)
    sealed = SEAL.raw[MARKLINE_BYTES : len(SEAL.raw) - PLEX.size] + data.draw(damaged(PLEX.raw))
    assert outcome(stored("S", sealed), LIMITS) == outcome(stored("S", sealed), SLOW)


@pytest.mark.parametrize(
    "line",
    [
        ("Note", "caf\u00e9"),
        ("Note", "cafe\u0301"),
        ("\U0001f5a7", "B.x"),
        ("Note", "\U0001f5a7: not at the start of a line"),
        ("\U0001f3a1", "\U0001f33e"),
        ("Note", "\udcff"),
        ("Note", "x" * 1024),
        ("App", "again"),
        ("Note", "\u0085"),
    ],
)
def test_characters_of_all_sizes_are_judged_alike(line: tuple[str, str]) -> None:
    for head in (header_part(*NAMED, line), header_part(("Group", line[1]), *NAMED[1:])):
        assert outcome(plex_bytes(head), LIMITS) == outcome(plex_bytes(head), SLOW)


def test_what_is_long_or_has_no_headers_is_left_to_others() -> None:
    many = [("Tag", f"{number:04}") for number in range(60)]
    left = [
        make_plex("u", "a", "n", TAI, b"x" * (DATA_BYTES + 1)),
        make_plex("u", "a", "n", TAI, b"", many),
        make_plex("u" * 255, "a", "n", TAI, b""),
        BLOB,
    ]
    for record in left:
        assert take(record.raw) is None
        assert said(parse_record(record.raw)) == said(parse_record(record.raw, SLOW))
    assert may_be_plain(LIMITS)
    assert not may_be_plain(SLOW)


def test_a_signature_and_every_hash_are_looked_at() -> None:
    other = make_seal(PLEX, SECRETS[1], AUX)
    forged = SEAL.raw.replace(SEAL.signature.encode(), other.signature.encode())[MARKLINE_BYTES:]
    assert take(stored("S", forged)) is None
    assert take(SEAL.raw.replace(b"some data", b"same data")) is None
    assert take(PLEX.raw.replace(b"some data", b"same data")) is None
    named = SEAL.raw[len(MARK) : MARKLINE_BYTES]
    assert take(SEAL.raw.replace(named, other.raw[len(MARK) : MARKLINE_BYTES])) is None
    loose = PLEX.raw.replace(PLEX.blob.id.encode(), make_blob(b"x").id.encode())[MARKLINE_BYTES:]
    assert take(stored("P", loose)) is None


def test_nearly_everything_is_plain() -> None:
    made = list(generate(3, 300))
    plain = [record for record in made if take(record.raw) is not None]
    assert len(plain) == sum(record.type != "B" for record in made)
    assert all(take(record.raw) == record for record in SAMPLES[1:])
