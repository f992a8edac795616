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


ARITY = 8  # 030: the least tuple arity that is supported, and PROFILE section 7: the same for everybody
NO_PREDICATES = frozenset(
    ("not", "true", "IntCompare", "LexCompare", "TextShape", "Cardinality", "Prefix")
)  # PROFILE section 7: "no ordinary predicates, at any arity"


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


class TooManyValues(FactError):
    """A fact over the tuple arity limit."""

    code = "fact/arity"
    text = "{name} with {arity} values cannot be a fact: it has at most {limit}"


class MixedArity(FactError):
    """Rows of different lengths that were given as one relation."""

    code = "fact/mixed-arity"
    text = "rows of {name} have {found} values: all rows of a relation have the same number of them"


class NotAPredicate(FactError):
    """A name that no fact can have."""

    code = "fact/predicate"
    text = "{name!r} is no predicate that facts can have: {reason}"


class TextForFact(FactError):
    """A text where a fact is meant."""

    code = "fact/text"
    text = "{given!r} is text and no fact: a fact is a tuple, predicate first, and several are a list of them"


def check_predicate(name: str, arity: int) -> Predicate:
    """Return the predicate, or raise why there are no facts of it.

    >>> str(check_predicate("Field", 4))
    'Field/4'
    """
    if not isinstance(name, str):
        raise NotAPredicate(name=name, reason="a name is text")
    if name in NO_PREDICATES:
        raise NotAPredicate(name=name, reason="the rule language has another meaning for it")
    if arity > ARITY:
        raise TooManyValues(name=name, arity=arity, limit=ARITY)
    return Predicate(name, arity)


def check_value(value: str, limit: int = VALUE_BYTES) -> str:
    """Return the value, or raise why no fact may hold it.

    020: "An implementation MUST reject a fact value that is not valid UTF-8 NFC or that exceeds the
    configured tuple value limit".

    >>> check_value("caf\\u00e9")
    'café'
    """
    if not isinstance(value, str):
        raise ValueNotText(value=value, reason="it is no text")
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
    """Return the fact, or raise why it is none, or which value it may not hold."""
    if isinstance(fact, str):
        raise TextForFact(given=fact[:40])
    if not fact:
        raise NotAPredicate(name="", reason="a fact begins with its predicate")
    check_predicate(fact[0], len(fact) - 1)
    for value in fact[1:]:
        if not isinstance(value, str) or not value.isascii() or len(value) > limit:
            check_value(value, limit)
    return fact
