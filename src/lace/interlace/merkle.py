"""Merkle roots over sorted advertisement record digests, kept while digests come and go (050, Reconcile).

    leaf  = BLAKE3("lace-advertisement-leaf/v1" || record-digest)
    node  = BLAKE3("lace-advertisement-node/v1" || left || right)
    empty = BLAKE3("lace-advertisement-empty/v1")

A record stands in the sets of all its prefixes, and its leaf is the same in each. So what is kept of a record
is an *entry*, its digest and then its leaf: entries sort like their digests, and no leaf is hashed twice.

The tree is padded with `empty` leaves to a power of two. Subtrees of padding alone are the same for every
tree of a height, so they are known and never stored.

An entry that comes in shifts all that sort behind it, and with them every pair: nothing behind it can be
kept. What sorts before it stays; so a change costs as many hashes as entries follow it, and nothing where the
root was not asked for in between.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

from lace.text import DIGEST_BYTES, digest, digest_all, domain_digest

LEAF: Final = b"lace-advertisement-leaf/v1"
NODE: Final = b"lace-advertisement-node/v1"
EMPTY: Final = domain_digest("lace-advertisement-empty/v1", b"")

_FEW: Final = 32
"""So many changes are put in their places one by one; more are sorted in."""
_LARGE: Final = 4096
"""Above this size the tree is kept; below, hashing it again is as quick as looking after it."""

_paddings = [EMPTY]


def _padding(level: int) -> bytes:
    while len(_paddings) <= level:
        _paddings.append(digest(NODE + _paddings[-1] * 2))
    return _paddings[level]


def _pair_up(below: Sequence[bytes], level: int, start: int = 0) -> list[bytes]:
    """Return the nodes above `below[start:]`, where `start` is even and `below` is of this level."""
    pairs = zip(below[start::2], below[start + 1 :: 2], strict=False)
    above = digest_all([NODE + left + right for left, right in pairs])
    if len(below) % 2:
        above.append(digest(NODE + below[-1] + _padding(level)))
    return above


def make_entry(record_digest: bytes) -> bytes:
    """Return a record digest with its leaf."""
    return record_digest + digest(LEAF + record_digest)


def make_entries(record_digests: Sequence[bytes]) -> list[bytes]:
    """Return many record digests with their leaves."""
    leaves = digest_all([LEAF + each for each in record_digests])
    return [each + leaf for each, leaf in zip(record_digests, leaves, strict=True)]


def merkle_root(entries: Iterable[bytes]) -> bytes:
    """Return the root over entries given in any order.

    >>> merkle_root([]) == EMPTY
    True
    """
    nodes = [entry[DIGEST_BYTES:] for entry in sorted(entries)]
    level = 0
    while len(nodes) > 1:
        nodes = _pair_up(nodes, level)
        level += 1
    return nodes[0] if nodes else EMPTY


class SortedEntries:
    """A set of entries with its root at hand."""

    __slots__ = ("_clean", "_entries", "_levels", "_root")

    def __init__(self, entries: Iterable[bytes] = ()) -> None:
        self._entries = sorted(entries)
        self._levels: list[list[bytes]] = []
        """The leaves and the nodes above them, from below; none while the set is small."""
        self._clean = 0
        """The leaves of so many entries, from the first, and the nodes above them are in `_levels`."""
        self._root: bytes | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def change(self, added: Sequence[bytes], removed: Sequence[bytes]) -> None:
        """Take entries out and put others in; each removed one is there, and no added one is."""
        if not added and not removed:
            return
        self._root = None
        if len(added) + len(removed) <= _FEW:
            for each in removed:
                at = bisect_left(self._entries, each)
                del self._entries[at]
                self._clean = min(self._clean, at)
            for each in added:
                at = bisect_left(self._entries, each)
                self._entries.insert(at, each)
                self._clean = min(self._clean, at)
            return
        gone = set(removed)
        if gone:
            self._entries = [each for each in self._entries if each not in gone]
        self._entries += added
        # What is left is in order already, and sorting finds that out at once.
        self._entries.sort()
        self._clean = 0

    def root(self) -> bytes:
        """Return the root."""
        if self._root is None:
            self._root = self._rebuild() if len(self._entries) > _LARGE else merkle_root(self._entries)
        return self._root

    def _rebuild(self) -> bytes:
        levels, clean = self._levels or [[]], self._clean
        below = levels[0]
        below[clean:] = [entry[DIGEST_BYTES:] for entry in self._entries[clean:]]
        level = 0
        while len(below) > 1:
            # A node is kept where both its children are.
            clean //= 2
            if level + 1 == len(levels):
                levels.append([])
            above = levels[level + 1]
            above[clean:] = _pair_up(below, level, 2 * clean)
            below, level = above, level + 1
        del levels[level + 1 :]
        self._levels, self._clean = levels, len(self._entries)
        return below[0]
