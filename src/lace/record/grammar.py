"""The spelling of a record, line by line (010, PROFILE section 5).

Rules of this file:
1. The patterns accept; they are the grammar. `explain_*` only says why something was not accepted.
2. Quantifiers are possessive: a pattern looks at each character once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lace.errors import RecordError
from lace.text import is_foreign_record_id, is_nfc, is_tai

MARK = "🖧: ".encode()  # F0 9F 96 A7 3A 20
TRAILER_MARK = "⋯🖧: ".encode()
MARKLINE = re.compile(rb"\xf0\x9f\x96\xa7: ([BPS])\.([0-9A-Z_a-z~]{43})\.H3\n")
MARKLINE_BYTES = len(MARK) + 2 + 43 + 3 + 1
ID_START, ID_END = len(MARK), MARKLINE_BYTES - 1

# A whole skeleton at once: [Seal markline, headers] [Plex markline, headers] Blob markline, its header.
# F0 begins the marker and other characters of four bytes: headers with one are left to the line by line
# scanner. So the pattern never runs past a marker, and however many there are, it stays linear.
_MARKED = rb"\xf0\x9f\x96\xa7: %b\.[0-9A-Z_a-z~]{43}\.H3\n"
_HEADS = rb"((?>(?:[^\n\xf0]{1,1024}+\n)*))"
SKELETON = re.compile(
    b"(?>(?>%b%b|)%b%b|)%bData-Length: (0|[1-9][0-9]{0,18}+)\n\n"
    % (_MARKED % b"S", _HEADS, _MARKED % b"P", _HEADS, _MARKED % b"B")
)

LINE_BYTES = 1024  # "at most 1024 bytes without LF"
PATH_BYTES = 255
DATA_LENGTH = re.compile(rb"Data-Length: (0|[1-9][0-9]*+)")
LENGTH_DIGITS = 20  # enough for 2^64; a longer one is too long whatever it says, and is never made an int

NAMED = ("Group", "App", "Name", "TAI")
FORBIDDEN = frozenset({"Type", "Data-Length", *NAMED, "Signed-By", "Signature"})

# Names: "not empty, no `:`, space or tab". Values: "not empty, never trimmed", never begin with a space.
_NAME = r"[^\x00-\x20:\x7f]++"
_VALUE = r"[^\x00-\x20\x7f][^\x00-\x1f\x7f]*+"
_LINE = re.compile(f"({_NAME}): ({_VALUE})")
# Paths: "segments split by `/`, each segment not empty and neither `.` nor `..`".
_SEGMENT = r"(?!\.{1,2}(?:/|\n|\Z))[^\x00-\x1f\x7f/]++"
_PATH = rf"(?! ){_SEGMENT}(?>(?:/{_SEGMENT})*)"
_IS_PATH = re.compile(_PATH)


def plex_pattern(stop: str | None = None) -> str:
    """Return the pattern of a Plex's header lines; none of the extra ones begins with `stop`."""
    kept = [f"{name}: " for name in sorted(FORBIDDEN)] + ([stop] if stop else [])
    extra = rf"(?!{'|'.join(kept)}){_NAME}: {_VALUE}\n"
    return (
        rf"Group: ({_PATH})\nApp: ({_PATH})\nName: ({_PATH})\nTAI: ([0-9]{{10}}:[0-9]{{9}})\n"
        rf"((?>(?:{extra})*))"
    )


PLEX_HEADERS = re.compile(plex_pattern())
SEAL_LINES = (
    re.compile(r"Signed-By: (V\.[0-9A-Z_a-z~]{43}\.H3)"),
    re.compile(r"Signature: ([0-9A-Z_a-z~]{86})"),
)
SEAL_HEADERS = re.compile("".join(line.pattern + r"\n" for line in SEAL_LINES))


class HeaderLine(RecordError):
    """A header line that is not `<Name>: <value>`."""

    code = "record/header-line"
    text = "header line {line!r}: {reason}"


class ControlInHeader(RecordError):
    """A control byte in a header line."""

    code = "record/control"
    text = "control byte {byte:#04x} in a header line; lines end with LF alone"


class HeaderNotUtf8(RecordError):
    """Header bytes that are no UTF-8."""

    code = "record/utf8"
    text = "the header is not UTF-8: {reason}"


class HeaderNotNfc(RecordError):
    """A header line that is not composed."""

    code = "record/nfc"
    text = "header line {line!r} is not in Unicode normal form C: write composed characters"


class PlexHeaders(RecordError):
    """A Plex that does not begin with Group, App, Name, TAI."""

    code = "record/plex-headers"
    text = "a Plex begins with Group, App, Name, TAI, once each and so: expected {expected}, found {found!r}"


class SealHeaders(RecordError):
    """A Seal with other headers than its two."""

    code = "record/seal-headers"
    text = "a Seal has exactly Signed-By (V.…) and Signature (86 characters), in this order: found {found!r}"


class ForbiddenHeader(RecordError):
    """An extra header under a name that the protocol keeps."""

    code = "record/forbidden-header"
    text = "{name!r} cannot be the name of an extra header"


class BadPath(RecordError):
    """A Group, App or Name that is no path."""

    code = "record/path"
    text = "{name} {path!r} is no path: segments split by '/', none empty, '.' or '..', at most 255 bytes"


class BadTai(RecordError):
    """A TAI header that is no TAI time."""

    code = "record/tai"
    text = "TAI {value!r} is no time: write ten digits, a colon, nine digits"


class BlobHeader(RecordError):
    """A Blob that does not begin with its length and an empty line."""

    code = "record/blob-header"
    text = (
        "a Blob has one header, `Data-Length: <n>` with no leading zero, and an empty line: found {found!r}"
    )


def is_path(text: str) -> bool:
    """Tell whether text can be a Group, App or Name.

    >>> is_path("u/links"), is_path("u//x"), is_path("u/.."), is_path("u/.x")
    (True, False, False, True)
    """
    return _IS_PATH.fullmatch(text) is not None and fits_path(text)


def fits_path(text: str) -> bool:
    """Tell whether text is short enough for a path."""
    return len(text) <= PATH_BYTES // 4 or len(text.encode("utf-8", "surrogatepass")) <= PATH_BYTES


def split_link(name: str, value: str) -> tuple[str, str] | None:
    """Return (data, target) of a record-link header, or None where it is a plain one.

    >>> split_link("+Link", "evidence P." + "0" * 43 + ".H3")[0]
    'evidence'
    """
    if not name.startswith("+"):
        return None
    data, _, target = value.rpartition(" ")
    return (data, target) if is_foreign_record_id(target) else None


def split_headers(text: str) -> tuple[tuple[str, str], ...]:
    """Split header lines that the grammar accepted."""
    # Every line of the grammar has a `: `, so each becomes a pair.
    return tuple([tuple(line.split(": ", 1)) for line in text[:-1].split("\n")])  # type: ignore[misc]


def _lines(head: bytes) -> Iterator[tuple[int, str]]:
    """Yield (offset, text) of each line; raise what is wrong with a line by itself."""
    offset = 0
    for line in head.split(b"\n")[:-1]:
        yield offset, explain_line(line, offset)
        offset += len(line) + 1


def explain_line(line: bytes, offset: int) -> str:
    """Return the text of a well-formed header line, or raise why it is none."""
    for at, byte in enumerate(line):
        if byte < 0x20 or byte == 0x7F:
            raise ControlInHeader(byte=byte, offset=offset + at)
    shown = line[:80].decode("utf-8", "replace")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise HeaderNotUtf8(reason=error.reason, offset=offset + error.start) from None
    if not is_nfc(text):
        raise HeaderNotNfc(line=shown, offset=offset)
    if _LINE.fullmatch(text) is None:
        raise HeaderLine(line=shown, reason=_shape_fault(text), offset=offset)
    return text


def _shape_fault(text: str) -> str:
    name, colon, rest = text.partition(":")
    if not colon:
        return "there is no colon; write `<Name>: <value>`"
    if not name or " " in name:
        return "the name before the colon is empty or has a space"
    if not rest.startswith(" "):
        return "exactly one space follows the colon"
    return "the value is empty or begins with a space"


def explain_plex(head: bytes) -> RecordError:
    """Return why the header part of a Plex was not accepted; offsets count from its start."""
    try:
        seen = 0
        for offset, text in _lines(head):
            name, value = text.split(": ", 1)
            at = offset + len(name.encode()) + 2
            if seen < len(NAMED):
                if name != NAMED[seen]:
                    return PlexHeaders(expected=NAMED[seen], found=name[:80], offset=offset)
                if name == "TAI" and not is_tai(value):
                    return BadTai(value=value[:80], offset=at)
                if name != "TAI" and not is_path(value):
                    return BadPath(name=name, path=value[:80], offset=at)
            elif name in FORBIDDEN:
                return ForbiddenHeader(name=name, offset=offset)
            seen += 1
    except RecordError as error:
        return error
    assert seen < len(NAMED), head
    return PlexHeaders(expected=NAMED[seen], found="the inner record", offset=len(head))


def explain_seal(head: bytes) -> RecordError:
    """Return why the header part of a Seal was not accepted."""
    try:
        lines = list(_lines(head))
    except RecordError as error:
        return error
    for (offset, text), pattern in zip(lines, SEAL_LINES, strict=False):
        if pattern.fullmatch(text) is None:
            return SealHeaders(found=text[:80], offset=offset)
    if len(lines) > len(SEAL_LINES):
        offset, text = lines[len(SEAL_LINES)]
        return SealHeaders(found=text[:80], offset=offset)
    return SealHeaders(found="the inner record", offset=len(head))


def explain_blob(line: bytes, offset: int) -> RecordError:
    """Return why a line is not the one header of a Blob."""
    try:
        return BlobHeader(found=explain_line(line, offset)[:80], offset=offset)
    except RecordError as error:
        return error
