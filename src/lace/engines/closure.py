"""Transitive closure as a bit matrix over the condensed graph.

Every strongly connected component reaches the same nodes, so each gets one row of bits: its successors'
rows put together, last component first. That is one pass over the edges, whatever the longest path.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lace.engines.dictionary import Ids

NODES = 1 << 14
"""A matrix of this many nodes squared has 32 MiB; beyond it rounds over rows are the better way."""


def closure(starts: Ids, ends: Ids) -> tuple[Ids, Ids]:
    """Return all pairs of which the second can be reached from the first."""
    nodes, numbered = np.unique(np.concatenate((starts, ends)), return_inverse=True)
    numbered = numbered.reshape(2, -1)
    component, count = _components(numbered[0], numbered[1], len(nodes))
    reach = _reach(component[numbered[0]], component[numbered[1]], component, count, len(nodes))
    # Rows of one component are equal: unpack each once, then give it to every member.
    bits = np.unpackbits(reach, axis=1, count=len(nodes), bitorder="little")
    left, right = np.nonzero(bits[component])
    return nodes[left], nodes[right]


def count_nodes(starts: Ids, ends: Ids) -> int:
    """Return how many nodes the edges touch."""
    return len(np.union1d(starts, ends))


def _components(
    starts: NDArray[np.int64], ends: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int64], int]:
    """Number the strongly connected components so that edges lead to equal or smaller numbers (Tarjan)."""
    order = np.argsort(starts, kind="stable")
    targets = ends[order].tolist()
    begins = np.searchsorted(starts[order], np.arange(size + 1)).tolist()
    index = [-1] * size
    low = [0] * size
    found = [-1] * size
    stack: list[int] = []
    clock = count = 0
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


def _reach(
    starts: NDArray[np.int64], ends: NDArray[np.int64], component: NDArray[np.int64], count: int, size: int
) -> NDArray[np.uint8]:
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
        for target in targets[begins[source] : begins[source + 1]].tolist():
            reach[source] |= members[target]
            if target != source:
                reach[source] |= reach[target]
    return reach
