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
3. Where there is no child, or none any more, records come out as they went in.
"""

from __future__ import annotations

import marshal
import select
import signal
import struct
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from threading import Semaphore
from typing import IO, TYPE_CHECKING, Final

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
_CHILD: Final = "from lace.porcelain.checkahead import main; main()"
_SIZE: Final = struct.Struct("<Q")
_READY: Final = b"."


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
        self._child: subprocess.Popen[bytes] | None = None
        self._tried = False
        self._ready = False
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
        if not given:
            return ()
        try:
            assert self._child is not None
            assert self._child.stdout is not None
            records = unpack_fields(_receive(self._child.stdout), [each.raw for each in given])
        except (OSError, EOFError):
            self.close()
            return given
        return [
            each if record is None else Checked(each.id, each.raw, record)
            for each, record in zip(given, records, strict=True)
        ]

    def close(self) -> None:
        """Let go of the child, where there is one."""
        child, self._child, self._ready = self._child, None, False
        self._with_child = ()
        if child is None:
            return
        child.kill()
        for pipe in (child.stdin, child.stdout):
            with suppress(OSError):
                assert pipe is not None
                pipe.close()
        child.wait()
        self._places.release()

    def _start(self) -> None:
        if not self._places.acquire(blocking=False):
            return
        # -P: the current folder is the user's, not a place to import from.
        command = [sys.executable, "-P", "-c", _CHILD]
        try:
            self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError:
            self._places.release()

    def _is_ready(self) -> bool:
        """Tell whether the child has started; until then nobody waits for it."""
        if self._child is None or self._ready:
            return self._ready
        assert self._child.stdout is not None
        if select.select([self._child.stdout], [], [], 0)[0]:
            self._ready = self._child.stdout.read(1) == _READY
            if not self._ready:
                self.close()
        return self._ready

    def _send(self, came: Sequence[RecordBytes]) -> bool:
        assert self._child is not None
        assert self._child.stdin is not None
        try:
            _send(self._child.stdin, marshal.dumps([each.raw for each in came]))
        except OSError:
            self.close()
            return False
        self._with_child = came
        return True


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
