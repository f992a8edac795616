"""Streams, texts and ways to look at items that several tests of this folder use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lace.iltp import (
    LACEGRAM,
    PREFACE,
    Broken,
    Closed,
    FactBlock,
    Item,
    PhaseEnd,
    Preface,
    Reader,
    RecordBytes,
    Resource,
    StreamFault,
    StreamLimits,
    make_resource,
    write,
)
from lace.record import make_blob, make_plex, make_seal
from tests.golden import load_vectors
from tests.strategies import AUX, SECRETS

LACEGRAM_TEXT = b"SelectAdvertised(P,S) :- Advertised(P,S).\nSelectHave(P) :- Have(P)."
RULES = make_resource(LACEGRAM, LACEGRAM_TEXT)
PLAN_TEXT = load_vectors("plan")["plans"][0]["transcript"].encode()
PLAN = make_resource("exchange-plan", PLAN_TEXT)

HELLO_WORLD = make_blob(b"hello world")
PLEX = make_plex("u", "ding", "links/1", "1640995200:000000000", b"some data", [("Tag", "one")])
SEAL = make_seal(PLEX, SECRETS[0], AUX)

SMALL = StreamLimits(
    fact_line_bytes=40,
    comment_bytes=12,
    marker_line_bytes=80,
    resource_bytes=90,
    resource_lines=3,
    resources=3,
    block_bytes=100,
)


def resource_bytes(id: str, body: bytes, kind: str = LACEGRAM) -> bytes:
    """Write a resource that may be wrong in any way."""
    return b"%b%b %b\n%b\n\n" % ("🧩: ".encode(), id.encode(), kind.encode(), body)


def read(stream: bytes, reader: Reader | None = None, size: int | None = None) -> list[Item]:
    """Read a whole direction, in pieces of this size, up to its end."""
    reader = reader or Reader()
    size = size or max(1, len(stream))
    items = [item for at in range(0, len(stream), size) for item in reader.feed(stream[at : at + size])]
    return items + reader.close()


def read_after_preface(stream: bytes, reader: Reader | None = None) -> list[Item]:
    """Read a direction whole and byte by byte, which gives the same; leave its preface out of the items."""
    items = read(PREFACE + stream, reader)
    if reader is None:
        assert told(read(PREFACE + stream, size=1 if len(stream) < 50_000 else 997)) == told(items)
    assert items[0] == Preface()
    return items[1:]


def fault(stream: bytes, reader: Reader | None = None) -> StreamFault:
    """Return the fault that ends a direction, preface first."""
    last = read_after_preface(stream, reader)[-1]
    assert isinstance(last, Broken), f"accepted: {last!r}"
    assert last.action == last.error.action == "abort"
    return last.error


def told(items: Iterable[Item]) -> list[tuple[Any, ...]]:
    """Return items with all that they say, offsets and errors included."""
    return [(item, item.offset, str(getattr(item, "error", ""))) for item in items]


def plain(items: Iterable[Item]) -> list[list[Any]]:
    """Return items in the form of the golden vectors, where a block is its facts and a blank."""
    rows: list[list[Any]] = []
    for item in items:
        match item:
            case Preface():
                rows.append(["preface"])
            case FactBlock():
                rows += [["fact", name, values] for name, *values in item.facts()]
                rows.append(["blank"])
            case PhaseEnd():
                rows.append(["blank"])
            case Resource():
                rows.append(["resource", item.id, item.kind, item.raw.decode()])
            case RecordBytes():
                rows.append(["record", item.id, item.size])
            case Broken():
                rows.append(["broken", item.code])
            case Closed():
                pass
    return rows


def rewrite(items: Iterable[Item]) -> bytes:
    """Write what was read."""
    return b"".join(write(item) for item in items if not isinstance(item, Broken | Closed))
