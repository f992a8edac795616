"""Advertisement records: what one side says about one record, as text with a digest (050).

    Advertised('P.…','Opq_V')
    AdvertisedField('P.…','Opq_V','App','0','ding')
    AdvertisedField('P.…','Opq_V','Group','0','u')

Rules of this file:
1. A claim is no fact about a record: it is never made into a `Field`, and nothing here makes a `Have`.
2. The same record gives the same text on both sides but for the source. A claim whose line would be too
   long is left out before anything is hashed, also when one side works out what the other will say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from lace.facts import Fact, write_constant
from lace.interlace.merkle import make_entries
from lace.text import digest, digest_all

Claim: TypeAlias = tuple[str, str, str]
"""Name, index, value: the model of 020's `Field`, claimed and not validated."""
Claims: TypeAlias = tuple[Claim, ...]
"""Sorted by name, then by index as a number."""
Schema: TypeAlias = frozenset[str] | None
"""The field names that are advertised; None is all of them."""

ADVERTISED: Final = "Advertised"
ADVERTISED_FIELD: Final = "AdvertisedField"
LINE_BYTES: Final = 1024
"""060: "Max fact line length | 1024 bytes excluding LF"."""
_RECORD_DOMAIN: Final = b"lace-advertisement-record/v1"


def claim_order(claim: Claim) -> tuple[str, int]:
    """Return what claims are sorted by; code points sort like their UTF-8 bytes."""
    return claim[0], int(claim[1])


def claim_line(start: str, claim: Claim) -> str:
    """Write a claim; `start` is all of its line up to the name."""
    name, index, value = claim
    return f"{start},{write_constant(name)},'{index}',{write_constant(value)})"


def _start(record: str, source: str) -> str:
    return f"{ADVERTISED_FIELD}('{record}','{source}'"


def select_claims(fields: Iterable[Claim], schema: Schema) -> Claims:
    """Return the fields of a schema, in the order of claims.

    >>> select_claims([("Type", "0", "P"), ("App", "0", "ding")], frozenset({"App"}))
    (('App', '0', 'ding'),)
    """
    if schema is not None and not schema:
        return ()
    return tuple(sorted([e for e in fields if schema is None or e[0] in schema], key=claim_order))


def fit_claims(record: str, source: str, claims: Claims) -> Claims:
    """Leave out what a source cannot say in one line.

    PROFILE 9: "A claim whose line would pass 1024 bytes is left out".
    """
    if not claims:
        return claims
    start = _start(record, source)
    # No character takes more than four bytes, and an escape makes two of one: what is so short, fits.
    chars = 0
    for name, index, value in claims:
        chars += len(name) + len(index) + len(value)
    if 4 * chars <= LINE_BYTES - len(start.encode()) - 20:
        return claims
    return tuple(each for each in claims if len(claim_line(start, each).encode()) <= LINE_BYTES)


def make_claims(record: str, source: str, fields: Iterable[Claim], schema: Schema) -> Claims:
    """Return what a source claims of a record whose validated fields are given.

    >>> make_claims("P.x.H3", "Opq_a", [("Type", "0", "P"), ("App", "0", "ding")], frozenset({"App"}))
    (('App', '0', 'ding'),)
    """
    return fit_claims(record, source, select_claims(fields, schema))


def write_advertisement(record: str, source: str, claims: Claims) -> str:
    r"""Write the canonical advertisement record; every line ends with LF.

    >>> write_advertisement("P.x.H3", "Opq_a", (("App", "0", "ding"),))
    "Advertised('P.x.H3','Opq_a')\nAdvertisedField('P.x.H3','Opq_a','App','0','ding')\n"
    """
    first = f"{ADVERTISED}('{record}','{source}')\n"
    if not claims:
        return first
    start = _start(record, source)
    return first + "".join([f"{claim_line(start, claim)}\n" for claim in claims])


def write_advertisements(claims: Mapping[str, Claims], source: str) -> list[str]:
    """Write many canonical advertisement records, in the order in which they are given."""
    if not any(claims.values()):
        return [f"{ADVERTISED}('{record}','{source}')\n" for record in claims]
    return [write_advertisement(record, source, claimed) for record, claimed in claims.items()]


def advertisements_size(claims: Mapping[str, Claims], source: str) -> int:
    """Return how many bytes many canonical advertisement records take.

    >>> advertisements_size({"P.x.H3": ()}, "Opq_a") == len(write_advertisement("P.x.H3", "Opq_a", ()))
    True
    """
    if any(claims.values()):
        return len("".join(write_advertisements(claims, source)).encode())
    return sum(map(len, claims)) + len(claims) * len(write_advertisement("", source, ()))


def hash_advertisements(claims: Mapping[str, Claims], source: str) -> dict[str, bytes]:
    """Return the Merkle entries of many canonical advertisement records, by record.

    >>> from lace.interlace.merkle import make_entry
    >>> said = {"P.x.H3": (), "P.y.H3": (("App", "0", "ding"),)}
    >>> texts = write_advertisements(said, "Opq_a")
    >>> [*hash_advertisements(said, "Opq_a").values()] == [*map(make_entry, map(advertisement_digest, texts))]
    True
    """
    if any(claims.values()):
        hashed = [_RECORD_DOMAIN + text.encode() for text in write_advertisements(claims, source)]
    else:
        # One line each, and around the id stands always the same; no line holds a NUL.
        start, end = (_RECORD_DOMAIN.decode() + write_advertisement("\0", source, ())).split("\0")
        together = start + f"{end}\0{start}".join(claims) + end
        hashed = together.encode().split(b"\0") if claims else []
    return dict(zip(claims, make_entries(digest_all(hashed)), strict=True))


def advertisement_digest(text: str) -> bytes:
    """Hash a canonical advertisement record."""
    return digest(_RECORD_DOMAIN + text.encode())


def advertisement_facts(record: str, source: str, claims: Claims) -> list[Fact]:
    """Return the facts of an advertisement record, in its order."""
    return [
        (ADVERTISED, record, source),
        *[(ADVERTISED_FIELD, record, source, name, index, value) for name, index, value in claims],
    ]
