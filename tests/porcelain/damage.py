"""A stream of records with ten kinds of damage between good ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from lace.porcelain.generate import Shape, generate
from lace.record import MARK, MARKLINE_BYTES, Plex, Record, Seal
from lace.text import digest, write_record_id

_SEALED = Shape(blobs=0, sealed=900, linked=0)


class Damage(NamedTuple):
    """One kind of damage, and the code of the error that tells of it."""

    code: str
    do: Callable[[Plex, Seal], bytes]


def _flipped(plex: Plex, seal: Seal) -> bytes:
    return plex.raw[:-1] + bytes([plex.raw[-1] ^ 1])


def _forged(plex: Plex, seal: Seal) -> bytes:
    """Change the signature and hash the Seal again: only the signature is wrong."""
    other = "0" if seal.signature[0] != "0" else "1"
    return _rehashed(seal, seal.signature.encode(), (other + seal.signature[1:]).encode())


def _rehashed(record: Plex | Seal, old: bytes, new: bytes) -> bytes:
    """Change a header and hash the record again, so that nothing but the header is wrong."""
    payload = record.raw[MARKLINE_BYTES:].replace(old, new, 1)
    return MARK + write_record_id(record.type, digest(payload)).encode() + b"\n" + payload


DAMAGES = (
    Damage("record/hash-mismatch", _flipped),
    Damage("record/hash-mismatch", lambda plex, seal: plex.raw[:-5]),
    Damage("record/markline", lambda plex, seal: b"noise, and no record at all\n"),
    Damage("record/signature", _forged),
    Damage("record/path", lambda plex, seal: _rehashed(plex, b"\nApp: ", b"\nApp: ../")),
    Damage("record/tai", lambda plex, seal: _rehashed(plex, b"\nTAI: ", b"\nTAI: 9")),
    Damage("record/plex-headers", lambda plex, seal: _rehashed(plex, b"\nApp: ", b"\nApplication: ")),
    Damage("record/control", lambda plex, seal: _rehashed(plex, b"\nTAI: ", b"\nTAI: \r")),
    Damage(
        "record/data-too-long", lambda plex, seal: plex.raw.replace(b"gth: ", b"gth: 1000000000000000000")
    ),
)
AT_THE_END = Damage("record/truncated", lambda plex, seal: plex.raw[:-1])
CODES = [damage.code for damage in (*DAMAGES, AT_THE_END)]


def damaged_stream(count: int) -> tuple[bytes, list[Record]]:
    """Return a stream with each damage once, spread over good records, and the good records."""
    good = list(generate(77, count))
    spare = list(generate(78, 40, shape=_SEALED))
    plex = next(record for record in spare if isinstance(record, Plex))
    seal = next(record for record in spare if isinstance(record, Seal))
    pieces = [record.raw for record in good]
    step = count // len(DAMAGES)
    for number, damage in enumerate(DAMAGES):
        at = number * step + step // 2
        pieces[at] = damage.do(plex, seal) + pieces[at]
    return b"".join([*pieces, AT_THE_END.do(plex, seal)]), good
