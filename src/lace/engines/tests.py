"""Text tests over columns: once for each distinct text, however many rows hold it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import ne

import numpy as np
from numpy.typing import NDArray

from lace.algebra import (
    OPERATORS,
    Column,
    Compare,
    Constant,
    NotEqual,
    Shape,
    Term,
    Test,
    int_compare,
    is_decimal,
    lex_compare,
    text_shape,
)
from lace.engines.dictionary import Dictionary, Ids

Mask = NDArray[np.bool_]

MOST_KNOWN = 64
"""What so many tests said about each text is kept; of a rule with very many of them only for the first."""
_LOOK = 1 << 12
"""So many texts are tested between two looks at the clock."""


def question(test: Test) -> Callable[..., bool]:
    """Return a test as a function of the texts of its terms."""
    if type(test) is Shape:
        delims = test.delims
        return lambda text, start, end: text_shape(text, start, delims, end)
    if type(test) is Compare:
        compare, op = int_compare if test.kind == "Int" else lex_compare, test.op
        return lambda left, right: compare(left, op, right)
    return ne


def passes(test: Test, texts: Sequence[str]) -> bool:
    """Apply a test to the texts of its terms."""
    return question(test)(*texts)


def order_of(kind: str, ids: list[int], dictionary: Dictionary) -> dict[int, int]:
    """Return a rank for each text that can be compared: by number or by text, equals alike."""
    texts = dict(zip(ids, dictionary.texts(ids), strict=True))
    if kind == "Int":
        # Sign and length first: turning very long digits into numbers is slow and may be refused.
        keys = {id: _number(text) for id, text in texts.items() if is_decimal(text)}
        ranks = {key: rank for rank, key in enumerate(sorted(set(keys.values())))}
        return {id: ranks[key] for id, key in keys.items()}
    ranked = {text: rank for rank, text in enumerate(sorted(set(texts.values())))}
    return {id: ranked[text] for id, text in texts.items()}


def _number(text: str) -> tuple[int, str | tuple[int, ...]]:
    if text[0] != "-":
        return len(text), text
    # Below zero more digits are less, and greater digits are less.
    return -len(text), "".join(chr(ord("0") + ord("9") - ord(digit)) for digit in text[1:])


class ColumnTests:
    """Tests with what they said about each text so far."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._known: dict[Test, NDArray[np.int8]] = {}

    def mask(self, test: Test, columns: dict[str, Ids], count: int, look: Callable[[], None]) -> Mask:
        """Tell which rows pass; `look` is called now and then, and may raise."""
        terms = test.terms()
        names = list(dict.fromkeys(term.name for term in terms if isinstance(term, Column)))
        if not names:
            passed = passes(test, [term.value for term in terms if isinstance(term, Constant)])
            return np.full(count, passed, np.bool_)
        if isinstance(test, NotEqual):
            left, right = (self._ids(term, columns) for term in terms)
            return np.asarray(left != right)
        if len(names) == 1:
            return self._one(test, columns[names[0]], look)
        if isinstance(test, Compare):
            return self._two(test, columns[names[0]], columns[names[1]], terms[0] == Column(names[0]))
        return self._several(test, names, columns, look)

    def _ids(self, term: Term, columns: dict[str, Ids]) -> Ids | int:
        return columns[term.name] if isinstance(term, Column) else self._dictionary.find(term.value)

    def _one(self, test: Test, column: Ids, look: Callable[[], None]) -> Mask:
        known = self._known.get(test)
        size = len(self._dictionary)
        if known is None or len(known) < size:
            grown = np.full(size, -1, np.int8)
            if known is not None:
                grown[: len(known)] = known
            if test in self._known or len(self._known) < MOST_KNOWN:
                self._known[test] = grown
            known = grown
        unknown = column[known[column] < 0]
        text = self._dictionary.text
        for at, id in enumerate(np.unique(unknown).tolist() if len(unknown) else ()):
            if at % _LOOK == 0:
                look()
            found = [text(id) if isinstance(term, Column) else term.value for term in test.terms()]
            known[id] = passes(test, found)
        return known[column] > 0

    def _two(self, test: Compare, first: Ids, second: Ids, in_order: bool) -> Mask:
        left, right = (first, second) if in_order else (second, first)
        ids = np.union1d(left, right)
        ranks = order_of(test.kind, ids.tolist(), self._dictionary)
        by_id = np.full(int(ids[-1]) + 1 if len(ids) else 0, -1, np.int64)
        by_id[list(ranks)] = list(ranks.values())
        a, b = by_id[left], by_id[right]
        return np.asarray(OPERATORS[test.op](a, b) & (a >= 0) & (b >= 0))

    def _several(
        self, test: Shape, names: list[str], columns: dict[str, Ids], look: Callable[[], None]
    ) -> Mask:
        rows = np.stack([columns[name] for name in names], axis=1)
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        text = self._dictionary.text
        answers = np.zeros(len(distinct), np.bool_)
        for at, ids in enumerate(distinct.tolist()):
            if at % _LOOK == 0:
                look()
            named = dict(zip(names, map(text, ids), strict=True))
            answers[at] = passes(
                test, [named[t.name] if isinstance(t, Column) else t.value for t in test.terms()]
            )
        return np.asarray(answers[inverse.reshape(-1)])
