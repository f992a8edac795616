"""Facts and the values they may hold (020).

A fact is a flat tuple of text, predicate name first: ("Field", P, "Group", "0", "u").
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from lace.errors import FactError
from lace.text import is_nfc

Fact: TypeAlias = tuple[str, ...]
Values: TypeAlias = tuple[str, ...]

VALUE_BYTES = 1024  # 030: the least that an evaluating profile supports, and what this one does


class Predicate(NamedTuple):
    """A relation; name and arity together name it (PROFILE section 7)."""

    name: str
    arity: int

    def __str__(self) -> str:
        return f"{self.name}/{self.arity}"


HAVE = Predicate("Have", 1)
FIELD = Predicate("Field", 4)
RECORD_LINK = Predicate("RecordLink", 5)
BLOB_HASH = Predicate("BlobHash", 2)
PLEX_HASH = Predicate("PlexHash", 2)
RECORD_PREDICATES = (HAVE, FIELD, RECORD_LINK, BLOB_HASH, PLEX_HASH)


class ValueNotText(FactError):
    """A fact value that is not UTF-8 NFC text."""

    code = "fact/value-text"
    text = "{value!r} cannot be a fact value: {reason}"


class ValueTooLong(FactError):
    """A fact value over the tuple value limit."""

    code = "fact/value-length"
    text = "a fact value of {length} bytes is over the limit of {limit}: {start!r}…"


def check_value(value: str, limit: int = VALUE_BYTES) -> str:
    """Return the value, or raise why no fact may hold it.

    020: "An implementation MUST reject a fact value that is not valid UTF-8 NFC or that exceeds the
    configured tuple value limit".

    >>> check_value("caf\\u00e9")
    'café'
    """
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError:
        raise ValueNotText(value=value[:80], reason="it is not valid UTF-8") from None
    if size > limit:
        raise ValueTooLong(length=size, limit=limit, start=value[:40])
    if not is_nfc(value):
        raise ValueNotText(value=value[:80], reason="it is not in Unicode normal form C")
    return value


def check_fact(fact: Fact, limit: int = VALUE_BYTES) -> Fact:
    """Return the fact, or raise which value it may not hold."""
    for value in fact[1:]:
        if not value.isascii() or len(value) > limit:
            check_value(value, limit)
    return fact
