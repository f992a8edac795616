"""Captures: both directions of a stream in one file that people read and programs replay
(docs/design/capture.md).

    #lace-capture 1
    # began 2026-11-16 11:20:01Z, TAI 1794828038:000000000
    # > tcp:127.0.0.1:40112
    # < unix:/run/lace.sock
    #> 0.000214 431 preface, resource R.…, 2 facts
    …431 bytes as they went…
    #< 0.000913 12 preface
    …

Rules of this file:
1. The bytes of each direction are all there, in their order: what is behind `#>`, put together, is what the
   connecting side sent.
2. A record is never cut: tools that look for records find them in a capture as in any other file.
3. Whatever the bytes are, they are captured: what is no stream any more is told as bytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from lace.errors import InputError, TextError
from lace.iltp import Broken, Closed, FactBlock, Item, PhaseEnd, Preface, Reader, RecordBytes, Resource
from lace.porcelain.files import FileExists
from lace.porcelain.times import show_time
from lace.stores import file_faults, make_like
from lace.text import Tai, parse_tai

FIRST_LINE: Final = b"#lace-capture 1\n"
MOST_BYTES: Final = 256 << 20
"""A piece is one item and what stands around it; the largest one is a block or a record of 64 MiB."""
HELD_BYTES: Final = 128 << 20
LINE_BYTES: Final = 4096
FORTH, BACK = b"#>", b"#<"
_PIECE = re.compile(rb"#([<>]) (\d{1,12}\.\d{1,9}) (\d{1,10})(?: (.*))?\n", re.ASCII)
_BEGAN = re.compile(rb"# began .*TAI (\d{10}:\d{9})\n", re.ASCII)
_SIDE = re.compile(rb"# ([<>]) (.*)\n")
END: Final = "end"
NAMED: Final = 4
"""So many items of a piece are named; of more it is told how many there are."""


class NotACapture(InputError):
    """Bytes that are no capture."""

    code = "capture/format"
    text = "this is no capture, or a damaged one: {reason} (at byte {offset})"


class Piece(NamedTuple):
    """Some bytes of one direction, or its end."""

    forth: bool
    """Whether the connecting side sent them."""
    seconds: float
    """After the beginning of the capture, when the first of them came."""
    data: bytes
    note: str = ""

    @property
    def is_end(self) -> bool:
        """Whether the direction ended here."""
        return not self.data and self.note == END


@dataclass(slots=True)
class _Way:
    """One direction while it is captured."""

    reader: Reader = field(default_factory=Reader)
    held: bytearray = field(default_factory=bytearray)
    """Bytes that are not written yet: a line or a record that is not whole."""
    since: float = 0.0
    """When the first of them came."""
    items: list[Item] = field(default_factory=list)
    broken: bool = False
    """Whether this is no stream any more."""


def new_capture(path: Path, like: Path | None = None) -> BinaryIO:
    """Make the file of a capture; it holds records, and who may not read the store, `like`, may not read it.

    Where no store is known, nobody else may.
    """
    with file_faults(path):
        try:
            if like is None:
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            else:
                make_like(path, like)
            return path.open("wb")
        except FileExistsError:
            raise FileExists(where=str(path)) from None


class CaptureWriter:
    """Writes what a tap sees; to be called as one."""

    def __init__(
        self, file: BinaryIO, connecting: str, accepting: str, began: Tai, clock: Callable[[], float]
    ) -> None:
        self._file = file
        self._path = Path(str(getattr(file, "name", "the capture")))
        self._clock = clock
        self._start = clock()
        self._ways = {True: _Way(), False: _Way()}
        self.bytes = {True: 0, False: 0}
        """How many came in each direction."""
        head = f"# began {show_time(began)}, TAI {began}\n# > {_line(connecting)}\n# < {_line(accepting)}\n"
        self._put(FIRST_LINE + head.encode())

    def __call__(self, sent: bool, data: bytes) -> None:
        """Take bytes of one direction; empty bytes are its end."""
        way, now = self._ways[sent], self._clock() - self._start
        if not data:
            way.items += way.reader.close()
            self._write(sent, way, len(way.held))
            self._put(b"#%s %.6f 0 %s\n" % (b">" if sent else b"<", now, END.encode()))
            return
        if not way.held:
            way.since = now
        self.bytes[sent] += len(data)
        way.held += data
        items = way.reader.feed(data)
        way.broken = way.broken or any(isinstance(item, Broken) for item in items)
        way.items += items
        self._write(sent, way, _whole(way))

    def close(self) -> None:
        """Write what is left."""
        for sent, way in self._ways.items():
            self._write(sent, way, len(way.held))

    def _write(self, sent: bool, way: _Way, size: int) -> None:
        if not size:
            return
        note = describe_items(way.items)
        mark = FORTH if sent else BACK
        data = bytes(way.held[:size])
        head = b"%s %.6f %d %s\n" % (mark, way.since, size, note.encode())
        self._put(head, data if data.endswith(b"\n") else data + b"\n")
        del way.held[:size]
        way.items.clear()
        way.since = self._clock() - self._start

    def _put(self, *pieces: bytes) -> None:
        # An error of ours: one of the system would be taken for a broken connection.
        with file_faults(self._path):
            for piece in pieces:
                self._file.write(piece)
            self._file.flush()


def _whole(way: _Way) -> int:
    """Return how much of what is held can be written without cutting a record or a line."""
    if way.broken or len(way.held) > HELD_BYTES:
        return len(way.held)
    arriving = way.reader.arriving
    if arriving is not None:
        return max(0, len(way.held) - arriving.held)
    return way.held.rfind(b"\n") + 1


def describe_items(items: list[Item]) -> str:
    """Say in a line what some items are.

    >>> describe_items([Preface(), FactBlock(b"A()\\nB()\\n"), PhaseEnd()])
    'preface, 2 facts, blank line'
    """
    words = [_describe(item) for item in items[:NAMED]]
    if len(items) > NAMED:
        words.append(f"{len(items) - NAMED} more")
    return _line(", ".join(filter(None, words)) or "bytes")


def _describe(item: Item) -> str:
    match item:
        case Preface():
            return "preface"
        case FactBlock():
            lines = item.raw.count(b"\n")
            names = sorted({line.partition("(")[0] for line in _some_lines(item)})
            said = "setup" if "ExchangeOperand" in names else "hello" if "HelloTAI" in names else ""
            counted = f"{lines} fact" + ("" if lines == 1 else "s")
            return f"{said}: {counted}" if said else counted
        case Resource():
            return f"{item.kind} {item.id}"
        case RecordBytes():
            return f"record {item.id}"
        case PhaseEnd():
            return "blank line"
        case Broken():
            return f"no stream any more: {item.error} [{item.error.code}]"
        case Closed():
            return ""


def _some_lines(block: FactBlock) -> list[str]:
    return [line.decode(errors="replace") for line in block.raw[:LINE_BYTES].split(b"\n")]


def _line(text: str) -> str:
    """Return text that stays on its line, and is not too long for one."""
    plain = "".join(each if each.isprintable() else "?" for each in text)
    return plain.encode()[: LINE_BYTES // 2].decode(errors="ignore")


class Capture:
    """A capture that is read from its beginning, once."""

    def __init__(self, file: BinaryIO) -> None:
        """Read the head, or raise that this is none."""
        self._file = file
        self._offset = 0
        self.began: Tai | None = None
        self.addresses: dict[bool, str] = {}
        """Of the connecting side (True) and the accepting one."""
        if self._read_line() != FIRST_LINE:
            raise NotACapture(reason="it does not begin with '#lace-capture 1'", offset=0)
        self._next = self._read_line()
        while self._next.startswith(b"# "):
            self._read_head(self._next)
            self._next = self._read_line()

    def _read_head(self, line: bytes) -> None:
        if found := _BEGAN.fullmatch(line):
            try:
                self.began = parse_tai(found[1].decode())
            except TextError as error:
                raise NotACapture(reason=str(error), offset=self._offset) from None
        elif found := _SIDE.fullmatch(line):
            self.addresses[found[1] == b">"] = found[2].decode(errors="replace")

    def _read_line(self) -> bytes:
        line = self._file.readline(LINE_BYTES)
        self._offset += len(line)
        return line

    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces in the order in which they went; a piece that is cut off is the last."""
        line, self._next = self._next, b""
        while line:
            found = _PIECE.fullmatch(line)
            if found is None:
                if not line.endswith(b"\n") and len(line) < LINE_BYTES:
                    return  # whoever wrote it was stopped here
                raise NotACapture(reason=f"{line[:60]!r} begins no piece", offset=self._offset - len(line))
            size = int(found[3])
            if size > MOST_BYTES:
                raise NotACapture(reason=f"a piece of {size} bytes", offset=self._offset)
            data = self._file.read(size)
            self._offset += len(data)
            yield Piece(found[1] == b">", float(found[2]), data, (found[4] or b"").decode(errors="replace"))
            if len(data) < size:
                return
            if data and not data.endswith(b"\n") and self._file.read(1) != b"\n":
                raise NotACapture(reason="a piece is longer than it says", offset=self._offset)
            line = self._read_line()
