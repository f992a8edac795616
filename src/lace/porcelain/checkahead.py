"""Checking records of a long transfer in a process of its own, while this one stores those before them.

    this process                               the child
    read the stream, cut out records  ── pipe ──▶  parse, hash, verify them
    store the ones before             ◀── pipe ──  what they say

Hashes and signatures keep one core busy and a store another, and threads do not run Python side by side.

Rules of this file:
1. Records come out in the order in which they went in. What the child did not accept comes out unchecked:
   whoever parses it finds out what is wrong with it.
2. One run is with the child at a time, and its outcome is read before the next one goes there: neither side
   ever waits for the other to read.
3. Where there is no child, or none any more, records come out as they went in. A child that does not answer,
   or answers nonsense, is none any more: it never keeps an exchange waiting, and never ends one.
4. The child runs the same code: it says which, and is not asked anything before that.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Semaphore
from typing import IO, TYPE_CHECKING, Final

from lace._version import __version__
from lace.errors import RecordError
from lace.porcelain.readahead import count_cores
from lace.record import LIMITS, Record, RecordLimits, pack_fields, parse_record, unpack_fields
from lace.text import RecordId

if TYPE_CHECKING:  # the child starts without all that is needed for an exchange
    from lace.iltp import RecordBytes
    from lace.interlace import Unchecked

WORTH_RECORDS: Final = 30_000
"""Fewer are checked before a child has started and caught up."""
LARGE_BYTES: Final = 64 << 10
"""A larger record takes longer to be carried over than to be hashed."""
CHILDREN: Final = 1
"""So many exchanges of a process have a child at the same time; others check for themselves."""
ANSWER_SECONDS: Final = 5.0
"""A run is checked in some hundredths of a second. Who waits longer checks it himself."""
READ_BYTES: Final = 64 << 10
_HERE: Final = Path(__file__).resolve()
_CHILD: Final = "import sys; sys.path.append(sys.argv[1]); from lace.porcelain.checkahead import main; main()"
_SIZE: Final = struct.Struct("<Q")
_READY: Final = os.fsencode(f"lace {__version__} {_HERE}\n")
"""What a child says first: a lace that is found elsewhere, or is of another version, is not this one."""


class Checked:
    """A record that the child accepted."""

    __slots__ = ("_record", "id", "raw")

    def __init__(self, id: RecordId, raw: bytes, record: Record) -> None:
        self.id = id
        self.raw = raw
        self._record = record

    def parse(self, limits: RecordLimits) -> Record:
        """Return the record; the child went by the usual limits."""
        return self._record if limits is LIMITS or limits == LIMITS else parse_record(self.raw, limits)


class CheckAhead:
    """Lets the records of one exchange be checked ahead, where there are many."""

    def __init__(self, places: Semaphore) -> None:
        """Begin without a child; it needs one of these places."""
        self._places = places
        self._child: _Child | None = None
        self._tried = False
        self._with_child: Sequence[RecordBytes] = ()

    def give(self, came: Sequence[RecordBytes], expected: int) -> Sequence[Unchecked]:
        """Take records that came, and so many are expected still; return those that are checked."""
        if not self._tried and expected >= WORTH_RECORDS and count_cores() > 1:
            self._tried = True
            self._start()
        before = self.rest()
        if not self._is_ready() or any(each.size > LARGE_BYTES for each in came) or not self._send(came):
            return [*before, *came]
        return before

    def rest(self) -> Sequence[Unchecked]:
        """Wait for what is with the child, and return it."""
        given, self._with_child = self._with_child, ()
        if not given or self._child is None:
            return given
        try:
            records = unpack_fields(self._child.receive(), [each.raw for each in given])
        except Exception:  # whatever it says, or does not: the records are here, and can be checked here
            self._let_go()
            return given
        return [
            each if record is None or record.id != each.id else Checked(each.id, each.raw, record)
            for each, record in zip(given, records, strict=True)
        ]

    def close(self) -> Sequence[Unchecked]:
        """Let go of the child, where there is one; return what it has not given back, as it went there."""
        self._tried = False
        return self._let_go()

    def _let_go(self) -> Sequence[RecordBytes]:
        # Where a child was no good, no other is tried before the transfer is over.
        child, self._child = self._child, None
        given, self._with_child = self._with_child, ()
        if child is not None:
            try:
                child.end()
            finally:
                self._places.release()
        return given

    def _start(self) -> None:
        # Somebody who embeds Python may have no interpreter to start; and not every system can ask a pipe.
        if not sys.executable or not hasattr(select, "poll") or not self._places.acquire(blocking=False):
            return
        try:
            self._child = _Child()
        except (OSError, ValueError, RuntimeError, subprocess.SubprocessError):
            pass  # then there is none
        finally:
            if self._child is None:
                self._places.release()

    def _is_ready(self) -> bool:
        """Tell whether the child has started; until then nobody waits for it."""
        if self._child is None:
            return False
        try:
            return self._child.is_ready()
        except (OSError, EOFError, ValueError):
            self._let_go()
            return False

    def _send(self, came: Sequence[RecordBytes]) -> bool:
        assert self._child is not None
        try:
            self._child.send(marshal.dumps([each.raw for each in came]))
        except (OSError, ValueError):
            self._let_go()
            return False
        self._with_child = came
        return True


class _Child:
    """The child as this process sees it: nobody waits for it longer than a few seconds."""

    def __init__(self) -> None:
        # -P: the current folder is the user's, not a place to import from.
        command = [sys.executable, "-P", "-c", _CHILD, str(_HERE.parents[2])]
        self._process = subprocess.Popen(command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._greeting = b""
        os.set_blocking(self._to, False)

    def is_ready(self) -> bool:
        """Tell whether it has started; raise where it is not what was to be started."""
        while self._greeting != _READY:
            if not _can(self._from, select.POLLIN, 0.0):
                return False
            self._greeting += self._read(len(_READY) - len(self._greeting))
            if not _READY.startswith(self._greeting):
                raise ValueError("the child is another program, or another version of this one")
        return True

    def send(self, body: bytes) -> None:
        """Give it something."""
        until = time.monotonic() + ANSWER_SECONDS
        left = memoryview(_SIZE.pack(len(body)) + body)
        while left:
            _await(self._to, select.POLLOUT, until)
            left = left[os.write(self._to, left) :]

    def receive(self) -> bytes:
        """Return what it answers."""
        until = time.monotonic() + ANSWER_SECONDS
        (size,) = _SIZE.unpack(self._read_all(_SIZE.size, until))
        return self._read_all(size, until)

    def end(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                assert pipe is not None
                pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(ANSWER_SECONDS)

    def _read_all(self, size: int, until: float) -> bytes:
        read = bytearray()
        while len(read) < size:
            _await(self._from, select.POLLIN, until)
            read += self._read(min(size - len(read), READ_BYTES))
        return bytes(read)

    def _read(self, most: int) -> bytes:
        data = os.read(self._from, most)
        if not data:
            raise EOFError
        return data


def _await(pipe: int, what: int, until: float) -> None:
    if not _can(pipe, what, max(0.0, until - time.monotonic())):
        raise TimeoutError


def _can(pipe: int, what: int, seconds: float) -> bool:
    """Tell whether a pipe can be read or written, or fails, within so many seconds."""
    # Not select.select: that takes no pipe whose number is 1024 or more.
    asked = select.poll()
    asked.register(pipe, what)
    return bool(asked.poll(seconds * 1000))


def main() -> None:
    """Be the child: check what comes, until nothing more does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this decides
    came, out = sys.stdin.buffer, sys.stdout.buffer
    with suppress(OSError, EOFError):
        out.write(_READY)
        out.flush()
        while True:
            _send(out, pack_fields([_check(raw) for raw in marshal.loads(_receive(came))]))


def _check(raw: bytes) -> Record | None:
    try:
        return parse_record(raw)
    except RecordError:
        return None


def _send(pipe: IO[bytes], body: bytes) -> None:
    pipe.write(_SIZE.pack(len(body)))
    pipe.write(body)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes:
    head = pipe.read(_SIZE.size)
    if len(head) < _SIZE.size:
        raise EOFError
    (size,) = _SIZE.unpack(head)
    body = pipe.read(size)
    if len(body) < size:
        raise EOFError
    return body
