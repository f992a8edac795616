"""Builders write canonical bytes, and return only what a reader would accept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.errors import RecordError
from lace.record import (
    BadMarkline,
    BadPath,
    BadTai,
    Blob,
    ControlInHeader,
    DataTooLong,
    ForbiddenHeader,
    HeaderLine,
    HeaderNotNfc,
    HeaderNotUtf8,
    HeadersTooLong,
    Plex,
    RecordLimits,
    Seal,
    TooManyHeaders,
    make_blob,
    make_plex,
    make_seal,
    parse_record,
)
from lace.signing import ZeroAux, parse_secret
from tests.golden import load_vectors
from tests.record.samples import BLOB, PLEX, TAI
from tests.strategies import AUX, SECRETS, data, headers, paths, plexes, tais

GOLDEN = load_vectors("records")["accept"]


def build(builder: dict[str, Any]) -> Blob | Plex | Seal:
    """Give a golden case to its builder."""
    match builder["kind"]:
        case "blob":
            return make_blob(bytes.fromhex(builder["data_hex"]))
        case "plex":
            group, app, name, tai = [builder[key] for key in ("group", "app", "name", "tai")]
            extra = [(key, value) for key, value in builder["extra"]]
            return make_plex(group, app, name, tai, bytes.fromhex(builder["data_hex"]), extra)
        case "seal":
            plex = parse_record(bytes.fromhex(builder["plex_hex"]))
            assert isinstance(plex, Plex)
            return make_seal(plex, parse_secret(builder["secret"]), bytes.fromhex(builder["aux_hex"]))
        case kind:
            raise AssertionError(kind)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['builder']['kind']}-{case['id'][:5]}")
def test_golden_records_are_built_to_the_byte(case: dict[str, Any]) -> None:
    record = build(case["builder"])
    assert record.raw.hex() == case["hex"]
    assert record.id == case["id"]


@given(data())
def test_a_blob_holds_what_was_given(content: bytes) -> None:
    blob = make_blob(content)
    assert (blob.data, blob.length) == (content, len(content))
    assert parse_record(blob.raw).raw == blob.raw


@given(paths(), paths(), paths(), tais(), data(), headers())
def test_a_plex_holds_what_was_given(
    group: str, app: str, name: str, tai: str, content: bytes, extra: list[tuple[str, str]]
) -> None:
    plex = make_plex(group, app, name, tai, content, extra)
    again = parse_record(plex.raw)
    assert isinstance(again, Plex)
    for each in (plex, again):
        assert (each.group, each.app, each.name, each.tai) == (group, app, name, tai)
        assert (each.extra, each.blob.data) == (tuple(extra), content)


@given(plexes(), st.sampled_from(SECRETS))
def test_a_seal_holds_its_plex_and_who_signed_it(plex: Plex, secret: Any) -> None:
    seal = make_seal(plex, secret, AUX)
    again = parse_record(seal.raw)
    assert isinstance(again, Seal)
    for each in (seal, again):
        assert (each.plex, each.signer) == (plex, secret.verifier)
    assert make_seal(plex, secret, AUX) == seal


def test_a_blob_that_is_there_already_can_be_given_as_data() -> None:
    assert make_plex("u", "a", "n", TAI, BLOB).blob == BLOB
    assert make_plex("u", "a", "n", TAI, BLOB) == make_plex("u", "a", "n", TAI, BLOB.data)


def test_headers_may_come_from_anything_that_iterates() -> None:
    assert make_plex("u", "a", "n", TAI, b"", (pair for pair in [("Tag", "x")])).extra == (("Tag", "x"),)


@pytest.mark.parametrize(
    ("pair", "error"),
    [
        (("Tag", ""), HeaderLine),
        (("", "x"), HeaderLine),
        (("Tag", " x"), HeaderLine),
        (("T ag", "x"), HeaderLine),
        (("T\tag", "x"), ControlInHeader),
        (("Tag", "x\ry"), ControlInHeader),
        (("Tag", "x\ny: z"), HeaderLine),
        (("Tag: x\nOther", "y"), HeaderLine),
        (("Tag", "x" * 1020), HeaderLine),
        (("Tag", "cafe\u0301"), HeaderNotNfc),
        (("Tag", "\ud800"), HeaderNotUtf8),
        (("\udfff", "x"), HeaderNotUtf8),
        (("TAI", TAI), ForbiddenHeader),
        (("\U0001f5a7", "x"), BadMarkline),
        (("\U0001f5a7", BLOB.id), RecordError),
    ],
    ids=repr,
)
def test_a_header_that_no_reader_would_take_is_not_written(
    pair: tuple[str, str], error: type[RecordError]
) -> None:
    with pytest.raises(error):
        make_plex("u", "a", "n", TAI, b"", [pair])


@pytest.mark.parametrize("name", ["A: B", "A:B", ":", ": x", "Tag:"])
def test_a_name_with_a_colon_would_be_read_as_another_name(name: str) -> None:
    with pytest.raises(HeaderLine, match="colon"):
        make_plex("u", "a", "n", TAI, b"", [(name, "c")])


@pytest.mark.parametrize("path", ["", "/", "..", "a//b", "x" * 256, " x", "a\nb", "a\x00b", "\ud800"])
def test_a_place_that_is_no_path_is_not_written(path: str) -> None:
    for place in (("u", "a", path), ("u", path, "n"), (path, "a", "n")):
        with pytest.raises((BadPath, HeaderLine, ControlInHeader, HeaderNotUtf8)):
            make_plex(*place, TAI, b"")


def test_a_time_that_is_none_is_not_written() -> None:
    with pytest.raises(BadTai):
        make_plex("u", "a", "n", "2026-01-01", b"")


def test_limits_hold_for_builders_as_for_readers() -> None:
    limits = RecordLimits(data_bytes=5, header_bytes=60, headers=5)
    assert make_blob(b"12345", limits).length == 5
    with pytest.raises(DataTooLong):
        make_blob(b"123456", limits)
    with pytest.raises(DataTooLong):
        make_plex("u", "a", "n", TAI, BLOB, limits=limits)
    with pytest.raises(HeadersTooLong):
        make_plex("u", "a", "n", TAI, b"", [("Tag", "x" * 20)], limits)
    with pytest.raises(TooManyHeaders):
        make_plex("u", "a", "n", TAI, b"", [("T", "x")] * 2, limits)
    with pytest.raises(HeadersTooLong):
        make_seal(make_plex("u", "a", "n", TAI, b""), SECRETS[0], AUX, limits)


def test_a_seal_wants_randomness() -> None:
    with pytest.raises(ZeroAux):
        make_seal(PLEX, SECRETS[0], bytes(32))


def test_data_over_the_limit_is_refused_before_it_is_copied() -> None:
    with pytest.raises(DataTooLong) as refused:
        make_blob(b"12345", RecordLimits(data_bytes=4))
    # The parser would have counted from the start of what was written.
    assert refused.value.fields == {"length": 5, "limit": 4, "offset": 0}
