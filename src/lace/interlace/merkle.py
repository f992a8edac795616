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

A copy costs nothing before one of the two changes: many exchanges say the same of the same records.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import add
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


def _pair_leaves(entries: Sequence[bytes], start: int = 0) -> list[bytes]:
    """Return the nodes above the leaves of `entries[start:]`, where `start` is even."""
    pairs = zip(entries[start::2], entries[start + 1 :: 2], strict=False)
    above = digest_all([NODE + left[DIGEST_BYTES:] + right[DIGEST_BYTES:] for left, right in pairs])
    if len(entries) % 2:
        above.append(digest(NODE + entries[-1][DIGEST_BYTES:] + _padding(0)))
    return above


def make_entry(record_digest: bytes) -> bytes:
    """Return a record digest with its leaf."""
    return record_digest + digest(LEAF + record_digest)


def make_entries(record_digests: Sequence[bytes]) -> list[bytes]:
    """Return many record digests with their leaves."""
    return [*map(add, record_digests, digest_all(map(LEAF.__add__, record_digests)))]


def merkle_root(entries: Iterable[bytes]) -> bytes:
    """Return the root over entries given in any order.

    >>> merkle_root([]) == EMPTY
    True
    """
    found = sorted(entries)
    if len(found) < 2:
        return found[0][DIGEST_BYTES:] if found else EMPTY
    nodes, level = _pair_leaves(found), 1
    while len(nodes) > 1:
        nodes = _pair_up(nodes, level)
        level += 1
    return nodes[0]


class SortedEntries:
    """A set of entries with its root at hand."""

    __slots__ = ("_clean", "_entries", "_levels", "_root", "_shared")

    def __init__(self, entries: Iterable[bytes] = ()) -> None:
        self._entries = sorted(entries)
        self._levels: list[list[bytes]] = []
        """The nodes above the leaves, from below; none while the set is small."""
        self._clean = 0
        """The nodes above the leaves of so many entries, from the first, are in `_levels`."""
        self._root: bytes | None = None
        self._shared = False
        """Whether a copy may have the same lists: then nobody changes them."""

    def __len__(self) -> int:
        return len(self._entries)

    def copy(self) -> SortedEntries:
        """Return a set of its own with the same entries, and with what is hashed of them."""
        other = SortedEntries()
        other._entries, other._levels = self._entries, self._levels
        other._clean, other._root = self._clean, self._root
        self._shared = other._shared = True
        return other

    def _unshare(self) -> None:
        if self._shared:
            self._entries = self._entries.copy()
            self._levels = [level.copy() for level in self._levels]
            self._shared = False

    def change(self, added: Sequence[bytes], removed: Sequence[bytes]) -> None:
        """Take entries out and put others in; each removed one is there, and no added one is."""
        if not added and not removed:
            return
        self._unshare()
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
        self._unshare()
        # A node is kept where both its children are.
        levels, clean = self._levels or [[]], self._clean // 2
        below, level = levels[0], 1
        below[clean:] = _pair_leaves(self._entries, 2 * clean)
        while len(below) > 1:
            clean //= 2
            if level == len(levels):
                levels.append([])
            above = levels[level]
            above[clean:] = _pair_up(below, level, 2 * clean)
            below, level = above, level + 1
        del levels[level:]
        self._levels, self._clean = levels, len(self._entries)
        return below[0]
