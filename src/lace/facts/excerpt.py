"""Some of the record facts: what one policy reads is a small part of what records say (020, Record facts)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lace.facts.fact import BLOB_HASH, FIELD, PLEX_HASH, RECORD_LINK, Fact, Predicate


@dataclass(frozen=True, slots=True)
class Excerpt:
    """`Have`, some of the other relations, and `Field` under some names.

    >>> excerpt = Excerpt(fields=frozenset({"Group"}))
    >>> excerpt.holds(("Field", "P", "Group", "0", "u")), excerpt.holds(("Field", "P", "App", "0", "x"))
    (True, False)
    """

    relations: frozenset[Predicate] = frozenset()
    """Those of `RecordLink`, `BlobHash` and `PlexHash` that are in it."""
    fields: frozenset[str] | None = frozenset()
    """The names of `Field`; None is all of them."""

    def holds(self, fact: Fact) -> bool:
        """Tell whether a record fact is in it."""
        if fact[0] == FIELD.name:
            return self.holds_field(fact[2])
        return fact[0] == "Have" or (fact[0], len(fact) - 1) in self.relations

    def holds_field(self, name: str) -> bool:
        """Tell whether the fields of a name are in it."""
        return self.fields is None or name in self.fields

    def covers(self, other: Excerpt) -> bool:
        """Tell whether all of another excerpt is in it.

        >>> ALL_FACTS.covers(Excerpt()), Excerpt().covers(ALL_FACTS)
        (True, False)
        """
        if self.fields is not None and (other.fields is None or not self.fields >= other.fields):
            return False
        return self.relations >= other.relations


ONLY_HAVE: Final = Excerpt()
"""What the ids of a store say alone."""
ALL_FACTS: Final = Excerpt(frozenset({RECORD_LINK, BLOB_HASH, PLEX_HASH}), None)
