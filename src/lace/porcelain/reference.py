"""How people name a record: its id, the beginning of one, or a coordinate `//group//app//name`.

Rules of this file:
1. 020: "coordinate text is syntax over Group, App, and Name fields": it names a place, and stands for the
   newest record there.
2. The beginning of an id names a record only where no other begins the same way.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeAlias

from lace.errors import InputError, Missing
from lace.record import is_path
from lace.stores import Store
from lace.text import RecordId, is_nfc, parse_record_id

# Git's least as well: fewer characters are sooner a typing error than a name.
LEAST_CHARS: Final = 4
CANDIDATES_SHOWN: Final = 10

_SHORT = re.compile(rf"(?:[BPS]\.)?([0-9A-Z_a-z~]{{{LEAST_CHARS},43}})(?:\.H?3?)?", re.ASCII)


class NotAReference(InputError):
    """Text that cannot name a record."""

    code = "reference/shape"
    text = (
        "{text!r} names no record: give an id (P.….H3), its beginning with {least} characters or more "
        "behind the P., or //group//app//name"
    )


class BadCoordinate(InputError):
    """Text that begins as a coordinate and is none."""

    code = "reference/coordinate"
    text = "{text!r} is no coordinate: write //group//app//name, each a path such as u or links/1"


class AmbiguousId(InputError):
    """The beginning of more than one id."""

    code = "reference/ambiguous"
    text = "{text} could be any of {candidates}; give more characters"


class NoSuchId(Missing):
    """The beginning of no id here."""

    code = "reference/no-id"
    text = "no record here begins with {text}"


class NothingThere(Missing):
    """A coordinate without records."""

    code = "reference/nothing-there"
    text = "there is no record at {text}"


class Coordinate(NamedTuple):
    """A place: group, app and name.

    >>> str(Coordinate("u", "ding", "links/1"))
    '//u//ding//links/1'
    """

    group: str
    app: str
    name: str

    def __str__(self) -> str:
        return f"//{self.group}//{self.app}//{self.name}"


class ShortId(str):
    """The beginning of an id, with or without its type letter."""

    __slots__ = ()


Reference: TypeAlias = RecordId | ShortId | Coordinate


def parse_coordinate(text: str) -> Coordinate:
    """Read a coordinate; paths hold no two slashes in a row, so it splits in one way only.

    >>> parse_coordinate("//u//ding//links/1").name
    'links/1'
    """
    before, *parts = text.split("//")
    if before or len(parts) != 3 or not all(is_path(part) and is_nfc(part) for part in parts):
        raise BadCoordinate(text=text[:200])
    return Coordinate(*parts)


def parse_reference(text: str) -> Reference:
    """Read whatever may name a record.

    >>> parse_reference("//u//ding//links/1"), parse_reference("P.Z4jI")
    (Coordinate(group='u', app='ding', name='links/1'), 'P.Z4jI')
    """
    if text.startswith("//"):
        return parse_coordinate(text)
    if _SHORT.fullmatch(text) is None:
        # A secret that was pasted in place of an id must not be echoed.
        raise NotAReference(text="&.…" if "&" in text else text[:64], least=LEAST_CHARS)
    return parse_record_id(text) if len(text) == 48 else ShortId(text)


def find_record(store: Store, text: str) -> RecordId:
    """Return the id of the one record that text names; an id in full need not be stored."""
    reference = parse_reference(text)
    if isinstance(reference, Coordinate):
        newest = store.newest(*reference)
        if newest is None:
            raise NothingThere(text=str(reference))
        return newest
    if isinstance(reference, ShortId):
        return choose(reference, store.find(reference, CANDIDATES_SHOWN + 1))
    return reference


def choose(text: ShortId, found: list[RecordId]) -> RecordId:
    """Return the only id that was found."""
    if not found:
        raise NoSuchId(text=text)
    if len(found) > 1:
        shown = ", ".join(found[:CANDIDATES_SHOWN])
        more = " or another" if len(found) > CANDIDATES_SHOWN else ""
        raise AmbiguousId(text=text, candidates=shown + more)
    return found[0]
