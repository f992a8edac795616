"""Texts as dense integers.

Rules of this file:
1. Positions are given once and never change; a dictionary only grows.
2. What no fact may hold is refused when it first comes, once for each text (030: values are UTF-8 NFC text
   within the tuple value limit).
3. A fork sees what its base held when it was made and puts its own texts on top: what a program or a peer
   brings never enters the base, and leaves with the fork.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count, islice, repeat
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from lace.errors import FactError
from lace.facts import VALUE_BYTES, check_value

Ids = NDArray[np.int32]

UNKNOWN = -1
"""The position of a text that no fact holds: it matches nothing."""


class Dictionary:
    """A growing list of distinct texts.

    >>> base = Dictionary()
    >>> base.intern("a"), base.intern("b"), base.intern("a")
    (0, 1, 0)
    >>> fork = base.fork()
    >>> fork.intern("c"), base.find("c"), fork.text(0), len(fork)
    (2, -1, 'a', 3)
    """

    __slots__ = ("_base", "_below", "_own", "_positions", "_value_bytes")

    def __init__(self, base: Dictionary | None = None, value_bytes: int = VALUE_BYTES) -> None:
        self._base = base
        self._value_bytes = value_bytes
        self._below = 0 if base is None else len(base)
        self._own: list[str] = []
        self._positions: defaultdict[str, int] = defaultdict()

    def fork(self) -> Dictionary:
        """Return a dictionary on top of this one."""
        return Dictionary(self, self._value_bytes)

    def __len__(self) -> int:
        return self._below + len(self._own)

    def text(self, position: int) -> str:
        """Return the text at a position."""
        if position >= self._below:
            return self._own[position - self._below]
        assert self._base is not None
        return self._base.text(position)

    def texts(self, positions: Iterable[int]) -> list[str]:
        """Return the texts at some positions."""
        own, below, base = self._own, self._below, self._base
        if below == 0 or base is None:
            return [own[position] for position in positions]
        if base._below == 0:
            under = base._own
            return [under[at] if at < below else own[at - below] for at in positions]
        return [self.text(position) for position in positions]

    def find(self, text: str) -> int:
        """Return the position of a text, or UNKNOWN."""
        position = self._positions.get(text)
        level = self
        while position is None and level._base is not None:
            position = level._base._positions.get(text)
            # What a base took in after a fork of it was made is not known to the fork.
            if position is not None and position >= level._below:
                return UNKNOWN
            level = level._base
        return UNKNOWN if position is None else position

    def intern(self, text: str) -> int:
        """Return the position of a text, giving it one where it has none."""
        position = self.find(text)
        return self._take(text) if position == UNKNOWN else position

    def _take(self, text: str) -> int:
        """Give a position to a text that has none."""
        check_value(text, self._value_bytes)
        position = self._positions[text] = self._below + len(self._own)
        self._own.append(text)
        return position

    def intern_row(self, row: Iterable[str]) -> tuple[int, ...]:
        """Return the positions of the texts of one row, giving them to those that have none."""
        own, base, below, intern = self._positions, self._base, self._below, self.intern
        if base is None or base._base is not None:
            return tuple([intern(text) for text in row])
        under, found = base._positions, []
        for text in row:
            position = under.get(text)
            if position is None or position >= below:
                position = own.get(text)
                if position is None:
                    position = self._take(text)
            found.append(position)
        return tuple(found)

    def intern_column(self, column: Sequence[str]) -> Ids:
        """Return the positions of many texts at once."""
        return self._place(column, len(column), column.__getitem__)

    def intern_rows(self, rows: Sequence[Sequence[str]]) -> list[Ids]:
        """Return the positions of all texts in rows of one length, as columns."""
        (arity,) = set(map(len, rows))
        size = len(rows)
        # Column by column: texts that are asked for together get positions near each other.
        return [
            self._place(map(itemgetter(place), rows), size, partial(_text_at, rows, place))
            for place in range(arity)
        ]

    def _place(self, texts: Iterable[str], size: int, text: Callable[[int], str]) -> Ids:
        base = self._base
        if base is None:
            return self._number(texts, size)
        if base._base is None:
            found = np.fromiter(map(base._positions.get, texts, repeat(UNKNOWN)), np.int32, size)
        else:
            found = np.fromiter(map(base.find, texts), np.int32, size)
        found[found >= self._below] = UNKNOWN
        strangers = np.flatnonzero(found == UNKNOWN)
        if len(strangers):
            found[strangers] = self._number(map(text, strangers.tolist()), len(strangers))
        return found

    def _number(self, texts: Iterable[str], size: int) -> Ids:
        """Return positions on top of the base, giving them to texts that have none yet."""
        positions = self._positions
        before = len(positions)
        positions.default_factory = count(self._below + before).__next__
        numbers = np.fromiter(map(positions.__getitem__, texts), np.int32, size)
        positions.default_factory = None
        # What was added stands last, in the order of its positions.
        added = list(islice(reversed(positions), len(positions) - before))
        try:
            self._check(added)
        except FactError:
            for text in added:
                del positions[text]
            raise
        self._own.extend(reversed(added))
        return numbers

    def _check(self, texts: list[str]) -> None:
        limit = self._value_bytes
        # Nearly all texts are short and ASCII, which is quicker to see of all than of each.
        if max(map(len, texts), default=0) <= limit and "".join(texts).isascii():
            return
        for text in texts:
            if len(text) > limit or not text.isascii():
                check_value(text, limit)

    def __iter__(self) -> Iterator[str]:
        if self._base is not None:
            for position in range(self._below):
                yield self._base.text(position)
        yield from self._own


def _text_at(rows: Sequence[Sequence[str]], place: int, at: int) -> str:
    return rows[at][place]
