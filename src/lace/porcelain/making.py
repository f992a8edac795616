"""Makes records as people ask for them: a Blob, with a place a Plex, signed a Seal.

Rules of this file:
1. The clock and the dice of a new record are read here and nowhere below: its time, and the randomness of its
   signature.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from typing import Final, TypedDict

from lace.errors import InputError
from lace.porcelain.arguments import (
    check_data,
    check_many,
    check_options,
    check_pairs,
    check_secret,
    check_text,
    read_link,
)
from lace.porcelain.clock import now_tai
from lace.porcelain.times import parse_time
from lace.record import Record, make_blob, make_plex, make_seal
from lace.signing import AUX_BYTES, SECRET_BYTES, Secret
from lace.text import RecordId, is_foreign_record_id

LINK_HEADER: Final = "+Link"
PLACE: Final = ("group", "app", "name")


class HalfAPlace(InputError):
    """A record with a part of a coordinate."""

    code = "lace/place"
    text = "group, app and name go together: {missing} is missing; leave all three out for a bare Blob"


class BlobStaysBare(InputError):
    """Headers or a signature for a record without a place."""

    code = "lace/bare-blob"
    text = "a bare Blob has no {what}: give group, app and name as well"


class Details(TypedDict, total=False):
    """What a record with a place says besides."""

    tai: str | None
    """Its time: TAI text, or a time that people type; None is now."""
    extra: Iterable[tuple[str, str]]
    """Other headers: pairs of name and value."""
    links: Iterable[str | tuple[str, str]]
    """What it links to: a target, or (data, target)."""


def new_secret() -> Secret:
    """Make a signing secret out of fresh randomness."""
    return Secret(secrets.token_bytes(SECRET_BYTES))


def make_record(
    data: bytes,
    place: tuple[str | None, str | None, str | None],
    sign: Secret | None,
    details: Details,
    find: Callable[[str], RecordId],
) -> Record:
    """Make a record with this data; `find` looks up what its links name."""
    check_options(details, {*Details.__annotations__, *PLACE, "sign"})
    check_data(data)
    check_secret(sign)
    links, tai = details.get("links", ()), details.get("tai")
    check_many("links", links, "a list of targets, or of pairs (data, target)")
    headers = [
        *check_pairs(details.get("extra", ())),
        *((LINK_HEADER, _link(link, find)) for link in links),
    ]
    given = {part: text for part, text in zip(PLACE, place, strict=True) if text is not None}
    if not given:
        for what, bare in (("headers", headers), ("time", tai), ("signature", sign)):
            if bare:
                raise BlobStaysBare(what=what)
        return make_blob(data)
    if missing := [part for part in PLACE if part not in given]:
        raise HalfAPlace(missing=missing[0])
    for part, text in given.items():
        check_text(part, text)
    time = now_tai() if tai is None else parse_time(tai, now_tai())
    plex = make_plex(given["group"], given["app"], given["name"], time, data, headers)
    return plex if sign is None else make_seal(plex, sign, secrets.token_bytes(AUX_BYTES))


def _link(link: str | tuple[str, str], find: Callable[[str], RecordId]) -> str:
    data, target = read_link(link)
    # 020: unsupported record hash formats may appear in record-link targets.
    named = target if is_foreign_record_id(target) else find(target)
    return f"{data} {named}" if data else named
