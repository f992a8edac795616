"""Segments of a sqlite store: facts as columns, kept beside the records they were made from.

    record   1 … 1000 │ 1001 … 1980 │ 1981 … 2300          numbers, holes where something was removed
    segment     one   │    one      │    none yet: the tail
                                    └ state.covered = 1980

The newest records, fewer than TAIL_RECORDS, have no segment: their facts are made from their bytes when
somebody asks. The commit that fills the tail writes its segments. So a single put writes no columns at all,
a bulk commit writes its own, and nothing is ever merged.

Rules of this file:
1. Every record up to `covered` lies in the range of exactly one segment.
2. A segment can always be made again from the records; where it does not hash, it is.
3. A rotten record has no facts here. It still counts as covered, until `verify` takes it out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping

import apsw

from lace.facts import DamagedSegment, Fact, Segment, merge_segments, read_segment, write_segment
from lace.record import Record
from lace.stores.port import RottenRecord
from lace.stores.reread import reread

SEGMENT_RECORDS = 1024
TAIL_RECORDS = 512
TAIL_BYTES = 16 * 1024 * 1024  # a tail is read and hashed again once, by the commit that covers it
_NO_END = (1 << 63) - 1

# A damaged page can make a walk over numbers go round in circles; every such walk looks whether it gets on.
OUT_OF_ORDER = "the record numbers are out of order"

_log = logging.getLogger("lace.stores")


def read_rows(
    connection: apsw.Connection, where: str, first: int, last: int
) -> list[tuple[int, Record | None]]:
    """Return (number, record) of a range, with None in place of a rotten record."""
    found: list[tuple[int, Record | None]] = []
    rows = connection.execute(
        "SELECT id, hash, bytes FROM record WHERE id BETWEEN ? AND ? ORDER BY id", (first, last)
    )
    for number, record_id, raw in rows:
        try:
            found.append((number, reread(record_id, raw, where)))
        except RottenRecord:  # reported already
            found.append((number, None))
    return found


def cover(
    connection: apsw.Connection, where: str, first: int, last: int, fresh: Mapping[int, Record] | None = None
) -> None:
    """Write the segments of a range; `fresh` records, ascending and at its end, need not be read again."""
    begin = next(iter(fresh)) if fresh else last + 1
    rows = read_rows(connection, where, first, begin - 1) if first < begin else []
    if fresh:
        rows.extend(fresh.items())
    # Evenly cut, so that no segment is small: 1,500 records become twice 750.
    pieces = -(-len(rows) // SEGMENT_RECORDS)
    for piece in range(1, pieces + 1):
        part = rows[len(rows) * (piece - 1) // pieces : len(rows) * piece // pieces]
        end = part[-1][0] if piece < pieces else last
        _keep(connection, first, end, len(part), _segment_bytes(part))
        first = end + 1


def shrink(connection: apsw.Connection, where: str, gone: Iterable[int]) -> None:
    """Take the facts of removed records out of their segments."""
    by_segment: dict[int, set[int]] = {}
    for number in gone:
        row = connection.execute(
            "SELECT first, last FROM segment WHERE first <= ? ORDER BY first DESC LIMIT 1", (number,)
        ).get
        if row is not None and number <= row[1]:
            by_segment.setdefault(row[0], set()).add(number)
    for first, numbers in by_segment.items():
        last, records, body = connection.execute(
            "DELETE FROM segment WHERE first = ? RETURNING last, records, body", (first,)
        ).get
        try:
            left = merge_segments([read_segment(body)], without=numbers)
        except DamagedSegment:
            left = merge_segments(make_segments(connection, where, first, last))
        _keep(connection, first, last, records - len(numbers), left)


def rebuild(connection: apsw.Connection, where: str) -> None:
    """Write all segments again from the records."""
    connection.execute("DELETE FROM segment")
    first = 1
    while (last := _end_of_next(connection, first, _NO_END)) is not None:
        cover(connection, where, first, last)
        first = last + 1


def is_true(connection: apsw.Connection, where: str, first: int) -> bool:
    """Tell whether a segment says exactly what its records say; one that is gone says nothing wrong."""
    row = connection.execute("SELECT last, body FROM segment WHERE first = ?", (first,)).get
    if row is None:
        return True
    last, body = row
    said: set[Fact] = set()
    for segment in make_segments(connection, where, first, last):
        said.update(segment.facts())
    try:
        return said == set(read_segment(body).facts())
    except DamagedSegment:
        return False


def mend(connection: apsw.Connection, where: str, first: int) -> bool:
    """Write a segment again where it is not true; tell whether it was not."""
    if is_true(connection, where, first):
        return False
    last, records = connection.execute(
        "DELETE FROM segment WHERE first = ? RETURNING last, records", (first,)
    ).get
    _keep(connection, first, last, records, merge_segments(make_segments(connection, where, first, last)))
    return True


def are_whole(connection: apsw.Connection) -> bool:
    """Tell, without reading records, whether the segments cover what they should."""
    agrees = connection.execute("""
        SELECT records = tail_records + (SELECT coalesce(sum(records), 0) FROM segment)
           AND tail_records = (SELECT count(*) FROM record WHERE id > covered)
           AND covered >= (SELECT coalesce(max(last), 0) FROM segment)
           AND NOT EXISTS (
               SELECT 1 FROM (SELECT first, last, lag(last, 1, 0) OVER (ORDER BY first) AS past FROM segment)
               WHERE first <= past OR last < first)
        FROM state
    """).get
    return bool(agrees)


def read_segments(connection: apsw.Connection, where: str, after: int) -> Iterator[Segment]:
    """Yield the kept segments that reach beyond a number, in store order."""
    rows = connection.execute("SELECT first, last, body FROM segment WHERE last > ? ORDER BY first", (after,))
    for first, last, body in rows:
        try:
            yield read_segment(body)
        except DamagedSegment as error:
            _log.error("segment %d to %d of %s: %s", first, last, where, error)
            yield from make_segments(connection, where, first, last)


def make_segments(
    connection: apsw.Connection, where: str, first: int, last: int = _NO_END
) -> Iterator[Segment]:
    """Yield segments made from the records of a range, without keeping them."""
    while (end := _end_of_next(connection, first, last)) is not None:
        segment = read_segment(_segment_bytes(read_rows(connection, where, first, end)))
        if len(segment):
            yield segment
        first = end + 1


def _end_of_next(connection: apsw.Connection, first: int, last: int) -> int | None:
    """Return where a segment that begins here ends, by records and by bytes to read; None after the end."""
    rows = connection.execute(
        "SELECT id, coalesce(length(bytes), 0) FROM record WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
        (first, last, SEGMENT_RECORDS),
    )
    end, size = None, 0
    for number, length in rows:
        if number < first if end is None else number <= end:
            raise apsw.CorruptError(OUT_OF_ORDER)
        size += length
        if end is not None and size > TAIL_BYTES:
            break
        end = number
    return end


def _segment_bytes(rows: list[tuple[int, Record | None]]) -> bytes:
    return write_segment([(number, record) for number, record in rows if record is not None])


def _keep(connection: apsw.Connection, first: int, last: int, records: int, body: bytes) -> None:
    """Insert a segment, unless its range holds no records any more."""
    if records:
        connection.execute("INSERT INTO segment VALUES (?, ?, ?, ?)", (first, last, records, body))
