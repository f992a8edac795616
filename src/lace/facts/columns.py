"""Record facts of many segments joined over one dictionary: resident, and ready to answer.

Rules of this file:
1. A text has one position in the joined dictionary, whichever segment it came from.
2. `Field` is split by name: rules nearly always name the field they read.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import compress

from lace.errors import FactError
from lace.facts.fact import RECORD_PREDICATES, Fact, Predicate, Values, check_fact
from lace.facts.segment import FIELDS, Segment


class NotARecordFact(FactError):
    """A fact of another predicate than those of records."""

    code = "fact/not-of-record"
    text = "{predicate} is no predicate of records: columns hold Have, Field, RecordLink, BlobHash, PlexHash"


def _column() -> array[int]:
    return array("I")


@dataclass(slots=True)
class FieldColumns:
    """The `Field` facts of one name."""

    records: array[int] = field(default_factory=_column)
    indexes: array[int] = field(default_factory=_column)
    values: array[int] = field(default_factory=_column)


class Columns:
    """A fact source over joined columns.

    >>> from lace.record import make_blob
    >>> from lace.facts import read_segment, write_segment
    >>> columns = Columns([read_segment(write_segment([(1, make_blob(b"hello")), (2, make_blob(b"you"))]))])
    >>> columns.count("Field", 4), [p[:2] for p in columns.with_field("Data-Length", "5")]
    (4, ['B.'])
    """

    def __init__(self, segments: Iterable[Segment] = ()) -> None:
        self.positions: dict[str, int] = {}
        """The joined dictionary: text to position."""
        self.fields: dict[str, FieldColumns] = {}
        self.relations: dict[str, tuple[array[int], ...]] = {
            predicate.name: tuple(_column() for _ in range(predicate.arity))
            for predicate in RECORD_PREDICATES
            if predicate.name != "Field"
        }
        self._texts: list[str] = []
        for segment in segments:
            self.add(segment)

    @property
    def texts(self) -> list[str]:
        """The joined dictionary: position to text."""
        if len(self._texts) != len(self.positions):
            self._texts = list(self.positions)
        return self._texts

    def _intern(self, text: str) -> int:
        return self.positions.setdefault(text, len(self.positions))

    def _field(self, name: str) -> FieldColumns:
        if name not in self.fields:
            self.fields[name] = FieldColumns()
        return self.fields[name]

    def add(self, segment: Segment) -> None:
        """Join one more segment."""
        known = self.positions
        texts = segment.texts
        # Where each text of the segment stands in the joined dictionary; position 0 is no text.
        place = [0, *[known.setdefault(text, len(known)) for text in texts[1:]]]
        placed = place.__getitem__
        ids = segment.columns["Id"]
        records = array("I", [place[at] for at in ids])
        zeros = array("I", [self._intern("0")]) * len(records)
        self.relations["Have"][0].extend(records)
        letters = {letter: self._intern(letter) for letter in "BPS"}
        kinds = self._field("Type")
        kinds.records.extend(records)
        kinds.indexes.extend(zeros)
        kinds.values.extend([letters[texts[at][0]] for at in ids])
        for name in FIELDS:
            column, kept = segment.columns[name], records
            if 0 in column:
                column, kept = array("I", filter(None, column)), array("I", compress(records, column))
            if kept:
                target = self._field(name)
                target.records.extend(kept)
                target.indexes.extend(zeros[: len(kept)])
                target.values.extend([place[at] for at in column])
        for name in ("BlobHash", "PlexHash"):
            column = segment.columns[name]
            self.relations[name][0].extend(compress(records, column))
            self.relations[name][1].extend(map(placed, filter(None, column)))
        by_name: dict[int, list[tuple[int, int, int]]] = {}
        for row, at, index, value in zip(*segment.extras.values(), strict=True):
            by_name.setdefault(at, []).append((row, index, value))
        numbers = {index: self._intern(str(index)) for index in set(segment.extras["index"])}
        for at, rows in by_name.items():
            target = self._field(texts[at])
            target.records.extend([records[row] for row, _, _ in rows])
            target.indexes.extend([numbers[index] for _, index, _ in rows])
            target.values.extend([place[value] for _, _, value in rows])
        if segment.links["row"]:
            links = self.relations["RecordLink"]
            links[0].extend([records[row] for row in segment.links["row"]])
            links[1].extend(map(placed, segment.links["name"]))
            links[2].extend([numbers[index] for index in segment.links["index"]])
            # Data may be empty text, which the dictionary holds like any other.
            links[3].extend(map(placed, segment.links["data"]))
            links[4].extend(map(placed, segment.links["target"]))

    def add_facts(self, facts: Iterable[Fact]) -> None:
        """Join record facts that are not there yet, such as those read from text."""
        intern = self._intern
        for fact in facts:
            name, *values = check_fact(fact)
            if (name, len(values)) not in RECORD_PREDICATES:
                raise NotARecordFact(predicate=f"{name}/{len(values)}")
            placed = [intern(value) for value in values]
            if name == "Field":
                target = self._field(values[1])
                target.records.append(placed[0])
                target.indexes.append(placed[2])
                target.values.append(placed[3])
            else:
                for column, at in zip(self.relations[name], placed, strict=True):
                    column.append(at)

    def with_field(self, name: str, value: str) -> list[str]:
        """Return the records that have a field of this name and value, each once."""
        at, columns, texts = self.positions.get(value), self.fields.get(name), self.texts
        if at is None or columns is None:
            return []
        rows = zip(columns.records, columns.values, strict=True)
        found = dict.fromkeys([p for p, held in rows if held == at])  # a header can repeat
        return [texts[p] for p in found]

    def iterate(self, name: str, arity: int) -> Iterator[Values]:
        """Yield the values of every fact of a predicate."""
        texts = self.texts
        if (name, arity) == ("Field", 4):
            for each, field_columns in self.fields.items():
                rows = zip(field_columns.records, field_columns.indexes, field_columns.values, strict=True)
                for p, index, value in rows:
                    yield texts[p], each, texts[index], texts[value]
        elif Predicate(name, arity) in RECORD_PREDICATES:
            for row in zip(*self.relations[name], strict=True):
                yield tuple([texts[at] for at in row])

    def query(self, name: str, arity: int, *values: str) -> Iterator[Values]:
        """Yield those that begin with the given values."""
        bound = len(values)
        for found in self.iterate(name, arity):
            if found[:bound] == values:
                yield found

    def count(self, name: str, arity: int) -> int:
        """Return the number of facts of a predicate."""
        if (name, arity) == ("Field", 4):
            return sum(len(columns.records) for columns in self.fields.values())
        if Predicate(name, arity) in RECORD_PREDICATES:
            return len(self.relations[name][0])
        return 0
