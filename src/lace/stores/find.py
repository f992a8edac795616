"""Short ids: the beginning of a record id, with or without its type letter."""

from __future__ import annotations

from lace.text import RECORD_TYPES


def id_prefixes(short: str) -> tuple[str, ...]:
    """Return the beginnings that a short id may stand for.

    >>> id_prefixes("P.svy"), id_prefixes("svy")
    (('P.svy',), ('B.svy', 'P.svy', 'S.svy'))
    """
    if short[:1] in RECORD_TYPES and short[1:2] == ".":
        return (short,)
    # No dot is in the B64A alphabet: what comes before one can only be the letter.
    return tuple(f"{letter}.{short}" for letter in RECORD_TYPES)
