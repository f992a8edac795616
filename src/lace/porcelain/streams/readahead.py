"""Reading and checking records in a process of its own, ahead of the one that stores them.

    this process                         the child
    store a thousand records   ◀── pipe ──  read, parse, hash, verify the next ones

Parsing and SQLite each keep a core busy, and threads do not run Python side by side. The pipe holds the child
back when the store is the slower one.

Rules of this file:
1. Items come out in the order and with the offsets that a reader in this process gives; the pieces of one
   bad part share one error, as they do there.
2. A child that ends without saying so is an error: nothing is taken for the end of a source but its end.
"""

from __future__ import annotations

import fcntl
import marshal
import os
import pickle
import signal
import struct
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, BinaryIO, Final

from lace.errors import Unavailable
from lace.record import Accepted, Item, Record, RecordReader, Rejected, pack_records, unpack_records

CHUNK_BYTES: Final = 1024 * 1024
WORTH_BYTES: Final = 8 * 1024 * 1024
"""A smaller file is read before a child has started."""
PIPE_BYTES: Final = 1024 * 1024
_CHILD: Final = "from lace.porcelain.streams.readahead import main; main()"
_RUN: Final = 500
_FRAME: Final = struct.Struct("<cQ")
_RECORDS, _REJECTED, _END, _FAULT = b"A", b"R", b"E", b"F"


class ReaderLost(Unavailable):
    """The reading process went away."""

    code = "import/reader-lost"
    text = "{where}: the process that reads it ended early; what was stored stays, run the import again"


def read_items(file: BinaryIO, offset: int) -> Generator[list[Item], None, None]:
    """Yield the items of an open file from an offset, read in this process."""
    reader = RecordReader(offset=offset)
    # What a pipe has at the moment, not all of a chunk: it may wait long for the rest of it.
    read = getattr(file, "read1", file.read)
    while chunk := read(CHUNK_BYTES):
        yield reader.feed(chunk)
    yield reader.close()


def is_worth_it(size: int | None, offset: int) -> bool:
    """Tell whether a file is long enough, and this machine wide enough, for a process of its own."""
    return size is not None and size - offset >= WORTH_BYTES and count_cores() > 1


def count_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _widen(pipe: IO[bytes]) -> None:
    """Let the child work on while a commit waits for the disk: a pipe holds 64 KiB by itself."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):  # a system may allow less to one user; the pipe works as it is
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def read_items_ahead(path: Path, offset: int) -> Generator[list[Item], None, None]:
    """Yield the items of a file from an offset, read by a child process."""
    # -P: the current folder is the user's, not a place to import from.
    command = [sys.executable, "-P", "-c", _CHILD, os.path.abspath(path), str(offset)]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert child.stdout is not None
    _widen(child.stdout)
    try:
        yield from _frames(child.stdout, path)
    finally:
        child.stdout.close()
        child.kill()
        child.wait()


def _frames(pipe: IO[bytes], path: Path) -> Iterator[list[Item]]:
    reason, error = -1, None
    while True:
        head = pipe.read(_FRAME.size)
        if len(head) < _FRAME.size:
            raise ReaderLost(where=str(path))
        kind, size = _FRAME.unpack(head)
        body = pipe.read(size)
        if len(body) < size:
            raise ReaderLost(where=str(path))
        if kind == _END:
            return
        if kind == _FAULT:
            number, words = marshal.loads(body)
            raise OSError(number, words, str(path))
        if kind == _REJECTED:
            number, rejected = pickle.loads(body)
            if number != reason:
                reason, error = number, rejected.error
            yield [rejected._replace(error=error)]
        else:
            offsets, packed = marshal.loads(body)
            yield list(map(Accepted, offsets, unpack_records(packed)))


def main() -> None:
    """Be the child: read the file that the arguments name and write frames."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # whoever started this decides
    path, offset = Path(sys.argv[1]), int(sys.argv[2])
    out = sys.stdout.buffer
    try:
        try:
            with path.open("rb") as file:
                file.seek(offset)
                reasons = _Reasons()
                for items in read_items(file, offset):
                    _write_items(out, items, reasons)
            _write(out, _END, b"")
        except BrokenPipeError:
            raise
        except OSError as error:
            _write(out, _FAULT, marshal.dumps((error.errno or 0, error.strerror or str(error))))
        out.flush()
    except BrokenPipeError:
        os._exit(1)  # the other side has stopped; there is nobody to tell


class _Reasons:
    """Numbers for errors: the pieces of one bad part have the same."""

    def __init__(self) -> None:
        self._last: object = None
        self._number = 0

    def number(self, error: object) -> int:
        if error is not self._last:
            self._last = error
            self._number += 1
        return self._number


def _write_items(out: BinaryIO, items: list[Item], reasons: _Reasons) -> None:
    offsets: list[int] = []
    records: list[Record] = []
    for item in items:
        if type(item) is Accepted:
            offsets.append(item.offset)
            records.append(item.record)
            if len(records) < _RUN:
                continue
        if records:
            _write(out, _RECORDS, marshal.dumps((offsets, pack_records(records))))
            offsets, records = [], []
        if type(item) is Rejected:
            _write(out, _REJECTED, pickle.dumps((reasons.number(item.error), item)))
    if records:
        _write(out, _RECORDS, marshal.dumps((offsets, pack_records(records))))


def _write(out: BinaryIO, kind: bytes, body: bytes) -> None:
    out.write(_FRAME.pack(kind, len(body)))
    out.write(body)
