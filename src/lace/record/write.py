"""Canonical bytes: the one writer, and builders for applications (010).

Rules of this file:
1. A builder writes, then parses what it wrote: what it returns passed the same checks as anything received.
2. Time, dice and secrets are arguments.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from lace.record.check import parse_record
from lace.record.grammar import MARK, HeaderLine
from lace.record.limits import LIMITS, RecordLimits
from lace.record.model import Blob, Plex, Seal
from lace.record.scan import DataTooLong
from lace.signing import Secret, sign
from lace.text import Tai, digest, encode, id_payload, write_record_id

R = TypeVar("R", Blob, Plex, Seal)


def _stored(letter: str, payload: bytes) -> bytes:
    return MARK + write_record_id(letter, digest(payload)).encode() + b"\n" + payload


def _header(name: str, value: str) -> bytes:
    # An LF would start another line, a colon in the name another value: say so where the pair is still whole.
    if "\n" in name or "\n" in value:
        raise HeaderLine(line=f"{name}: {value}"[:80], reason="a header is one line, without LF", offset=0)
    if ":" in name:
        raise HeaderLine(line=f"{name}: {value}"[:80], reason="the name of a header has no colon", offset=0)
    return f"{name}: {value}\n".encode("utf-8", "surrogatepass")


def make_blob(data: bytes, limits: RecordLimits = LIMITS) -> Blob:
    """Return data as a Blob record.

    >>> make_blob(b"hello world").id
    'B.EA7_ehEAY8WYL2is4DZ9idBDQctY2cOfABSz06ARHQx.H3'
    """
    # Before a copy is made and hashed.
    if len(data) > limits.data_bytes:
        raise DataTooLong(length=len(data), limit=limits.data_bytes, offset=0)
    return _checked(Blob, _stored("B", b"Data-Length: %d\n\n%b" % (len(data), data)), limits)


def make_plex(
    group: str,
    app: str,
    name: str,
    tai: Tai | str,
    data: bytes | Blob,
    extra: Iterable[tuple[str, str]] = (),
    limits: RecordLimits = LIMITS,
) -> Plex:
    """Return data with a place, a time and headers as a Plex record.

    >>> make_plex("u", "ding", "links/1", "1640995200:000000000", b"hi", [("Tag", "one")]).extra
    (('Tag', 'one'),)
    """
    blob = data if isinstance(data, Blob) else make_blob(data, limits)
    headers = (("Group", group), ("App", app), ("Name", name), ("TAI", tai), *extra)
    payload = b"".join([_header(key, value) for key, value in headers]) + blob.raw
    return _checked(Plex, _stored("P", payload), limits)


def make_seal(plex: Plex, secret: Secret, aux: bytes, limits: RecordLimits = LIMITS) -> Seal:
    """Sign a Plex; `aux` is 32 fresh random bytes."""
    signature = sign(id_payload(plex.id), secret, aux)
    payload = _header("Signed-By", secret.verifier) + _header("Signature", encode(signature)) + plex.raw
    return _checked(Seal, _stored("S", payload), limits)


def _checked(kind: type[R], raw: bytes, limits: RecordLimits) -> R:
    record = parse_record(raw, limits, check_signature=False)  # `sign` has verified its own signature
    assert isinstance(record, kind)
    return record
