"""Checking records of a long transfer in a process of its own, while this one stores those before them.

    this process                               the child
    read the stream, cut out records  ── pipe ──▶  parse, hash, verify them
    store the ones before             ◀── pipe ──  what they say

Hashes and signatures keep one core busy and a store another, and threads do not run Python side by side.

Rules of this file:
1. Records come out in the order in which they went in. What the child did not accept comes out unchecked:
   whoever parses it finds out what is wrong with it.
2. A few runs are with the child at a time: it goes on while this process is busy with something else. Whoever
   gives it another one reads what it says meanwhile, so neither ever waits for the other to read.
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
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Semaphore
from typing import IO, TYPE_CHECKING, Final

from lace._version import __version__
from lace.errors import RecordError
from lace.porcelain.streams.readahead import count_cores
from lace.record import LIMITS, Record, RecordLimits, pack_fields, parse_record, unpack_fields
from lace.text import RecordId

if TYPE_CHECKING:  # the child starts without all that is needed for an exchange
    from lace.iltp import RecordBytes
    from lace.interlace import Unchecked

WORTH_RECORDS: Final = 30_000
"""Fewer are checked before a child has started and caught up."""
LARGE_BYTES: Final = 64 << 10
"""A larger record takes longer to be carried over than to be hashed."""
RUNS: Final = 8
"""So many runs may be with the child before somebody waits for it."""
CHILDREN: Final = 1
"""So many exchanges of a process have a child at the same time; others check for themselves."""
ANSWER_SECONDS: Final = 5.0
"""A run is checked in some hundredths of a second. Who waits longer checks it himself."""
PIPE_BYTES: Final = 1 << 20
"""What a pipe is to hold, where the system lets us say that: a run goes into it at once."""
READ_BYTES: Final = 256 << 10
ANSWER_BYTES: Final = 64 << 20
"""No run has so much to say: who announces more talks nonsense."""
_HERE: Final = Path(__file__).resolve()
_CHILD: Final = (
    "import sys; sys.path.append(sys.argv[1]); from lace.porcelain.exchanges.checkahead import main; main()"
)
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
        self._with_child: deque[Sequence[RecordBytes]] = deque()

    def expect(self, records: int) -> None:
        """Get ready where many records are about to come."""
        if not self._tried and records >= WORTH_RECORDS and count_cores() > 1:
            self._tried = True
            self._start()

    def give(self, came: Sequence[RecordBytes]) -> Sequence[Unchecked]:
        """Take records that came; return those before them that are checked."""
        if not self._is_ready() or any(each.size > LARGE_BYTES for each in came):
            return [*self.rest(), *came]
        before = self._collect(RUNS - 1)  # and perhaps there is no child any more
        return before if self._send(came) else [*before, *self._let_go(), *came]

    def rest(self) -> Sequence[Unchecked]:
        """Wait for what is with the child, and return it."""
        return self._collect(0)

    def _collect(self, most: int) -> list[Unchecked]:
        """Return what is checked by now; no more than so many runs are left with the child."""
        checked: list[Unchecked] = []
        while self._with_child and self._child is not None:
            given = self._with_child[0]
            try:
                said = self._child.receive(waits=len(self._with_child) > most)
                if said is None:
                    break
                records = unpack_fields(said, [each.raw for each in given])
            except Exception:  # whatever it says, or does not: the records are here, and can be checked here
                checked += self._let_go()
                break
            self._with_child.popleft()
            checked += [
                each if record is None or record.id != each.id else Checked(each.id, each.raw, record)
                for each, record in zip(given, records, strict=True)
            ]
        return checked

    def close(self) -> Sequence[Unchecked]:
        """Let go of the child, where there is one; return what it has not given back, as it went there."""
        self._tried = False
        return self._let_go()

    def _let_go(self) -> list[RecordBytes]:
        # Where a child was no good, no other is tried before the transfer is over.
        child, self._child = self._child, None
        given = [each for run in self._with_child for each in run]
        self._with_child.clear()
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
        if self._child is None:
            return False
        try:
            self._child.send(marshal.dumps([each.raw for each in came]))
        except (OSError, EOFError):
            return False
        self._with_child.append(came)
        return True


class _Child:
    """The child as this process sees it: nobody waits for it longer than a few seconds."""

    def __init__(self) -> None:
        # -P: the current folder is the user's, not a place to import from.
        command = [sys.executable, "-P", "-c", _CHILD, str(_HERE.parents[3])]
        self._process = subprocess.Popen(command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._greeting = b""
        self._said = bytearray()
        """What it said and nobody took yet."""
        for pipe in (self._to, self._from):
            os.set_blocking(pipe, False)
            _widen(pipe)

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
        """Give it something; what it says meanwhile is kept, so that it can go on."""
        until = time.monotonic() + ANSWER_SECONDS
        left = memoryview(_SIZE.pack(len(body)) + body)
        while True:
            with suppress(BlockingIOError):
                left = left[os.write(self._to, left) :]
            if not left:
                return
            asked = select.poll()
            asked.register(self._to, select.POLLOUT)
            asked.register(self._from, select.POLLIN)
            able = asked.poll(max(0.0, until - time.monotonic()) * 1000)
            if not able:
                raise TimeoutError
            if self._from in dict(able):
                self._said += self._read(READ_BYTES)

    def receive(self, *, waits: bool) -> bytes | None:
        """Return what it answers next; None where nobody waits and it has not answered yet."""
        until = time.monotonic() + ANSWER_SECONDS
        while (said := self._take()) is None:
            if not _can(self._from, select.POLLIN, max(0.0, until - time.monotonic()) if waits else 0.0):
                if waits:
                    raise TimeoutError
                return None
            self._said += self._read(READ_BYTES)
        return said

    def _take(self) -> bytes | None:
        """Take an answer that has come whole."""
        if len(self._said) < _SIZE.size:
            return None
        (size,) = _SIZE.unpack_from(self._said)
        if size > ANSWER_BYTES:
            raise ValueError("no answer is so long")
        end = _SIZE.size + size
        if len(self._said) < end:
            return None
        answer = bytes(memoryview(self._said)[_SIZE.size : end])
        del self._said[:end]
        return answer

    def end(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                assert pipe is not None
                pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(ANSWER_SECONDS)

    def _read(self, most: int) -> bytes:
        data = os.read(self._from, most)
        if not data:
            raise EOFError
        return data


def _widen(pipe: int) -> None:
    """Let a pipe hold more than it does by itself, where that can be said."""
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def _can(pipe: int, what: int, seconds: float) -> bool:
    """Tell whether a pipe can be read or written, or fails, within so many seconds."""
    # Not select.select: that takes no pipe whose number is 1024 or more.
    asked = select.poll()
    asked.register(pipe, what)
    return bool(asked.poll(seconds * 1000))


def main() -> None:
    """Be the child: check what comes, until nothing more does."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # whoever started this decides
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
