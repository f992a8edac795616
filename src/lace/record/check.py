"""Whether a record is valid: the one place that says so (010, PROFILE section 5).

Rules of this file:
1. A skeleton comes in, a record or a `RecordError` goes out; the end of the record is never in doubt here.
2. Innermost first: hashes, then headers, then the signature. The first fault is the one reported.
"""

from __future__ import annotations

from lace.errors import RecordError, TextError
from lace.record.grammar import (
    ID_END,
    ID_START,
    MARKLINE_BYTES,
    PATH_BYTES,
    PLEX_HEADERS,
    SEAL_HEADERS,
    SealHeaders,
    explain_plex,
    explain_seal,
    fits_path,
    split_headers,
)
from lace.record.limits import LIMITS, RecordLimits
from lace.record.model import Blob, OpenBlob, OpenPlex, OpenSeal, Plex, Record, Seal
from lace.record.plain import DATA_BYTES, check_parts, find_parts, may_be_plain
from lace.record.scan import Layers, Scanner, Truncated, read_skeleton
from lace.signing import verify
from lace.text import RecordId, Verifier, decode, digest, encode, id_payload, is_nfc


class HashMismatch(RecordError):
    """A markline and its payload disagree."""

    code = "record/hash-mismatch"
    text = "the markline names {named}, the payload hashes to {found}"


class BadSignature(RecordError):
    """A signature that is not the signer's over this Plex."""

    code = "record/signature"
    text = "the signature is not that of {signer} over {plex}"


class TrailingBytes(RecordError):
    """Bytes after the last data byte."""

    code = "record/trailing"
    text = "{count} bytes follow the record; it ends with its last data byte"


def parse_record(raw: bytes, limits: RecordLimits = LIMITS, *, check_signature: bool = True) -> Record:
    """Return the one record that these bytes are, or raise why they are none.

    >>> parse_record("🖧: B.svyLzSM7ffc91i~XDbkMnuOsdjsw_6GrXpTSckqHlpO.H3\\nData-Length: 0\\n\\n".encode())
    <Blob B.svyLzSM7ffc91i~XDbkMnuOsdjsw_6GrXpTSckqHlpO.H3, 71 bytes>
    """
    if type(raw) is not bytes:
        raw = bytes(raw)  # a buffer can change when the record must not
    size = len(raw)
    if size <= DATA_BYTES and (limits is LIMITS or may_be_plain(limits)):
        found = find_parts(raw.decode("latin-1"), 0)
        if found is not None and found[2] == size:
            plain = check_parts(raw, found[0], check_signature=check_signature)
            if plain is not None:
                return plain
    layers, data, end = read_skeleton(raw, 0, size, limits) or _scan(raw, size, limits)
    if end != size:
        if end < size:
            raise TrailingBytes(count=size - end, offset=end)
        raise Truncated(reason=f"its data goes on to byte {end}", offset=size)
    return check_record(raw, layers, data, check_signature=check_signature)


def _scan(raw: bytes, size: int, limits: RecordLimits) -> tuple[Layers, int, int]:
    """Read line by line what could not be read at a stroke; that is, find out what is wrong with it."""
    scanner = Scanner(limits)
    if not scanner.advance(raw, size):
        raise Truncated(reason=scanner.shortfall(), offset=size)
    return scanner.layers, scanner.data, scanner.end


def reopen_record(raw: bytes) -> Record:
    """Make a record again from the bytes of one, as a pickle does: its hashes are checked, not its signature.

    Whoever made the pickle has verified it, or chose not to; the same holds for the limits.
    """
    size = len(raw)
    return parse_record(raw, RecordLimits(size, size, size), check_signature=False)


def check_record(
    raw: bytes, layers: Layers, data: int, start: int = 0, *, check_signature: bool = True
) -> Record:
    """Check what the skeleton leaves open; `raw` is exactly the record, which was found at `start`."""
    size = len(raw)
    view = memoryview(raw)
    mark = layers[-1][1] - start
    blob = OpenBlob(_hash_id(raw, view, mark), raw, mark, size, data - start)
    if len(layers) == 1:
        return blob
    head_end, mark = mark, layers[-2][1] - start
    plex = _check_plex(raw, mark, head_end, _hash_id(raw, view, mark), blob)
    if len(layers) == 2:
        return plex
    return _check_seal(raw, mark, _hash_id(raw, view, 0), plex, check_signature)


def _hash_id(raw: bytes, view: memoryview, mark: int) -> RecordId:
    named = raw[mark + ID_START : mark + ID_END].decode("ascii")
    # Encoding what was found, not decoding what was named: an id with loose fill bits cannot match.
    found = encode(digest(view[mark + MARKLINE_BYTES :]))
    if named[2:-3] != found:
        raise HashMismatch(named=named, found=f"{named[:2]}{found}{named[-3:]}", offset=mark)
    return named  # type: ignore[return-value]  # calling RecordId costs more than cutting it out


def _check_plex(raw: bytes, mark: int, head_end: int, id: RecordId, blob: Blob) -> Plex:
    head_start = mark + MARKLINE_BYTES
    head = raw[head_start:head_end]
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError:
        raise moved(explain_plex(head), head_start) from None
    found = PLEX_HEADERS.fullmatch(text)
    # Composed text stays composed when it is cut, and LF and `: ` compose with nothing: one test is enough.
    if found is not None and is_nfc(text):
        group, app, name, tai, rest = found.groups()
        # No character takes more than four bytes: together so short, each of them fits.
        short = len(group) + len(app) + len(name) <= PATH_BYTES // 4
        if short or (fits_path(group) and fits_path(app) and fits_path(name)):
            extra = split_headers(rest) if rest else ()
            # The pattern has checked the time: making a Tai of it would check it again.
            return OpenPlex(id, raw, mark, len(raw), group, app, name, tai, extra, blob)  # type: ignore[arg-type]
    raise moved(explain_plex(head), head_start)


def _check_seal(raw: bytes, plex_mark: int, id: RecordId, plex: Plex, check_signature: bool) -> Seal:
    head = raw[MARKLINE_BYTES:plex_mark]
    found = SEAL_HEADERS.fullmatch(head.decode("utf-8", "replace"))
    if found is None:
        raise moved(explain_seal(head), MARKLINE_BYTES)
    signer, signature = Verifier(found[1]), found[2]
    try:
        key, signed = id_payload(signer), decode(signature)
    except TextError as error:
        raise SealHeaders(found=f"{signer}, {signature}: {error}", offset=MARKLINE_BYTES) from None
    if check_signature and not verify(id_payload(plex.id), key, signed):
        raise BadSignature(signer=signer, plex=plex.id, offset=MARKLINE_BYTES)
    return OpenSeal(id, raw, 0, len(raw), signer, signature, plex)


def moved(error: RecordError, distance: int) -> RecordError:
    """Return the error with its offset counted from so many bytes further ahead."""
    return type(error)(**{**error.fields, "offset": error.fields["offset"] + distance})
