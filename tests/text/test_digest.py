"""BLAKE3 against the published test vectors of its authors, in the two modes that Lace uses."""

from __future__ import annotations

import pytest

from lace.text import DIGEST_BYTES, derive, digest, domain_digest

# test_vectors.json of BLAKE3: input bytes count 0, 1, ..., 250, 0, 1, ...; the first 32 output bytes.
CONTEXT = "BLAKE3 2019-12-27 16:29:52 test vectors context"
PUBLISHED = [
    (
        0,
        "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
        "2cc39783c223154fea8dfb7c1b1660f2ac2dcbd1c1de8277b0b0dd39b7e50d7d",
    ),
    (
        1,
        "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
        "b3e2e340a117a499c6cf2398a19ee0d29cca2bb7404c73063382693bf66cb06c",
    ),
    (
        1024,
        "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
        "7356cd7720d5b66b6d0697eb3177d9f8d73a4a5c5e968896eb6a689684302706",
    ),
]


def counted(size: int) -> bytes:
    return bytes(i % 251 for i in range(size))


@pytest.mark.parametrize(("size", "hashed", "derived"), PUBLISHED)
def test_published_vectors_hold(size: int, hashed: str, derived: str) -> None:
    assert digest(counted(size)).hex() == hashed
    assert derive(CONTEXT, counted(size)).hex() == derived


def test_a_domain_is_written_before_the_bytes() -> None:
    assert domain_digest("lace-rule/v1", b"body") == digest(b"lace-rule/v1body")
    assert domain_digest("🖧", b"") == digest("🖧".encode())


def test_deriving_depends_on_the_context_and_is_no_plain_hash() -> None:
    results = {
        derive("lace-🖧/aux", b"x"),
        derive("lace-🖧/nonce", b"x"),
        digest(b"x"),
        domain_digest("a", b"x"),
    }
    assert len(results) == 4
    assert {len(result) for result in results} == {DIGEST_BYTES}


def test_a_view_of_bytes_hashes_like_the_bytes() -> None:
    assert digest(memoryview(b"..data..")[2:6]) == digest(b"data")
