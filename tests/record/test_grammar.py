"""The spelling of headers: the quick patterns take exactly what the explanations have nothing against."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lace.errors import RecordError
from lace.record import (
    FORBIDDEN,
    NAMED,
    BadPath,
    BadTai,
    BlobHeader,
    ControlInHeader,
    ForbiddenHeader,
    HeaderLine,
    HeaderNotNfc,
    HeaderNotUtf8,
    Plex,
    PlexHeaders,
    Seal,
    SealHeaders,
    is_path,
    make_plex,
    parse_record,
    split_link,
)
from lace.record.grammar import (
    PLEX_HEADERS,
    SEAL_HEADERS,
    explain_blob,
    explain_plex,
    explain_seal,
    fits_path,
)
from lace.text import is_nfc
from tests.record.samples import BLOB, PLEX, SEAL, TAI, header_part, plex_bytes, refusal, stored
from tests.strategies import AWKWARD, header_names, header_values, headers, paths

GOOD = (("Group", "u"), ("App", "a"), ("Name", "n"), ("TAI", TAI))
P_ID = "P." + "0" * 43


def with_named(place: int, name: str, value: str) -> bytes:
    """Write a Plex that hashes, with one of its named headers changed."""
    changed = list(GOOD)
    changed[place] = (name, value)
    return plex_bytes(header_part(*changed))


def accepts_plex(head: bytes) -> bool:
    """Tell whether the quick way of check.py takes a header part."""
    try:
        text = head.decode()
    except UnicodeDecodeError:
        return False
    found = PLEX_HEADERS.fullmatch(text)
    return found is not None and is_nfc(text) and all(map(fits_path, found.groups()[:3]))


# Header parts as the scanner hands them over: lines that are not empty, each with its LF.
_bits = st.sampled_from(
    [
        *AWKWARD,
        *NAMED,
        *FORBIDDEN,
        ": ",
        ":",
        " ",
        "/",
        ".",
        "..",
        "Group: u",
        "TAI: " + TAI,
        "\x00",
        "\t",
        "\r",
        "\x7f",
    ]
)
_lines = st.lists(_bits, min_size=1, max_size=5).map("".join)
_raw_lines = _lines.map(str.encode) | st.binary(min_size=1, max_size=8).map(
    lambda line: line.replace(b"\n", b".")
)
_near_lines = st.sampled_from([header_part(header)[:-1] for header in GOOD])
heads = st.lists(_near_lines | _raw_lines, max_size=6).map(
    lambda lines: b"".join([line + b"\n" for line in lines])
)
good_heads = headers().map(lambda extra: header_part(*GOOD, *extra))


@given(heads | good_heads | st.tuples(good_heads, heads).map(b"".join))
@example(b"")
@example(header_part(*GOOD))
def test_a_plex_head_is_accepted_or_explained_never_both(head: bytes) -> None:
    if accepts_plex(head):
        # With nothing against it, the explanation runs past the last header and finds itself superfluous.
        with pytest.raises(AssertionError):
            explain_plex(head)
    else:
        error = explain_plex(head)
        assert 0 <= (error.offset or 0) <= len(head)


@given(heads | good_heads)
@example(header_part(("Signed-By", SEAL.signer), ("Signature", SEAL.signature)))
@example(header_part(("Signature", SEAL.signature), ("Signed-By", SEAL.signer)))
@example(header_part(("Signed-By", SEAL.signer)))
def test_a_seal_head_is_accepted_or_explained(head: bytes) -> None:
    error = explain_seal(head)
    assert isinstance(error, RecordError)
    assert 0 <= (error.offset or 0) <= len(head)
    if SEAL_HEADERS.fullmatch(head.decode("utf-8", "replace")):
        assert error.fields["found"] == "the inner record"  # no fault was found before it


@given(_raw_lines)
def test_a_blob_line_is_always_explained(line: bytes) -> None:
    error = explain_blob(line, 7)
    assert 7 <= (error.offset or 0) <= 7 + len(line)


@given(heads)
def test_composed_lines_make_a_composed_head_and_the_other_way_round(head: bytes) -> None:
    text = head.decode("utf-8", "replace")
    assert is_nfc(text) == all(map(is_nfc, text.split("\n")))


class TestPaths:
    """Group, App and Name are segments split by slashes."""

    @pytest.mark.parametrize(
        "path", ["u", "u/v/w", "...", ".x", "x.", "a b", "u/ v", "u ", "é" * 127, "~", "'", ":"]
    )
    def test_a_path_of_whole_segments_is_accepted(self, path: str) -> None:
        assert is_path(path)
        assert make_plex(path, path, path, TAI, b"").group == path

    @pytest.mark.parametrize(
        "path", ["/", "/u", "u/", "u//v", ".", "..", "u/.", "u/..", "./u", "../u", "u/../v"]
    )
    @pytest.mark.parametrize("place", [0, 1, 2])
    def test_an_empty_or_dotted_segment_is_refused_where_it_stands(self, path: str, place: int) -> None:
        assert not is_path(path)
        raw = with_named(place, NAMED[place], path)
        error = refusal(raw)
        assert isinstance(error, BadPath)
        assert error.offset == raw.index(f"{NAMED[place]}: ".encode()) + len(NAMED[place]) + 2

    @pytest.mark.parametrize("letter", ["x", "é", "名", "\U0001f5a7"])
    def test_a_path_has_at_most_255_bytes_however_many_characters(self, letter: str) -> None:
        width = len(letter.encode())
        at = letter * (255 // width) + "x" * (255 % width)
        assert len(at.encode()) == 255
        assert parse_record(with_named(2, "Name", at))
        assert isinstance(refusal(with_named(2, "Name", at + "x")), BadPath)

    @given(paths(), paths(), paths())
    def test_drawn_paths_come_back_as_they_were_given(self, group: str, app: str, name: str) -> None:
        plex = make_plex(group, app, name, TAI, b"")
        assert (plex.group, plex.app, plex.name) == (group, app, name)


class TestHeaderLines:
    """A line is `<Name>: <value>`, UTF-8 NFC, without control bytes."""

    @given(header_names(), header_values())
    def test_drawn_headers_come_back_as_they_were_given(self, name: str, value: str) -> None:
        assert make_plex("u", "a", "n", TAI, b"", [(name, value)]).extra == ((name, value),)

    @pytest.mark.parametrize(
        "line",
        ["", "Tag", "Tag:", "Tag: ", "Tag:x", "Tag:  x", ": x", "T ag: x", "Tag : x", " Tag: x", ":Tag: x"],
    )
    def test_a_line_of_another_shape_is_refused(self, line: str) -> None:
        raw = plex_bytes(header_part(*GOOD) + line.encode() + b"\n")
        error = refusal(raw)
        assert isinstance(error, PlexHeaders if line == "" else HeaderLine)
        assert error.offset == raw.index(f"{TAI}\n{line}\n".encode()) + len(TAI) + 1

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("Tag", "there is no colon"),
            (": x", "the name before the colon is empty or has a space"),
            ("T ag: x", "the name before the colon is empty or has a space"),
            ("Tag:x", "exactly one space follows the colon"),
            ("Tag:  x", "the value is empty or begins with a space"),
            ("Tag: ", "the value is empty or begins with a space"),
        ],
    )
    def test_the_refusal_says_what_is_wrong_with_the_line(self, line: str, reason: str) -> None:
        error = refusal(plex_bytes(header_part(*GOOD) + line.encode() + b"\n"))
        assert error.fields["reason"].startswith(reason)

    @pytest.mark.parametrize("byte", [*range(0x0A), *range(0x0B, 0x20), 0x7F])
    def test_a_control_byte_is_refused_where_it_stands(self, byte: int) -> None:
        for line in (b"Tag: a%cb", b"T%cg: x", b"%cTag: x", b"Tag: x%c"):
            raw = plex_bytes(header_part(*GOOD) + line % byte + b"\n")
            error = refusal(raw)
            assert isinstance(error, ControlInHeader)
            assert raw[error.offset or 0] == error.fields["byte"] == byte

    @pytest.mark.parametrize(
        "wrong", [b"\xff", b"\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"]
    )
    def test_bytes_that_are_no_utf_8_are_refused_where_they_stand(self, wrong: bytes) -> None:
        raw = plex_bytes(header_part(*GOOD) + b"Tag: " + wrong + b"\n")
        error = refusal(raw)
        assert isinstance(error, HeaderNotUtf8)
        assert error.offset == raw.index(wrong + b"\n")

    @pytest.mark.req("020-013")
    @pytest.mark.parametrize("text", ["cafe\u0301", "\u212b", "\u0344", "a\u0345\u0301", "\u1100\u1161"])
    def test_text_that_is_not_composed_is_refused_in_names_values_and_paths(self, text: str) -> None:
        assert normalize("NFC", text) != text
        for raw in (
            plex_bytes(header_part(*GOOD, ("Tag", text))),
            plex_bytes(header_part(*GOOD, (text, "x"))),
            with_named(0, "Group", text),
        ):
            assert isinstance(refusal(raw), HeaderNotNfc)

    def test_a_line_has_at_most_1024_bytes(self) -> None:
        for letter in ("x", "é"):
            at = ("Tag", letter * ((1024 - 5) // len(letter.encode())))
            over = ("Tag", letter * ((1025 - 4) // len(letter.encode())))
            assert parse_record(plex_bytes(header_part(*GOOD, at)))
            assert isinstance(refusal(plex_bytes(header_part(*GOOD, over))), HeaderLine)


class TestPlexHeaders:
    """Group, App, Name, TAI: once each, in this order, first."""

    @pytest.mark.parametrize("gone", range(4))
    def test_a_missing_one_is_asked_for(self, gone: int) -> None:
        error = refusal(plex_bytes(header_part(*GOOD[:gone], *GOOD[gone + 1 :])))
        assert isinstance(error, PlexHeaders)
        assert error.fields["expected"] == NAMED[gone]

    def test_a_plex_without_headers_lacks_the_first(self) -> None:
        error = refusal(plex_bytes(b""))
        assert isinstance(error, PlexHeaders)
        assert error.fields["expected"] == "Group"

    @pytest.mark.parametrize("name", sorted(FORBIDDEN))
    def test_an_extra_header_cannot_take_a_name_of_the_protocol(self, name: str) -> None:
        error = refusal(plex_bytes(header_part(*GOOD, ("Tag", "x"), (name, "x"))))
        assert isinstance(error, ForbiddenHeader)
        assert error.fields["name"] == name

    @pytest.mark.req("020-017")
    @pytest.mark.parametrize("name", ["type", "TYPE", "data-length", "group", "Signed-by", "Names", "Typ"])
    def test_names_are_told_apart_to_the_letter(self, name: str) -> None:
        assert make_plex("u", "a", "n", TAI, b"", [(name, "x")]).extra == ((name, "x"),)

    @pytest.mark.parametrize(
        "tai",
        [
            "1640995200",
            "1640995200:",
            "1640995200:00000000",
            "16409952000:000000000",
            "x" * 20,
            "１640995200:000000000",
        ],
    )
    def test_a_time_of_another_shape_is_refused(self, tai: str) -> None:
        error = refusal(with_named(3, "TAI", tai))
        assert isinstance(error, BadTai)
        assert error.fields["value"] == tai


class TestSealHeaders:
    """Signed-By and Signature, and nothing else."""

    SIGNED, SIGNATURE = ("Signed-By", SEAL.signer), ("Signature", SEAL.signature)

    @pytest.mark.parametrize(
        "head",
        [
            (),
            (SIGNED,),
            (SIGNATURE,),
            (SIGNATURE, SIGNED),
            (SIGNED, SIGNED, SIGNATURE),
            (SIGNED, SIGNATURE, ("Tag", "x")),
            (("Signed-By", SEAL.signer.replace("V.", "P.")), SIGNATURE),
            (("Signed-By", SEAL.signer.replace(".H3", ".H4")), SIGNATURE),
            (SIGNED, ("Signature", SEAL.signature[:-1])),
            (SIGNED, ("Signature", SEAL.signature + "0")),
            (SIGNED, ("Signature", "+" + SEAL.signature[1:])),
        ],
    )
    def test_any_other_headers_are_refused(self, head: tuple[tuple[str, str], ...]) -> None:
        assert isinstance(refusal(stored("S", header_part(*head) + PLEX.raw)), SealHeaders)

    def test_these_two_are_accepted(self) -> None:
        assert isinstance(
            parse_record(stored("S", header_part(self.SIGNED, self.SIGNATURE) + PLEX.raw)), Seal
        )

    def test_a_fault_in_a_line_is_told_as_such(self) -> None:
        head = header_part(self.SIGNED, self.SIGNATURE)
        assert isinstance(refusal(stored("S", head[:-1] + b"\r\n" + PLEX.raw)), ControlInHeader)
        assert isinstance(refusal(stored("S", head[:-2] + b"\xff\n" + PLEX.raw)), HeaderNotUtf8)


class TestBlobHeader:
    """`Data-Length: <n>` and an empty line."""

    @pytest.mark.parametrize(
        "length", ["00", "01", "+1", "-1", "1.0", "0x1", "1e1", "1_0", "x", "１", "1 ", ""]
    )
    def test_a_length_that_is_no_plain_decimal_is_refused(self, length: str) -> None:
        error = refusal(stored("B", f"Data-Length: {length}\n\nx".encode()))
        assert isinstance(error, HeaderLine if length == "" else BlobHeader)

    @pytest.mark.parametrize(
        "head", [b"\n", b"Data-length: 1\n\n", b"Data-Length:1\n\n", b"Data-Length: 1\nTag: x\n\n"]
    )
    def test_other_headers_are_refused(self, head: bytes) -> None:
        assert isinstance(refusal(stored("B", head + b"x")), BlobHeader | HeaderLine)


class TestLinks:
    """A link header's value is a target, or data, one space and a target."""

    @pytest.mark.parametrize(
        ("value", "link"),
        [
            (f"{P_ID}.H3", ("", f"{P_ID}.H3")),
            (f"evidence {P_ID}.H3", ("evidence", f"{P_ID}.H3")),
            (f"two words {P_ID}.H3", ("two words", f"{P_ID}.H3")),
            (f"a  {P_ID}.H3", ("a ", f"{P_ID}.H3")),
            (f"{P_ID}.H3 {P_ID}.H9", (f"{P_ID}.H3", f"{P_ID}.H9")),
            (f"{P_ID}.Abcdefg8", ("", f"{P_ID}.Abcdefg8")),
            ("B." + "~" * 43 + ".H3", ("", "B." + "~" * 43 + ".H3")),
        ],
    )
    def test_a_well_formed_link_is_split_at_its_last_space(self, value: str, link: tuple[str, str]) -> None:
        assert split_link("+Link", value) == link
        assert split_link("Link", value) is None

    @pytest.mark.parametrize(
        "value",
        [
            "no target",
            P_ID,
            f"{P_ID}.",
            f"{P_ID}.123456789",
            f"{P_ID}.H-3",
            f"V{P_ID[1:]}.H3",
            f"x{P_ID}.H3",
            f"{P_ID}.H3 ",
            f"P.{'0' * 42}.H3",
            f"P.{'0' * 44}.H3",
            f"{P_ID}.H３",
            f"a\u00a0{P_ID}.H3",
        ],
    )
    def test_a_value_of_another_shape_is_no_link(self, value: str) -> None:
        assert split_link("+Link", value) is None
        plex = make_plex("u", "a", "n", TAI, BLOB, [("+Link", value)])
        assert isinstance(plex, Plex)
        assert plex.links() == []
