"""Texts as dense integers.

Rules of this file:
1. Positions are given once and never change; a dictionary only grows.
2. What no fact may hold is refused when it first comes, once for each text (030: values are UTF-8 NFC text
   within the tuple value limit).
3. A fork sees what its base held when it was made and puts its own texts on top: what a program or a peer
   brings never enters the base, and leaves with the fork.
4. A fork may follow its base: what the base took in since comes on top as well, except for texts that the
   fork had already. A text has one position in a dictionary, whoever brought it first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import partial
from itertools import count, islice, repeat
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lace.facts import VALUE_BYTES, check_value

Ids = NDArray[np.int32]

UNKNOWN = -1
"""The position of a text that no fact holds: it matches nothing."""


FEW_ROWS = 1 << 14
"""So many rows are turned into columns of texts at once."""
FEW_TEXTS = 32
"""So many texts are followed one by one."""


class Dictionary:
    """A growing list of distinct texts.

    >>> base = Dictionary()
    >>> base.intern("a"), base.intern("b"), base.intern("a")
    (0, 1, 0)
    >>> fork = base.fork()
    >>> fork.intern("c"), base.find("c"), fork.text(0), len(fork)
    (2, -1, 'a', 3)
    """

    __slots__ = (
        "_above",
        "_base",
        "_below",
        "_followed",
        "_origins",
        "_own",
        "_positions",
        "_same",
        "_traced",
        "_value_bytes",
    )

    def __init__(
        self, base: Dictionary | None = None, value_bytes: int = VALUE_BYTES, below: int | None = None
    ) -> None:
        self._base = base
        self._value_bytes = value_bytes
        self._below = 0 if base is None else len(base) if below is None else below
        self._above: Ids = np.empty(0, np.int32)
        """Where texts stand here that the base took in later; there is room for more."""
        self._followed = 0
        """So many of them are known."""
        self._same = self._below
        """So many texts of the base have the same position here."""
        self._origins: Ids = np.empty(0, np.int32)
        """Where the texts on top stand in the base, made when somebody asks."""
        self._traced = 0
        self._own: list[str] = []
        """The texts on top, whoever brought them."""
        self._positions: defaultdict[str, int] = defaultdict()
        """Those that the base did not bring."""

    def fork(self, size: int | None = None) -> Dictionary:
        """Return a dictionary on top of this one, or on top of its first texts."""
        return Dictionary(self, self._value_bytes, size)

    def follow(self, size: int) -> None:
        """Take in what the base took in, up to so many texts of it."""
        base, followed = self._base, self._followed
        assert base is not None, "only a fork follows"
        known = self._below + followed
        if size <= known:
            return
        more = base._own[known - base._below : size - base._below]
        alike = known == self._same == len(self)
        above, together = self._above, followed + len(more)
        if together > len(above):
            above = np.empty(2 * together, np.int32)
            above[:followed] = self._above[:followed]
        if len(more) <= FEW_TEXTS:
            own, positions, first = self._own, self._positions, self._below
            for at, text in enumerate(more, followed):
                position = positions.get(text)
                if position is None:
                    position = first + len(own)
                    own.append(text)
                above[at] = position
        else:
            above[followed:together] = self._follow_many(base, known, more)
        # Last: whoever fails before that has followed nothing.
        self._above, self._followed = above, together
        if alike:
            self._same = size  # nothing was put on top since: they stand here as they stand there

    def _follow_many(self, base: Dictionary, known: int, more: list[str]) -> Ids:
        """Take in texts of the base, and return where they stand here."""
        first, places = len(self), np.arange(len(self), len(self) + len(more), dtype=np.int32)
        if self._has_any_of(base, known, more):
            own = np.fromiter(map(self._positions.get, more, repeat(UNKNOWN)), np.int32, len(more))
            strangers = own == UNKNOWN
            places = np.where(strangers, first + np.cumsum(strangers, dtype=np.int32) - 1, own)
            more = [more[at] for at in np.flatnonzero(strangers).tolist()]
        self._own += more
        return places

    def _has_any_of(self, base: Dictionary, known: int, more: list[str]) -> bool:
        """Tell whether some of the texts that the base took in were here before."""
        if len(self._positions) < len(more):
            return any(base.find(text) >= known for text in self._positions)
        return not self._positions.keys().isdisjoint(more)

    def keeps(self, size: int) -> bool:
        """Tell whether the first texts of the base have the same positions here."""
        return size <= self._same

    @property
    def is_fork(self) -> bool:
        """Whether it stands on another one."""
        return self._base is not None

    @property
    def follows(self) -> bool:
        """Whether positions in the base may be others here."""
        return self._same < self._below + self._followed

    def place(self, positions: Ids) -> Ids:
        """Return where texts stand here, from their positions in the base; all of them were followed."""
        later = positions >= self._same
        if not later.any():
            return positions
        placed = positions.copy()
        placed[later] = self._above[positions[later] - self._below]
        return placed

    def place_one(self, position: int) -> int:
        """Return where a text stands here, from its position in the base; UNKNOWN where it does not."""
        if position < self._same:
            return position
        at = position - self._below
        return self._above.item(at) if at < self._followed else UNKNOWN

    def place_row(self, row: tuple[int, ...]) -> tuple[int, ...]:
        """Return where the texts of one row stand here; all of them were followed."""
        same, below, above = self._same, self._below, self._above.item
        return tuple([at if at < same else above(at - below) for at in row])

    def carry(self, positions: Ids, to: Dictionary) -> Ids:
        """Return where texts stand in another fork of the same base, giving them a position where need be."""
        if to is self:
            return positions
        if self is to._base:
            return to.place(positions)
        related = self._base is to._base
        others = np.flatnonzero(positions >= (min(self._below, to._below) if related else 0))
        if not len(others):
            return positions
        carried, left = positions.copy(), positions[others]
        if related:
            # What both followed the base for stands there too.
            known = to._in_this(self._origin(left))
            carried[others] = known
            others = others[known == UNKNOWN]
            if not len(others):
                return carried
            left = positions[others]
        strangers, at = np.unique(left, return_inverse=True)
        carried[others] = to.intern_column(self.texts(strangers.tolist()))[at]
        return carried

    def _origin(self, positions: Ids) -> Ids:
        """Return where texts stand in the base, UNKNOWN for those that it did not bring."""
        origin = positions.copy()
        later = np.flatnonzero(positions >= self._below)
        if len(later):
            if len(self._origins) < len(self._own):
                grown = np.full(len(self._own) + len(self._own) // 2, UNKNOWN, np.int32)
                grown[: len(self._origins)] = self._origins
                self._origins = grown
            brought = self._above[self._traced : self._followed]
            first = self._below + self._traced
            self._origins[brought - self._below] = np.arange(first, first + len(brought), dtype=np.int32)
            self._traced += len(brought)
            origin[later] = self._origins[positions[later] - self._below]
        return origin

    def find_some(self, texts: Set[str], since: int = 0) -> Ids:
        """Return the positions, from one on, of those texts of a set that stand on top of the base."""
        since = max(since, self._below)
        if len(self) - since < len(texts):
            news = self._own[since - self._below :]
            return np.array([at for at, text in enumerate(news, since) if text in texts], np.int32)
        found = self.find_column(list(texts))
        return found[found >= since]

    def find_column(self, column: Sequence[str]) -> Ids:
        """Return the positions of many texts, UNKNOWN for those that have none."""
        own, size = self._positions.get, len(column)
        if self._base is None:
            return np.fromiter(map(own, column, repeat(UNKNOWN)), np.int32, size)
        found = self._in_base(column, size)
        strangers = np.flatnonzero(found == UNKNOWN)
        if len(strangers) and self._positions:
            texts = map(column.__getitem__, strangers.tolist())
            found[strangers] = np.fromiter(map(own, texts, repeat(UNKNOWN)), np.int32, len(strangers))
        return found

    def _in_base(self, texts: Iterable[str], size: int) -> Ids:
        """Return the positions of texts that the base has and this knows of."""
        base = self._base
        assert base is not None
        if base._base is None:
            found = np.fromiter(map(base._positions.get, texts, repeat(UNKNOWN)), np.int32, size)
        else:
            found = np.fromiter(map(base.find, texts), np.int32, size)
        return self._in_this(found)

    def _in_this(self, found: Ids) -> Ids:
        """Turn positions in the base into those here, UNKNOWN for texts that this does not know of."""
        later = np.flatnonzero(found >= self._below)
        if len(later):
            at = found[later] - self._below
            known = at < self._followed
            found[later] = UNKNOWN
            found[later[known]] = self._above[at[known]]
        return found

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
        if position is not None:
            return position
        base = self._base
        if base is None:
            return UNKNOWN
        position = base._positions.get(text)
        if position is None:
            position = UNKNOWN if base._base is None else base.find(text)
        # What a base took in after a fork of it was made is not known to the fork, unless it followed.
        return position if position < self._below else self.place_one(position)

    def intern(self, text: str) -> int:
        """Return the position of a text, giving it one where it has none."""
        position = self.find(text)
        return self._take(text) if position == UNKNOWN else position

    def _take(self, text: str) -> int:
        """Give a position to a text that has none."""
        if not (isinstance(text, str) and text.isascii() and len(text) <= self._value_bytes):
            check_value(text, self._value_bytes)
        position = self._below + len(self._own)
        self._own.append(text)
        # Last: an interruption before this line must not leave a position that the next text gets as well.
        self._positions[text] = position
        return position

    def intern_row(self, row: Iterable[str]) -> tuple[int, ...]:
        """Return the positions of the texts of one row, giving them to those that have none."""
        base, below = self._base, self._below
        if base is None or base._base is not None:
            return tuple(map(self.intern, row))
        texts, own = tuple(row), self._positions
        found: list[Any] = list(map(base._positions.get, texts))
        for at, position in enumerate(found):
            if position is None or position >= below:
                known = own.get(texts[at])
                if known is None and position is not None:
                    known = self.place_one(position)
                found[at] = self._take(texts[at]) if known is None or known == UNKNOWN else known
        return tuple(found)

    def intern_column(self, column: Sequence[str]) -> Ids:
        """Return the positions of many texts at once."""
        return self._place(column, len(column), partial(map, column.__getitem__))

    def intern_rows(self, rows: Sequence[Sequence[str]]) -> list[Ids]:
        """Return the positions of all texts in rows of one length, as columns."""
        (arity,) = set(map(len, rows))
        size = len(rows)
        # Column by column: texts that are asked for together get positions near each other.
        if size <= FEW_ROWS:
            return [self.intern_column(column) for column in zip(*rows, strict=True)]
        found = []
        for text_of in map(itemgetter, range(arity)):
            chosen = partial(_texts_at, rows, text_of)
            found.append(self._place(map(text_of, rows), size, chosen))
        return found

    def _place(
        self, texts: Iterable[str], size: int, chosen: Callable[[Iterable[int]], Iterable[str]]
    ) -> Ids:
        """Return the positions of texts; `chosen` gives those of some numbers once more."""
        if self._base is None:
            return self._number(texts, size)
        found = self._in_base(texts, size)
        strangers = np.flatnonzero(found == UNKNOWN)
        if len(strangers):
            found[strangers] = self._number(chosen(strangers.tolist()), len(strangers))
        return found

    def _number(self, texts: Iterable[str], size: int) -> Ids:
        """Return positions on top of the base, giving them to texts that have none yet."""
        positions = self._positions
        before = len(positions)
        positions.default_factory = count(len(self)).__next__
        try:
            numbers = np.fromiter(map(positions.__getitem__, texts), np.int32, size)
            positions.default_factory = None
            # What was added stands last, in the order of its positions.
            added = list(islice(reversed(positions), len(positions) - before))
            self._check(added)
            self._own.extend(reversed(added))
        except BaseException:
            # Texts that stand there already do no harm: what gets a position next comes behind them.
            positions.default_factory = None
            while len(positions) > before:
                positions.popitem()
            raise
        return numbers

    def _check(self, texts: list[str]) -> None:
        limit = self._value_bytes
        # Nearly all texts are short and ASCII, which is quicker to see of all than of each.
        try:
            if max(map(len, texts), default=0) <= limit and "".join(texts).isascii():
                return
        except TypeError:
            pass  # one of them is no text: found below
        for text in texts:
            if not isinstance(text, str) or len(text) > limit or not text.isascii():
                check_value(text, limit)

    def __iter__(self) -> Iterator[str]:
        if self._base is not None:
            for position in range(self._below):
                yield self._base.text(position)
        yield from self._own


def _texts_at(
    rows: Sequence[Sequence[str]], text_of: Callable[[Sequence[str]], str], numbers: Iterable[int]
) -> Iterable[str]:
    return map(text_of, map(rows.__getitem__, numbers))
