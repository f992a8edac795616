"""What peers advertised last time, kept beside a store (050, Cursors).

Rules of this file:
1. A cursor only saves bytes: what cannot be read or written, or is too much, is as good as none, and never
   an error.
2. What is kept is bounded: so many peers, the ones met last, and so many records of each.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final

from lace.errors import StoreError
from lace.interlace import Cursor
from lace.stores import SideFile, is_damaged, set_aside
from lace.text import are_foreign_record_ids

MOST_PEERS: Final = 64
MOST_RECORDS: Final = 100_000
MOST_BYTES: Final = 64 << 20
"""What a cursor may grow to when it is read: files are trusted less than memory."""
KIND: Final = 0x4C434355
STEPS: Final = ("CREATE TABLE cursor(key TEXT PRIMARY KEY, met INTEGER NOT NULL, body BLOB NOT NULL) STRICT",)

_NO_CURSOR: Final = (ValueError, TypeError, LookupError, AttributeError, RecursionError, zlib.error)
"""What comes of reading a body that another program wrote, or an accident."""

_log = logging.getLogger("lace.porcelain")


class KeptCursors(MutableMapping[str, Cursor]):
    """Cursors by link, in a file that several exchanges and processes may use."""

    def __init__(self, path: Path, *, like: Path | None = None) -> None:
        """Name the file; it is made when the first cursor is kept, no more open to others than `like`."""
        self._path = path
        self._like = like
        self._lock = Lock()
        self._opened: SideFile | None = None
        self._known: dict[str, Cursor] = {}
        """What was read or written last, so that an unchanged one is not written again."""

    def __getitem__(self, key: str) -> Cursor:
        with self._lock:
            rows: list[tuple[Any, ...]] = []
            if self._opened is not None or self._path.exists():
                try:
                    with self._file().reading() as reader:
                        rows = list(reader.rows("SELECT body FROM cursor WHERE key = ?", (key,)))
                except StoreError as error:
                    self._complain(error)
            if not rows:
                raise KeyError(key)
            try:
                cursor = _read(rows[0][0])
            except _NO_CURSOR:
                raise KeyError(key) from None
            self._known[key] = cursor
            return cursor

    def __setitem__(self, key: str, cursor: Cursor) -> None:
        with self._lock:
            if self._known.get(key) == cursor or len(cursor.claims) > MOST_RECORDS:
                return
            newest = "(SELECT coalesce(max(met), 0) + 1 FROM cursor)"
            try:
                with self._file().writing(durable=False) as writer:
                    writer.insert(f"REPLACE INTO cursor VALUES (?, {newest}, ?)", (key, _written(cursor)))
                    oldest = "SELECT key FROM cursor ORDER BY met DESC LIMIT -1 OFFSET ?"
                    writer.insert(f"DELETE FROM cursor WHERE key IN ({oldest})", (MOST_PEERS,))
            except StoreError as error:
                self._complain(error)
            else:
                self._known[key] = cursor

    def __delitem__(self, key: str) -> None:
        with self._lock:
            self._known.pop(key, None)
            if self._opened is None and not self._path.exists():
                return
            try:
                with self._file().writing(durable=False) as writer:
                    writer.insert("DELETE FROM cursor WHERE key = ?", (key,))
            except StoreError as error:
                self._complain(error)

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            if self._opened is None and not self._path.exists():
                return iter(())
            try:
                with self._file().reading() as reader:
                    return iter([row[0] for row in reader.rows("SELECT key FROM cursor ORDER BY met", ())])
            except StoreError as error:
                self._complain(error)
                return iter(())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def _file(self) -> SideFile:
        if self._opened is None:
            self._opened = SideFile(self._path, kind=KIND, steps=STEPS, like=self._like)
        return self._opened

    def _complain(self, error: StoreError) -> None:
        """Say once that nothing is remembered for now; a broken file makes room for another."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()
        if is_damaged(error):
            with suppress(StoreError):
                set_aside(self._path)
        else:
            _log.info("cursors are not remembered: %s [%s]", error, error.code)


def _written(cursor: Cursor) -> bytes:
    fields = None if cursor.fields is None else sorted(cursor.fields)
    value = [cursor.source, fields, cursor.claims]
    return zlib.compress(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), 1)


def _read(body: bytes) -> Cursor:
    opened = zlib.decompressobj()
    raw = opened.decompress(body, MOST_BYTES)
    if not opened.eof:
        raise ValueError("more than a cursor holds")
    source, fields, claims = json.loads(raw)
    if not are_foreign_record_ids([*claims]):
        # A root tells whether a guess is right; but what is no id lies in no partition, and no root agrees.
        raise ValueError("claims of something else than records")
    said = {
        str(record): tuple((str(name), str(index), str(value)) for name, index, value in claimed)
        for record, claimed in claims.items()
    }
    "".join([text for claimed in said.values() for claim in claimed for text in claim]).encode()  # or raise
    return Cursor(str(source), None if fields is None else frozenset(map(str, fields)), said)
