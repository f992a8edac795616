"""BLAKE3-256, the only hash (006, PROFILE sections 2 and 3). Nothing else calls the hash library."""

from __future__ import annotations

from collections.abc import Iterable

from blake3 import blake3

DIGEST_BYTES = 32


def digest(data: bytes | memoryview) -> bytes:
    """Return the 32-byte BLAKE3 hash of data.

    >>> digest(b"").hex()[:16]
    'af1349b9f5f9a1a6'
    """
    return blake3(data).digest()


def hasher() -> blake3:
    """Return a hash of nothing yet, for data that comes piece by piece; `digest` may be asked in between.

    >>> pieces = hasher().update(b"o").update(b"ne")
    >>> pieces.digest() == digest(b"one")
    True
    """
    return blake3()


def digest_all(pieces: Iterable[bytes | memoryview]) -> list[bytes]:
    """Return the hash of each piece, for whoever has thousands of small ones.

    >>> digest_all([b"", b"x"]) == [digest(b""), digest(b"x")]
    True
    """
    return [*map(blake3.digest, map(blake3, pieces))]


def domain_digest(domain: str, data: bytes) -> bytes:
    """Hash a domain string and bytes, simply concatenated (PROFILE section 2)."""
    return blake3(domain.encode() + data).digest()


def derive(context: str, data: bytes) -> bytes:
    """Return 32 bytes of BLAKE3 in derive-key mode (PROFILE section 3)."""
    return blake3(data, derive_key_context=context).digest()
