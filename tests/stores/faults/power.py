"""Power loss, simulated: a VFS that keeps a tape of what was written and synced, and a disk that forgets.

A store runs on `TapeVfs`, which passes everything on to the real file system and notes each write,
truncation, sync, creation and deletion. Then, for any moment of the tape, `Disk` says what a power loss may
leave: everything synced, and of the rest any part, sector by sector, in any order. The survivors are
written to a folder and opened by the store as it always runs.

Rules of this file:
1. What was synced survives. Of what was not, each 512-byte sector is new, old or (rarely) garbage.
2. A new or deleted name survives when its folder was synced: SQLite does that with the first sync of a new
   journal or log. Names that wait for it survive in the order in which they were made.
3. The shared memory file never survives; it is not on the tape.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path

import apsw

SECTOR = 512


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes put into a file."""

    name: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncate:
    """A file cut or lengthened."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Sync:
    """A file's bytes made durable; for a journal or log, its folder too."""

    name: str
    folder: bool


@dataclass(frozen=True, slots=True)
class Create:
    """A new, empty file."""

    name: str


@dataclass(frozen=True, slots=True)
class Delete:
    """A name taken away."""

    name: str
    folder: bool


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The store said that a step is done."""


Event = Write | Truncate | Sync | Create | Delete | Acknowledged


class TapeVfs(apsw.VFS):
    """Passes everything on, and notes what matters for durability."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tape: list[Event] = []
        super().__init__(name, "unix")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        assert path is not None, "the store keeps temporary files in memory"
        if not os.path.exists(path):
            self.tape.append(Create(os.path.basename(path)))
        return _TapeFile(self.tape, path, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self.tape.append(Delete(os.path.basename(filename), syncdir))

    def acknowledge(self) -> None:
        """Note that the store returned from a step."""
        self.tape.append(Acknowledged())


class _TapeFile(apsw.VFSFile):
    def __init__(
        self, tape: list[Event], path: str, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self._tape = tape
        self._name = os.path.basename(path)
        self._syncs_folder = bool(flags[0] & (apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_WAL))
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self._tape.append(Write(self._name, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        self._tape.append(Truncate(self._name, newsize))

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self._tape.append(Sync(self._name, self._syncs_folder))


@dataclass(slots=True)
class _File:
    """One file: what is durable, and what waits for a sync."""

    durable: bytearray = field(default_factory=bytearray)
    waiting: list[Write | Truncate] = field(default_factory=list)


class Disk:
    """The state of a folder at a moment of the tape."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._names = {name: _File(bytearray(data)) for name, data in files.items()}
        """As the running program sees them."""
        self._durable_names = dict(self._names)
        self._waiting_names: list[tuple[str, _File | None]] = []

    def apply(self, event: Event) -> None:
        """Go one event further."""
        if isinstance(event, Acknowledged):
            return
        if isinstance(event, Create):
            self._rename(event.name, _File())
        elif isinstance(event, Delete):
            self._rename(event.name, None)
            if event.folder:
                self._sync_folder()
        elif isinstance(event, Sync):
            file = self._names[event.name]
            for change in file.waiting:
                _change(file.durable, change)
            file.waiting.clear()
            if event.folder:
                self._sync_folder()
        else:
            self._names[event.name].waiting.append(event)

    def _rename(self, name: str, file: _File | None) -> None:
        if file is None:
            self._names.pop(name, None)
        else:
            self._names[name] = file
        self._waiting_names.append((name, file))

    def _sync_folder(self) -> None:
        _rename_all(self._durable_names, self._waiting_names)
        self._waiting_names.clear()

    def survivors(self, dice: random.Random) -> dict[str, bytes]:
        """Return what a power loss leaves now."""
        names = dict(self._durable_names)
        _rename_all(names, self._waiting_names[: dice.randint(0, len(self._waiting_names))])
        # Some losses take nearly all, some nearly nothing, some every second sector.
        kept = dice.choice((0.0, 0.1, 0.5, 0.9, 1.0))
        return {name: bytes(_after_loss(file, kept, dice)) for name, file in names.items()}


def _rename_all(names: dict[str, _File], changes: list[tuple[str, _File | None]]) -> None:
    for name, file in changes:
        if file is None:
            names.pop(name, None)
        else:
            names[name] = file


def _change(content: bytearray, change: Write | Truncate) -> None:
    if isinstance(change, Truncate):
        del content[change.size :]
        content.extend(bytes(change.size - len(content)))
    else:
        content.extend(bytes(max(0, change.offset - len(content))))
        content[change.offset : change.offset + len(change.data)] = change.data


def _after_loss(file: _File, kept: float, dice: random.Random) -> bytearray:
    content = bytearray(file.durable)
    for change in file.waiting:
        if isinstance(change, Truncate):
            if dice.random() < kept:
                _change(content, change)
            continue
        start, end = change.offset, change.offset + len(change.data)
        while start < end:
            stop = min(end, (start // SECTOR + 1) * SECTOR)
            if dice.random() < kept:
                piece = change.data[start - change.offset : stop - change.offset]
                if kept < 1.0 and dice.random() < 0.02:
                    piece = dice.randbytes(len(piece))
                _change(content, Write(change.name, start, piece))
            start = stop
    return content


def write_folder(folder: Path, files: dict[str, bytes]) -> None:
    """Put the survivors where the store can open them."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
