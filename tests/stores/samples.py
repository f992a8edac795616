"""Records for store tests: sample(i) is always the same record, of all types, with links and odd texts."""

from __future__ import annotations

from functools import cache

from lace.record import Plex, Record, Seal, make_blob, make_plex, make_seal
from lace.signing import Secret

SECRET = Secret(bytes(range(1, 33)))
AUX = bytes(range(33, 65))


def plex(number: int, data: bytes | None = None, *, tai: int | None = None) -> Plex:
    """Return a Plex with headers that repeat, link, and only look like links."""
    target = make_blob(b"target %d" % (number % 3)).id
    return make_plex(
        f"group{number % 3}",
        "app",
        f"naïve/{number % 7}",
        f"{1_640_995_200 + (number if tai is None else tai):010}:000000000",
        b"data %d" % number if data is None else data,
        [
            ("Tag", f"it's {number % 5}"),
            ("Tag", f"it's {number % 5}"),
            ("+Link", f"evidence {target}"),
            ("+Link", "no link at all"),
            ("+Odd", target[:-2] + "X9"),
        ][: number % 6],
    )


def seal(number: int) -> Seal:
    """Return a signed Plex."""
    return make_seal(plex(number), SECRET, AUX)


@cache
def sample(number: int) -> Record:
    """Return record `number`: mostly Plex, some Blob, some Seal."""
    if number % 5 == 3:
        return make_blob(b"\x00blob %d\n" % number * (1 + number % 4))
    return seal(number) if number % 11 == 4 else plex(number)


def samples(start: int, stop: int) -> list[Record]:
    """Return a range of records."""
    return [sample(number) for number in range(start, stop)]
