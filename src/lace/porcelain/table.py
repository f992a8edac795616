"""The table view of 020: "one row per record identifier", chosen field names as columns.

Rules of this file:
1. Rows come from `Field` facts and nothing else; a table is for looking, "protocol truth remains the
   explicit facts".
2. Segments come in one by one and rows leave as they are found: a million records are never held, unless
   they are to be sorted.
3. A condition on a repeated field holds where one of its values makes it hold; a denied one where none does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property
from heapq import nlargest, nsmallest
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from lace.errors import InputError
from lace.facts import Segment
from lace.record import FORBIDDEN as SINGLETONS
from lace.text import RECORD_TYPES, RecordId

Cell: TypeAlias = str | tuple[str, ...] | None
"""One value, several where the record repeats the header, None where it has none."""

COLUMNS: Final = ("Group", "App", "Name", "TAI", "Data-Length")
ID_COLUMN: Final = "id"
ALL_COLUMNS: Final = "*"
_PROTOCOL: Final = ("Type", "Group", "App", "Name", "TAI", "Data-Length", "Signed-By", "Signature")

_CONDITION = re.compile(r"(?P<field>[^\x00-\x20:\x7f=!~<>]+)(?P<sign>!=|!~|<=|>=|=|~|<|>)(?P<value>.*)", re.S)
_PRESENCE = re.compile(r"(?P<absent>!?)(?P<field>[^\x00-\x20:\x7f=!~<>]+)")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,39}", re.ASCII)


class BadCondition(InputError):
    """Text that is no condition on a field."""

    code = "table/condition"
    text = (
        "{text!r} is no condition: write Field=value, Field!=value, Field~pattern*, Field!~pattern*, "
        "Field<value, <=, > or >=; or Field where it must be there, !Field where it must not"
    )


class BadType(InputError):
    """A letter that is no record type."""

    code = "table/type"
    text = "{type!r} is no record type: B, P or S"


class BadColumn(InputError):
    """A column that a table cannot have."""

    code = "table/column"
    text = "{column!r} cannot be a column: {reason}"


class Row(NamedTuple):
    """One record and its chosen fields."""

    id: RecordId
    cells: tuple[Cell, ...]
    """In the order of the chosen columns."""


def _order(value: str) -> tuple[int, int, str]:
    """Sort integers by value, and before all other text; TAI text sorts as text."""
    return (0, int(value), "") if _INTEGER.fullmatch(value) else (1, 0, value)


_SIGNS: Final[dict[str, Callable[[str, str], bool]]] = {
    "=": str.__eq__,
    "<": lambda one, other: _order(one) < _order(other),
    "<=": lambda one, other: _order(one) <= _order(other),
    ">": lambda one, other: _order(one) > _order(other),
    ">=": lambda one, other: _order(one) >= _order(other),
}


@dataclass(frozen=True)
class Condition:
    """A test of one field: `=`, `~` (a pattern with * ? and [abc]), `<`, `<=`, `>`, `>=`, or `?` (is there).

    >>> Condition("Tag", "=", "red").holds(("blue", "red")), Condition("Tag", "?", denied=True).holds(None)
    (True, True)
    """

    field: str
    sign: str
    value: str = ""
    denied: bool = False

    def holds(self, cell: Cell) -> bool:
        """Tell whether a record with this cell passes."""
        values = () if cell is None else (cell,) if isinstance(cell, str) else cell
        return any(map(self._test, values)) is not self.denied

    @cached_property
    def _test(self) -> Callable[[str], object]:
        if self.sign == "?":
            return lambda value: True
        if self.sign == "~":
            return re.compile(translate(self.value)).match
        compare, wanted = _SIGNS[self.sign], self.value
        return lambda value: compare(value, wanted)


def parse_condition(text: str) -> Condition:
    """Read a condition as a person types it.

    >>> parse_condition("Name~links/*")
    Condition(field='Name', sign='~', value='links/*', denied=False)
    """
    found = _CONDITION.fullmatch(text)
    if found:
        sign = found["sign"]
        denied = sign.startswith("!")
        return Condition(found["field"], sign[1:] if denied else sign, found["value"], denied)
    found = _PRESENCE.fullmatch(text)
    if found is None:
        raise BadCondition(text=text[:200])
    return Condition(found["field"], "?", denied=bool(found["absent"]))


def type_condition(letters: str) -> Condition:
    """Return the condition that a record has one of these types.

    >>> type_condition("PS").holds("B")
    False
    """
    for letter in letters:
        if letter not in RECORD_TYPES:
            raise BadType(type=letter)
    return Condition("Type", "~", f"[{letters}]")


@dataclass(frozen=True, slots=True)
class TableView:
    """Which rows and columns to show, and in which order; store order where none is chosen."""

    columns: tuple[str, ...] = COLUMNS
    where: tuple[Condition, ...] = ()
    sort: str | None = None
    descending: bool = False
    limit: int | None = None

    def __post_init__(self) -> None:
        for at, column in enumerate(self.columns):
            if column == ID_COLUMN:
                raise BadColumn(column=column, reason="the first one, always there, is called so")
            if column in self.columns[:at]:
                raise BadColumn(column=column, reason="it was chosen twice")


DEFAULT_VIEW: Final = TableView()


def table_rows(segments: Iterable[Segment], view: TableView = DEFAULT_VIEW) -> Iterator[Row]:
    """Yield the rows of a table.

    >>> from lace.facts import read_segment, write_segment
    >>> from lace.record import make_plex
    >>> plex = make_plex("u", "ding", "links/1", "1640995200:000000000", b"hi", [("Tag", "a"), ("Tag", "b")])
    >>> segment = read_segment(write_segment([(1, plex)]))
    >>> [row.cells for row in table_rows([segment], TableView(("Name", "Tag")))]
    [('links/1', ('a', 'b'))]
    """
    if view.sort is None:
        return islice(_found(segments, view.columns, view.where), view.limit)
    return _sorted(segments, view, view.sort)


def all_columns(segments: Iterable[Segment]) -> tuple[str, ...]:
    """Return every field name there is: the protocol's own, then the extra headers in text order."""
    extra: set[str] = set()
    for segment in segments:
        texts = segment.texts
        extra.update([texts[at] for at in set(segment.extras["name"])])
    return (*_PROTOCOL, *sorted(extra - {ID_COLUMN}))


def _found(segments: Iterable[Segment], columns: Sequence[str], where: Sequence[Condition]) -> Iterator[Row]:
    for segment in segments:
        kept = _kept(segment, where)
        if not kept:
            continue
        ids = segment.record_ids()
        if not columns:
            yield from [Row(ids[row], ()) for row in kept]
            continue
        cells = [_cells(segment, column) for column in columns]
        if len(kept) < len(segment):
            ids = [ids[row] for row in kept]
            cells = [[column[row] for row in kept] for column in cells]
        yield from map(Row, ids, zip(*cells, strict=True))


def _kept(segment: Segment, where: Sequence[Condition]) -> Sequence[int]:
    kept: Sequence[int] = range(len(segment))
    for condition in where:
        cells = _cells(segment, condition.field)
        # Values repeat within a segment: each is tested once.
        holds = {cell: condition.holds(cell) for cell in set(cells)}
        kept = [row for row in kept if holds[cells[row]]]
        if not kept:
            break
    return kept


def _cells(segment: Segment, field: str) -> Sequence[Cell]:
    """Return one field of every row; a segment also has columns that are no fields."""
    if field in SINGLETONS:
        return segment.values(field)
    cells: list[Cell] = [None] * len(segment)
    texts = segment.texts
    for at in set(segment.extras["name"]):
        if texts[at] == field:
            values: dict[int, tuple[str, ...]] = {}
            # Occurrences come in record order, which is the order of their indexes.
            for row, name, value in zip(
                *map(segment.extras.__getitem__, ("row", "name", "value")), strict=True
            ):
                if name == at:
                    values[row] = (*values.get(row, ()), texts[value])
            for row, several in values.items():
                cells[row] = several if len(several) > 1 else several[0]
    return cells


def _sorted(segments: Iterable[Segment], view: TableView, field: str) -> Iterator[Row]:
    found = _found(segments, (field, *view.columns), view.where)

    def key(row: Row) -> tuple[bool, tuple[int, int, str]]:
        first = row.cells[0] if not isinstance(row.cells[0], tuple) else row.cells[0][0]
        # Rows without the field come last, whichever way the others go.
        return ((first is None) is not view.descending, _order(first or ""))

    if view.limit is None:
        rows = sorted(found, key=key, reverse=view.descending)
    else:
        rows = (nlargest if view.descending else nsmallest)(view.limit, found, key=key)
    return (Row(row.id, row.cells[1:]) for row in rows)
