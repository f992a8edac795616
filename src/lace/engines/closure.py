"""Transitive closure as a bit matrix over the condensed graph.

Every strongly connected component reaches the same nodes, so each gets one row of bits: its successors'
rows put together, last component first. That is one pass over the edges, whatever the longest path.

Rules of this file:
1. How many pairs there are, and how many steps the rules would have taken, is counted from the bits before a
   pair is made.
2. Whoever waits is asked now and then whether to go on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lace.engines.dictionary import Ids

NODES = 1 << 14
"""A matrix of this many nodes squared has 32 MiB; beyond it rounds over rows are the better way."""
_AT_ONCE = 255
"""Rows of bits that are unpacked at once; so many ones fit a byte."""
_ASKED = 64
"""Nodes between two questions whether to go on."""

_ONES = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)

Counts = NDArray[np.int64]
GoOn = Callable[[], None]
"""Raises where time is up."""


@dataclass(frozen=True, slots=True)
class Closure:
    """Who reaches whom, as bits."""

    nodes: Ids
    component: Counts
    """Of each node."""
    reach: NDArray[np.uint8]
    """Of each component a row with a bit for each node."""
    go_on: GoOn

    def ends(self) -> Counts:
        """Return how many nodes each node reaches."""
        reached: Counts = _ONES[self.reach].sum(axis=1, dtype=np.int64)
        return reached[self.component]

    def starts(self) -> Counts:
        """Return how many nodes reach each node."""
        found = np.zeros(len(self.nodes), np.int64)
        members = np.bincount(self.component, minlength=len(self.reach))
        for size in np.unique(members).tolist():
            alike = np.flatnonzero(members == size)
            for at in range(0, len(alike), _AT_ONCE):
                self.go_on()
                bits = self._bits(alike[at : at + _AT_ONCE])
                found += size * np.add.reduce(bits, axis=0, dtype=np.uint8).astype(np.int64)
        return found

    def degrees(self, ids: Ids) -> Counts:
        """Return how often each node stands in a column of edges."""
        return np.bincount(np.searchsorted(self.nodes, ids), minlength=len(self.nodes))

    def pairs(self) -> tuple[Ids, Ids]:
        """Return all pairs of which the second can be reached from the first."""
        total = int(self.ends().sum())
        left, right = np.empty(total, np.int32), np.empty(total, np.int32)
        done = 0
        for at in range(0, len(self.nodes), _AT_ONCE):
            self.go_on()
            from_node, to_node = np.nonzero(self._bits(self.component[at : at + _AT_ONCE]))
            stop = done + len(to_node)
            left[done:stop], right[done:stop] = self.nodes[from_node + at], self.nodes[to_node]
            done = stop
        return left, right

    def _bits(self, components: Counts) -> NDArray[np.uint8]:
        return np.unpackbits(self.reach[components], axis=1, count=len(self.nodes), bitorder="little")


def close(starts: Ids, ends: Ids, go_on: GoOn) -> Closure:
    """Find out who reaches whom along some edges."""
    nodes, numbered = np.unique(np.concatenate((starts, ends)), return_inverse=True)
    numbered = numbered.reshape(2, -1)
    component, count = _components(numbered[0], numbered[1], len(nodes), go_on)
    reach = _reach(component[numbered[0]], component[numbered[1]], component, count, go_on)
    return Closure(nodes, component, reach, go_on)


def count_nodes(starts: Ids, ends: Ids) -> int:
    """Return how many nodes the edges touch."""
    return len(np.union1d(starts, ends))


def _components(starts: Counts, ends: Counts, size: int, go_on: GoOn) -> tuple[Counts, int]:
    """Number the strongly connected components so that edges lead to equal or smaller numbers (Tarjan)."""
    order = np.argsort(starts, kind="stable")
    targets = ends[order].tolist()
    begins = np.searchsorted(starts[order], np.arange(size + 1)).tolist()
    index = [-1] * size
    low = [0] * size
    found = [-1] * size
    stack: list[int] = []
    clock = count = done = 0
    for root in range(size):
        if index[root] >= 0:
            continue
        path = [(root, begins[root])]
        index[root] = low[root] = clock
        clock += 1
        stack.append(root)
        while path:
            node, at = path[-1]
            end = begins[node + 1]
            advanced = False
            while at < end:
                target = targets[at]
                at += 1
                if index[target] < 0:
                    path[-1] = (node, at)
                    index[target] = low[target] = clock
                    clock += 1
                    stack.append(target)
                    path.append((target, begins[target]))
                    advanced = True
                    break
                if found[target] < 0:
                    low[node] = min(low[node], index[target])
            if advanced:
                continue
            path.pop()
            done += 1
            if done % _ASKED == 0:
                go_on()
            if path:
                above = path[-1][0]
                low[above] = min(low[above], low[node])
            if low[node] == index[node]:
                while True:
                    member = stack.pop()
                    found[member] = count
                    if member == node:
                        break
                count += 1
    return np.array(found, np.int64), count


def _reach(starts: Counts, ends: Counts, component: Counts, count: int, go_on: GoOn) -> NDArray[np.uint8]:
    size = len(component)
    width = (size + 7) // 8
    reach = np.zeros((count, width), np.uint8)
    members = np.zeros((count, width), np.uint8)
    numbers = np.arange(size)
    np.bitwise_or.at(members, (component, numbers >> 3), np.left_shift(1, numbers & 7).astype(np.uint8))
    edges = np.unique(starts * count + ends)
    sources, targets = edges // count, edges % count
    begins = np.searchsorted(sources, np.arange(count + 1)).tolist()
    # An edge inside a component means that its members reach each other, and themselves.
    for source in range(count):
        if source % _ASKED == 0:
            go_on()
        for target in targets[begins[source] : begins[source + 1]].tolist():
            reach[source] |= members[target]
            if target != source:
                reach[source] |= reach[target]
    return reach
