"""What the peer advertises and the store has not got, from look to look (050, Evaluate request set).

Rules of this file:
1. While a store only gains records, only what was missing at the last look, or was advertised since, can be
   missing now. A store that lost something, or cannot say, is asked about everything that is advertised.
2. Nothing is decided here about what may be requested: `request.py` asks `MayRequest`.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Set as AbstractSet
from itertools import chain, filterfalse

from lace.interlace.peer import PeerAdvertisements
from lace.policy import among, came_since


class Lacking:
    """Which advertised records a store lacks."""

    def __init__(self) -> None:
        self._have: AbstractSet[str] | None = None
        """What was in the store at the last look."""
        self._missing: Collection[str] = ()

    def look(self, peer: PeerAdvertisements, have: AbstractSet[str]) -> Collection[str]:
        """Return which records that the peer advertises are not among those in the store."""
        advertised: Collection[str] = peer.claims
        news, came = peer.take_news(), came_since(have, self._have)
        if news is not None and came is not None:
            if not news and not came:
                return self._missing
            advertised = self._missing
            if news:
                candidates = dict.fromkeys(chain(self._missing, news))
                advertised = [*filter(peer.claims.__contains__, candidates)]
        there = among(have, advertised) if have else ()
        self._have = have
        self._missing = ()
        if len(there) < len(advertised):
            known = set(there)
            self._missing = [*filterfalse(known.__contains__, advertised)]
        return self._missing
