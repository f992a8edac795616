"""Records and bytes that several tests of this folder look at."""

from __future__ import annotations

from dataclasses import dataclass

from lace.errors import RecordError
from lace.record import (
    LIMITS,
    MARK,
    Accepted,
    Item,
    Record,
    RecordLimits,
    RecordReader,
    Rejected,
    inner_records,
    make_blob,
    make_plex,
    make_seal,
    parse_record,
)
from lace.text import digest, write_record_id
from tests.strategies import AUX, SECRETS

TAI = "1640995200:000000000"
NAMED = (("Group", "u/v"), ("App", "ding"), ("Name", "links/1"), ("TAI", TAI))
NAMED_BYTES = sum(len(f"{name}: {value}\n") for name, value in NAMED)

BLOB = make_blob(b"hello world")
PLEX = make_plex("u/v", "ding", "links/1", TAI, b"some data", [("Tag", "one"), ("Note", "x y ")])
SEAL = make_seal(PLEX, SECRETS[0], AUX)
SAMPLES: tuple[Record, ...] = (BLOB, PLEX, SEAL)
FIELDS = {
    "B": ["id", "type", "raw", "size", "data", "length"],
    "P": ["id", "type", "raw", "size", "group", "app", "name", "tai", "extra", "blob"],
    "S": ["id", "type", "raw", "size", "signer", "signature", "plex"],
}


def stored(letter: str, payload: bytes) -> bytes:
    """Put the right markline before any payload."""
    return MARK + write_record_id(letter, digest(payload)).encode() + b"\n" + payload


def header_part(*headers: tuple[str, str]) -> bytes:
    """Write header lines, right or wrong ones."""
    return "".join(f"{name}: {value}\n" for name, value in headers).encode("utf-8", "surrogatepass")


def plex_bytes(head: bytes, inner: bytes = BLOB.raw) -> bytes:
    """Write a Plex with any header part, that hashes."""
    return stored("P", head + inner)


def refusal(raw: bytes, limits: RecordLimits = LIMITS) -> RecordError:
    """Return the error of bytes that are no record."""
    try:
        record = parse_record(raw, limits)
    except RecordError as error:
        return error
    raise AssertionError(f"accepted: {record!r}")


@dataclass(frozen=True)
class Sized:
    """A Plex whose header part has so many lines or bytes, four of them named ones."""

    lines: int
    size: int

    @classmethod
    def of(cls, size: int) -> Sized:
        """Fill the size with lines that are nearly as long as allowed."""
        return cls(len(NAMED) + max(1, -(-(size - NAMED_BYTES) // 1000)), size)

    def head(self) -> bytes:
        """Write the header part."""
        count = self.lines - len(NAMED)
        left = self.size - NAMED_BYTES
        lengths = [left // count + (n < left % count) for n in range(count)] if count else []
        return header_part(*NAMED) + b"".join([b"X: " + b"v" * (length - 4) + b"\n" for length in lengths])


def read_all(stream: bytes, step: int = 0, limits: RecordLimits = LIMITS) -> list[Item]:
    """Read a whole stream, in pieces of `step` bytes, if one is given."""
    reader = RecordReader(limits)
    items: list[Item] = []
    for at in range(0, len(stream), step or max(1, len(stream))):
        items += reader.feed(stream[at : at + step] if step else stream)
    return items + reader.close()


def shown(items: list[Item]) -> list[tuple[object, ...]]:
    """Return what there is to see of items."""
    return [
        (item.offset, item.record.raw)
        if isinstance(item, Accepted)
        else (item.offset, item.raw, item.error.code, item.error.offset, str(item.error))
        for item in items
    ]


def told(record: Record) -> list[tuple[object, ...]]:
    """Return what a record says of itself, and what those inside it say."""
    layers = (record, *inner_records(record))
    return [(type(layer), *[getattr(layer, name) for name in FIELDS[layer.type]]) for layer in layers]


def joined(items: list[Item]) -> bytes:
    """Put the bytes of items together again."""
    return b"".join([item.record.raw if isinstance(item, Accepted) else item.raw for item in items])


def accepted(items: list[Item]) -> list[Record]:
    """Return the accepted records."""
    return [item.record for item in items if isinstance(item, Accepted)]


def rejected(items: list[Item]) -> list[Rejected]:
    """Return the rejected parts."""
    return [item for item in items if isinstance(item, Rejected)]
