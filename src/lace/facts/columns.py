"""Facts of one predicate as columns: each text is written once and stands for itself by its position.

What a store keeps by predicate, rather than by record, goes to an engine in this form; see `Segment` for the
other one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lace.facts.fact import Fact, Predicate


class CodedColumn(NamedTuple):
    """The text of each row, by its position among texts."""

    texts: Sequence[str]
    positions: memoryview
    """Unsigned, of four bytes each."""


class FactColumns(NamedTuple):
    """Facts of one predicate, a column for each of its places.

    >>> from array import array
    >>> ids = CodedColumn(["P", "Q"], memoryview(array("I", [0, 1])))
    >>> same = CodedColumn(["B"], memoryview(array("I", [0, 0])))
    >>> list(FactColumns(Predicate("BlobHash", 2), (ids, same)).facts())
    [('BlobHash', 'P', 'B'), ('BlobHash', 'Q', 'B')]
    """

    predicate: Predicate
    columns: tuple[CodedColumn, ...]

    def facts(self) -> Iterator[Fact]:
        """Yield the facts."""
        values = [[texts[at] for at in positions] for texts, positions in self.columns]
        for row in zip(*values, strict=True):
            yield self.predicate.name, *row
