"""Blob, Plex and Seal: windows on validated bytes (010).

Rules of this file:
1. Only `check.py` makes these, after everything was verified: to hold one is to hold a valid record.
2. A record is its content: equality and hash are those of its id. It never changes.
3. A record goes to another process as its bytes, and is checked again where it arrives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from lace.record.grammar import split_link
from lace.text import RecordId, Tai, Verifier


@dataclass(frozen=True, slots=True)
class RecordLink:
    """One well-formed link header; `index` counts all headers of that name."""

    name: str
    index: int
    data: str
    target: str
    """Of any supported or unsupported format: a claim, not something we have."""


class _Window:
    """Bytes `start` to `end` of a buffer, with the id they hash to."""

    __slots__ = ("_buffer", "_end", "_start", "id")
    type: str

    id: RecordId
    _buffer: bytes
    _start: int
    _end: int

    def __init__(self) -> None:
        raise TypeError("records come from parse_record, make_blob, make_plex and make_seal")

    @property
    def raw(self) -> bytes:
        """The stored form: markline and payload."""
        if self._start == 0 and self._end == len(self._buffer):
            return self._buffer
        return self._buffer[self._start : self._end]

    @property
    def size(self) -> int:
        """The number of bytes of the stored form."""
        return self._end - self._start

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, _Window) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}, {self.size} bytes>"

    def __setattr__(self, name: str, value: Any, /) -> None:
        raise AttributeError(f"a record never changes: {name!r} cannot be set")

    def __delattr__(self, name: str, /) -> None:
        raise AttributeError(f"a record never changes: {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        from lace.record.check import reopen_record  # which imports this file

        return reopen_record, (self.raw,)


class Blob(_Window):
    """Data, and nothing said about it."""

    __slots__ = ("_data", "length")
    type = "B"

    length: int
    _data: int

    @property
    def data(self) -> bytes:
        """The bytes that the Blob carries."""
        return self._buffer[self._data : self._end]


class Plex(_Window):
    """A Blob with a place (group, app, name), a time and headers."""

    __slots__ = ("app", "blob", "extra", "group", "name", "tai")
    type = "P"

    group: str
    app: str
    name: str
    tai: Tai
    extra: tuple[tuple[str, str], ...]
    blob: Blob

    def indexed_extra(self) -> list[tuple[str, int, str]]:
        """Return (name, occurrence index, value) of each extra header, in record order."""
        seen: dict[str, int] = {}
        indexed = []
        for name, value in self.extra:
            index = seen.get(name, 0)
            seen[name] = index + 1
            indexed.append((name, index, value))
        return indexed

    def links(self) -> list[RecordLink]:
        """Return the well-formed link headers, in record order."""
        return [
            RecordLink(name, index, *link)
            for name, index, value in self.indexed_extra()
            if (link := split_link(name, value)) is not None
        ]


class Seal(_Window):
    """A Plex that somebody signed."""

    __slots__ = ("plex", "signature", "signer")
    type = "S"

    signer: Verifier
    signature: str
    plex: Plex


Record: TypeAlias = Blob | Plex | Seal


# A record that is being filled is of an open class and becomes one of the closed class when it is complete:
# ten stores and one change of class take a quarter of the time of ten calls of object.__setattr__.


class OpenBlob(Blob):
    """A Blob while `check.py` fills it."""

    __slots__ = ()
    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__

    def __init__(self, id: RecordId, buffer: bytes, start: int, end: int, data: int) -> None:
        self.id = id
        self._buffer = buffer
        self._start = start
        self._end = end
        self._data = data
        self.length = end - data
        self.__class__ = Blob  # type: ignore[assignment]


class OpenPlex(Plex):
    """A Plex while `check.py` fills it."""

    __slots__ = ()
    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__

    def __init__(
        self,
        id: RecordId,
        buffer: bytes,
        start: int,
        end: int,
        group: str,
        app: str,
        name: str,
        tai: Tai,
        extra: tuple[tuple[str, str], ...],
        blob: Blob,
    ) -> None:
        self.id = id
        self._buffer = buffer
        self._start = start
        self._end = end
        self.group = group
        self.app = app
        self.name = name
        self.tai = tai
        self.extra = extra
        self.blob = blob
        self.__class__ = Plex  # type: ignore[assignment]


class OpenSeal(Seal):
    """A Seal while `check.py` fills it."""

    __slots__ = ()
    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__

    def __init__(
        self, id: RecordId, buffer: bytes, start: int, end: int, signer: Verifier, signature: str, plex: Plex
    ) -> None:
        self.id = id
        self._buffer = buffer
        self._start = start
        self._end = end
        self.signer = signer
        self.signature = signature
        self.plex = plex
        self.__class__ = Seal  # type: ignore[assignment]
