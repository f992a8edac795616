"""Record facts as a store keeps them, as columns of positions in one dictionary (020, Record facts).

Rules of this file:
1. A text of a piece is looked up once, however many facts hold it, and one that no fact of the excerpt holds
   does not enter the dictionary.
2. Facts are given out after the last piece was read: of a store that fails on the way nothing is added.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from lace.engines.dictionary import UNKNOWN, Dictionary, Ids
from lace.facts import Excerpt, FactColumns, Predicate, Segment

HAVE = Predicate("Have", 1)
FIELD = Predicate("Field", 4)
RECORD_LINK = Predicate("RecordLink", 5)
HASHES = {name: Predicate(name, 2) for name in ("BlobHash", "PlexHash")}
"""By the name of their column."""

Facts = tuple[Predicate, str | None, list[Ids]]
"""Facts of a predicate; of `Field` those under one name, which has no column."""
Positions = NDArray[np.uint32]
"""Among the texts of a piece; in a segment 0 is no text."""
_Placed = dict[int, tuple[Sequence[str], Ids]]
"""Texts and where they stand in the dictionary, by the identity of the first."""


def columns_of(
    pieces: Iterable[Segment | FactColumns], excerpt: Excerpt, dictionary: Dictionary
) -> Iterator[tuple[Predicate, list[Ids]]]:
    """Yield an excerpt of the facts in pieces; their texts go into the dictionary."""
    found: dict[tuple[Predicate, str | None], list[list[Ids]]] = {}
    placed: _Placed = {}
    for piece in pieces:
        if isinstance(piece, Segment):
            for predicate, name, columns in _facts(piece, excerpt, dictionary):
                found.setdefault((predicate, name), []).append(columns)
        else:
            placed = _placed(piece, placed, dictionary)
            columns = [placed[id(texts)][1][_positions(at)] for texts, at in piece.columns]
            found.setdefault((piece.predicate, None), []).append(columns)
    for (predicate, name), parts in found.items():
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        if name is not None:
            columns.insert(1, np.full(len(columns[0]), dictionary.intern(name), np.int32))
        yield predicate, columns


def _placed(piece: FactColumns, before: _Placed, dictionary: Dictionary) -> _Placed:
    """Return where the texts of a piece stand in the dictionary; some are those of the piece before it."""
    found: _Placed = {}
    for texts, _ in piece.columns:
        known = before.get(id(texts)) or found.get(id(texts))
        found[id(texts)] = known or (texts, dictionary.intern_column(texts))
    return found


def _facts(segment: Segment, excerpt: Excerpt, dictionary: Dictionary) -> Iterator[Facts]:
    texts, ids = segment.texts, _positions(segment.columns["Id"])
    singles = {
        name: _positions(column)
        for name, column in segment.columns.items()
        if name != "Id"
        and (HASHES[name] in excerpt.relations if name in HASHES else excerpt.holds_field(name))
    }
    rows, names, numbers, values = map(_positions, segment.extras.values())
    extras = {
        texts[at]: np.flatnonzero(names == at)
        for at in np.unique(names).tolist()
        if excerpt.holds_field(texts[at])
    }
    links = [_positions(column) for column in segment.links.values()]
    if RECORD_LINK not in excerpt.relations:
        links = [column[:0] for column in links]
    holder, link_name, link_number, data, target = links
    read = [ids, *singles.values(), *[values[chosen] for chosen in extras.values()], link_name, data, target]
    place = _place(texts, read, dictionary)
    records = place[ids]
    zeros = np.full(len(ids), dictionary.intern("0"), np.int32)
    yield HAVE, None, [records]
    if excerpt.holds_field("Type"):
        yield FIELD, "Type", [records, zeros, dictionary.intern_column([texts[at][0] for at in ids.tolist()])]
    for name, column in singles.items():
        there = np.flatnonzero(column)
        if name in HASHES:
            yield HASHES[name], None, [records[there], place[column[there]]]
        elif len(there):
            yield FIELD, name, [records[there], zeros[there], place[column[there]]]
    for name, chosen in extras.items():
        indexes = _as_texts(numbers[chosen], dictionary)
        yield FIELD, name, [records[rows[chosen]], indexes, place[values[chosen]]]
    if len(holder):
        indexes = _as_texts(link_number, dictionary)
        yield (
            RECORD_LINK,
            None,
            [records[holder], place[link_name], indexes, place[data], place[target]],
        )


def _positions(column: array[int] | memoryview) -> Positions:
    return np.frombuffer(column, np.uint32)


def _place(texts: list[str], read: list[Positions], dictionary: Dictionary) -> Ids:
    """Return where each text of a segment that is read stands in the dictionary."""
    used = np.zeros(len(texts), np.bool_)
    for column in read:
        used[column] = True
    used[0] = False
    place, at = np.full(len(texts), UNKNOWN, np.int32), np.flatnonzero(used)
    place[at] = dictionary.intern_column([texts[each] for each in at.tolist()])
    return place


def _as_texts(numbers: Positions, dictionary: Dictionary) -> Ids:
    """Return where numbers stand in the dictionary, written as texts."""
    distinct, at = np.unique(numbers, return_inverse=True)
    return dictionary.intern_column(list(map(str, distinct.tolist())))[at]
