"""What one exchange hashed of its send set, as others between the same sources may use it.

A record's claims never change, since its id is its content. So the hashes of one exchange are right for every
other one that says the same of records: they are made once, and held once.

Rules of this file:
1. These are hashes and no decision: nobody says anything because it stands here.
2. Nobody changes what is here, so exchanges that run beside each other may begin with it at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lace.interlace.claims import Claims, Schema
from lace.interlace.partitions import Partitions


@dataclass(frozen=True, slots=True)
class Subject:
    """What makes the same records be advertised alike."""

    source: str
    peer_source: str
    schema: Schema
    formats: frozenset[str]
    summarizes: bool


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Hashed:
    """A send set with its claims, and with the trees over them; see `OwnAdvertisements`."""

    subject: Subject
    ids: frozenset[str]
    claims: Mapping[str, Claims]
    """Of records in the set, and maybe of others that were."""
    tree: Partitions
    mirror: Partitions
    mirror_bytes: int
    unmirrored: Mapping[str, None]

    @property
    def weight(self) -> int:
        """About how much room that takes: one for each record, and one for each of its claims."""
        return len(self.ids) + sum(map(len, self.claims.values()))
