"""Parts of an import that are no valid records, set aside with their reasons: one JSON object a line.

    {"source": "…", "offset": 81, "bytes": 40, "code": "record/hash-mismatch", "error": "…", "raw": "<B64A>"}

Rules of this file:
1. A line is on its way to the disk before the journal counts it.
2. Nothing is ever cut away: several imports may add to one file, each whole lines at a time. A line that a
   lost disk or power left unfinished stays as it is, and the next one begins on a line of its own.
3. What the file tells of already is not told again, so an import that goes on or begins again repeats
   nothing. Only a line with the very bytes of the source counts: names alone may mean another file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from stat import S_ISREG
from types import TracebackType
from typing import Final, Self

from lace.errors import InputError, TextError
from lace.record import Rejected
from lace.stores import Source, file_faults
from lace.text import decode, encode

WAITING_BYTES: Final = 1024 * 1024


class RejectsIsSource(InputError):
    """A file of rejects that is to be imported as well."""

    code = "import/rejects-is-source"
    text = "{where} is one of the files to import: name another file for the rejects; nothing was imported"


def write_reject(source: str, part: Rejected) -> str:
    """Write a rejected part as a line of JSON, with its LF."""
    told_of = {
        "source": source,
        "offset": part.offset,
        "bytes": len(part.raw),
        "code": part.error.code,
        "error": str(part.error),
        "at": part.error.offset,
        "raw": encode(part.raw),
    }
    return json.dumps(told_of, ensure_ascii=False) + "\n"


class RejectFile:
    """The file that rejected parts are added to."""

    def __init__(self, path: Path, sources: Iterable[Source] = ()) -> None:
        """Open the file for what these sources hold; `RejectsIsSource` where it is one of them."""
        self.path = path
        given = list(sources)
        _refuse_source(path, given)
        files = {each.name: each.path for each in given if each.path is not None and each.identity}
        self._told, ends_in_a_line = _read_told(path, files)
        self._covered: tuple[str, int] = ("", 0)
        """The source of the last part, and up to where the file tells of it."""
        self._waiting = bytearray(b"" if ends_in_a_line else b"\n")
        with file_faults(path):
            self._file = path.open("ab")

    def add(self, source: str, part: Rejected) -> None:
        """Add one part, or what the file does not tell of yet."""
        end = self._covered[1] if self._covered[0] == source else 0
        end = max(end, part.offset)
        # The pieces of a long part may have been cut elsewhere the last time, but they follow each other.
        while (further := self._told.get((source, end), end)) > end:
            end = further
        self._covered = (source, end)
        if end > part.offset:
            if end >= part.offset + len(part.raw):
                return
            part = part._replace(offset=end, raw=part.raw[end - part.offset :])
        self._waiting += write_reject(source, part).encode("utf-8", "backslashreplace")
        if len(self._waiting) >= WAITING_BYTES:
            self.flush()

    def flush(self) -> int:
        """Let the system have everything; return the length."""
        waiting, self._waiting = self._waiting, bytearray()
        with file_faults(self.path):
            self._file.write(waiting)
            self._file.flush()
            return os.fstat(self._file.fileno()).st_size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.flush()
        finally:
            with file_faults(self.path):
                self._file.close()


def _refuse_source(path: Path, sources: Iterable[Source]) -> None:
    try:
        there = path.stat()
    except OSError:
        return  # a new file is no source, and what else may be wrong is told when it is opened
    if not S_ISREG(there.st_mode):
        return
    for source in sources:
        try:
            if source.path is not None:
                seen = source.path.stat()
            elif source.stream is not None:
                seen = os.fstat(source.stream.fileno())
            else:
                continue
        except (OSError, AttributeError):  # a stream in memory is no file
            continue
        if os.path.samestat(there, seen):
            raise RejectsIsSource(where=str(path))


def _read_told(path: Path, files: dict[str, Path]) -> tuple[dict[tuple[str, int], int], bool]:
    """Return where told parts of these files end, by name and offset, and whether the last line is whole."""
    told: dict[tuple[str, int], int] = {}
    line = b"\n"
    if not path.is_file():
        return told, True
    with file_faults(path), path.open("rb") as lines:
        for line in lines:
            try:
                content = json.loads(line)
                name, offset, raw = content["source"], content["offset"], decode(content["raw"])
                file = files.get(name)
                if file is not None and raw and _bytes_at(file, offset, len(raw)) == raw:
                    told[name, offset] = max(offset + len(raw), told.get((name, offset), 0))
            except (ValueError, KeyError, TypeError, AttributeError, TextError, RecursionError):
                continue  # a line of somebody else
    return told, line.endswith(b"\n")


def _bytes_at(file: Path, offset: int, length: int) -> bytes:
    with file_faults(file), file.open("rb") as opened:
        if not 0 <= offset < os.fstat(opened.fileno()).st_size:
            return b""
        opened.seek(offset)
        return opened.read(length)
