"""The facts of up to a thousand records as columns: what a store keeps and an engine loads.

    magic  counts  store ids (u64)
    one column (u32) a singleton field: the position of a text, 0 where the record has none
    extra headers:  row, name, index, value        links:  row, name, index, data, target
    the texts, joined by LF (no value holds one)   BLAKE3 of all of it

Rules of this file:
1. A segment says nothing that its records do not say, and can be made from them again.
2. Texts are positions in the segment's own dictionary; they are read from the heap only when asked for.
3. Bytes that do not hash are refused: facts are believed only of validated records.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence

from lace.errors import Corrupt
from lace.facts.fact import Fact
from lace.record import Blob, Plex, Record, Seal, split_link
from lace.text import DIGEST_BYTES, RecordId, digest

MAGIC = b"LACESEG1"
_COUNTS = struct.Struct("<8s5I")

FIELDS = ("Data-Length", "Group", "App", "Name", "TAI", "Signed-By", "Signature")
"""The singleton fields that have a column; `Type` is the first letter of the id."""
COLUMNS = ("Id", *FIELDS, "BlobHash", "PlexHash")
EXTRAS = ("row", "name", "index", "value")
LINKS = ("row", "name", "index", "data", "target")


class DamagedSegment(Corrupt):
    """Segment bytes that are not what was written."""

    code = "store/segment"
    text = "a segment of fact columns is damaged ({reason}); it can be made again from the records"


class Segment:
    """Columns over records; row i of every column belongs to record i.

    >>> from lace.record import make_blob
    >>> segment = read_segment(write_segment([(1, make_blob(b"hello"))]))
    >>> segment.record_ids()[0][:2], list(segment.store_ids)
    ('B.', [1])
    """

    __slots__ = ("_heap", "_texts", "columns", "extras", "links", "store_ids")

    def __init__(
        self,
        store_ids: array[int],
        columns: dict[str, array[int]],
        extras: dict[str, array[int]],
        links: dict[str, array[int]],
        heap: bytes,
        texts: list[str] | None = None,
    ) -> None:
        self.store_ids = store_ids
        self.columns = columns
        """By name of `COLUMNS`: positions in `texts`, 0 where absent."""
        self.extras = extras
        """Extra headers: the record's row, then positions, but `index` is the number itself."""
        self.links = links
        self._heap = heap
        self._texts = texts

    def __len__(self) -> int:
        return len(self.store_ids)

    @property
    def texts(self) -> list[str]:
        """The dictionary; position 0 is no text."""
        if self._texts is None:
            self._texts = ["", *self._heap.decode("utf-8").split("\n")] if self._heap else [""]
        return self._texts

    def record_ids(self) -> list[RecordId]:
        """Return the id of each row."""
        texts = self.texts
        return [RecordId(texts[at]) for at in self.columns["Id"]]

    def values(self, column: str) -> list[str | None]:
        """Return one column as text, None where a record has no such field."""
        texts = self.texts
        if column == "Type":
            return [texts[at][0] for at in self.columns["Id"]]
        return [texts[at] if at else None for at in self.columns[column]]

    def extra_values(self) -> Iterator[tuple[int, str, int, str]]:
        """Yield (row, name, index, value) of each extra header, in record order."""
        texts = self.texts
        for row, name, index, value in zip(*self.extras.values(), strict=True):
            yield row, texts[name], index, texts[value]

    def facts(self) -> Iterator[Fact]:
        """Yield every record fact."""
        texts, ids = self.texts, self.record_ids()
        for p in ids:
            yield "Have", p
            yield "Field", p, "Type", "0", p[0]
        for name in FIELDS:
            for p, at in zip(ids, self.columns[name], strict=True):
                if at:
                    yield "Field", p, name, "0", texts[at]
        for predicate in ("BlobHash", "PlexHash"):
            for p, at in zip(ids, self.columns[predicate], strict=True):
                if at:
                    yield predicate, p, texts[at]
        for row, name, index, value in self.extra_values():
            yield "Field", ids[row], name, str(index), value
        for row, at, index, data, target in zip(*self.links.values(), strict=True):
            yield "RecordLink", ids[row], texts[at], str(index), texts[data], texts[target]

    def counts(self) -> dict[str, int]:
        """Return the number of facts of each record predicate."""
        size = len(self)
        present = {name: size - column.count(0) for name, column in self.columns.items()}
        return {
            "Have": size,
            "Field": size + sum(present[name] for name in FIELDS) + len(self.extras["row"]),
            "RecordLink": len(self.links["row"]),
            "BlobHash": present["BlobHash"],
            "PlexHash": present["PlexHash"],
        }


class _Draft:
    """Columns being filled, with one dictionary for all of them."""

    def __init__(self) -> None:
        self.dictionary: dict[str, int] = {}
        self.store_ids: list[int] = []
        self.columns: dict[str, list[int]] = {name: [] for name in COLUMNS}
        self.extras: dict[str, list[int]] = {name: [] for name in EXTRAS}
        self.links: dict[str, list[int]] = {name: [] for name in LINKS}

    def add_records(self, rows: Sequence[tuple[int, Record]]) -> None:
        first = len(self.store_ids)
        known = self.dictionary
        intern = known.setdefault
        records = [record for _, record in rows]
        self.store_ids += [store_id for store_id, _ in rows]
        plexes = [r if isinstance(r, Plex) else r.plex if isinstance(r, Seal) else None for r in records]
        lengths = [r.length if isinstance(r, Blob) else p.blob.length if p else 0
                   for r, p in zip(records, plexes, strict=True)]  # fmt: skip
        seals = [r if isinstance(r, Seal) else None for r in records]
        # The default of setdefault is computed first: the next free position, from 1.
        columns = self.columns
        columns["Id"] += [intern(r.id, len(known) + 1) for r in records]
        columns["Data-Length"] += [intern(str(length), len(known) + 1) for length in lengths]
        columns["Group"] += [intern(p.group, len(known) + 1) if p else 0 for p in plexes]
        columns["App"] += [intern(p.app, len(known) + 1) if p else 0 for p in plexes]
        columns["Name"] += [intern(p.name, len(known) + 1) if p else 0 for p in plexes]
        columns["TAI"] += [intern(p.tai, len(known) + 1) if p else 0 for p in plexes]
        columns["BlobHash"] += [intern(p.blob.id, len(known) + 1) if p else 0 for p in plexes]
        columns["Signed-By"] += [intern(s.signer, len(known) + 1) if s else 0 for s in seals]
        columns["Signature"] += [intern(s.signature, len(known) + 1) if s else 0 for s in seals]
        columns["PlexHash"] += [intern(s.plex.id, len(known) + 1) if s else 0 for s in seals]
        extras = [
            (row, intern(name, len(known) + 1), index, intern(value, len(known) + 1), name, value)
            for row, plex in enumerate(plexes, first)
            if plex and plex.extra
            for name, index, value in plex.indexed_extra()
        ]
        self._extend(self.extras, [extra[:4] for extra in extras])
        self._extend(
            self.links,
            [
                (row, at, index, intern(link[0], len(known) + 1), intern(link[1], len(known) + 1))
                for row, at, index, _, name, value in extras
                if name[0] == "+" and (link := split_link(name, value)) is not None
            ],
        )

    @staticmethod
    def _extend(columns: dict[str, list[int]], rows: list[tuple[int, ...]]) -> None:
        for column, values in zip(columns.values(), zip(*rows, strict=True), strict=False):
            column += values

    def add_segment(self, segment: Segment, without: Collection[int]) -> None:
        known = self.dictionary
        texts = segment.texts
        kept = [row for row, store_id in enumerate(segment.store_ids) if store_id not in without]
        new_row = dict(zip(kept, range(len(self.store_ids), len(self.store_ids) + len(kept)), strict=True))
        self.store_ids += [segment.store_ids[row] for row in kept]

        def place(at: int) -> int:
            return known.setdefault(texts[at], len(known) + 1) if at else 0

        for name, column in segment.columns.items():
            self.columns[name] += [place(column[row]) for row in kept]
        for mine, theirs in ((self.extras, segment.extras), (self.links, segment.links)):
            rows = [
                (new_row[row], place(name), index, *map(place, rest))
                for row, name, index, *rest in zip(*theirs.values(), strict=True)
                if row in new_row
            ]
            self._extend(mine, rows)

    def to_bytes(self) -> bytes:
        heap = "\n".join(self.dictionary).encode("utf-8")
        sizes = (len(self.store_ids), len(self.extras["row"]), len(self.links["row"]), len(heap))
        body = [_COUNTS.pack(MAGIC, *sizes, len(self.dictionary)), _pack("Q", self.store_ids)]
        for group in (self.columns, self.extras, self.links):
            body += [_pack("I", column) for column in group.values()]
        written = b"".join((*body, heap))
        return written + digest(written)


def _pack(code: str, numbers: Iterable[int]) -> bytes:
    packed = array(code, numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def write_segment(rows: Sequence[tuple[int, Record]]) -> bytes:
    """Write the facts of (store id, record) pairs as one segment."""
    draft = _Draft()
    draft.add_records(rows)
    return draft.to_bytes()


def make_segment(rows: Sequence[tuple[int, Record]]) -> Segment:
    """Make the segment of (store id, record) pairs that nobody keeps: without bytes, and read at once.

    >>> from lace.record import make_blob
    >>> rows = [(1, make_blob(b"hello"))]
    >>> list(make_segment(rows).facts()) == list(read_segment(write_segment(rows)).facts())
    True
    """
    draft = _Draft()
    draft.add_records(rows)
    columns, extras, links = (
        {name: array("I", column) for name, column in group.items()}
        for group in (draft.columns, draft.extras, draft.links)
    )
    return Segment(array("Q", draft.store_ids), columns, extras, links, b"", ["", *draft.dictionary])


def merge_segments(segments: Iterable[Segment], without: Collection[int] = ()) -> bytes:
    """Write segments as one, leaving out the records with these store ids."""
    draft = _Draft()
    for segment in segments:
        draft.add_segment(segment, without)
    return draft.to_bytes()


def read_segment(data: bytes) -> Segment:
    """Open segment bytes; raise `DamagedSegment` where they are not what was written."""
    if len(data) < _COUNTS.size + DIGEST_BYTES:
        raise DamagedSegment(reason="too short")
    body = memoryview(data)[:-DIGEST_BYTES]
    if digest(body) != data[-DIGEST_BYTES:]:
        raise DamagedSegment(reason="its hash does not match")
    magic, rows, extras, links, heap_bytes, _ = _COUNTS.unpack_from(data)
    if magic != MAGIC:
        raise DamagedSegment(reason="unknown format")
    at = _COUNTS.size
    numbers = 8 * rows + 4 * (len(COLUMNS) * rows + len(EXTRAS) * extras + len(LINKS) * links)
    if len(body) != at + numbers + heap_bytes:
        raise DamagedSegment(reason="its counts do not add up")

    def take(code: str, count: int) -> array[int]:
        nonlocal at
        column = array(code)
        column.frombytes(body[at : at + count * column.itemsize])
        if sys.byteorder == "big":
            column.byteswap()
        at += count * column.itemsize
        return column

    store_ids = take("Q", rows)
    columns = {name: take("I", rows) for name in COLUMNS}
    extra_columns = {name: take("I", extras) for name in EXTRAS}
    link_columns = {name: take("I", links) for name in LINKS}
    return Segment(store_ids, columns, extra_columns, link_columns, bytes(body[at : at + heap_bytes]))
