"""Reads one direction of a recorded stream (060) item by item, for tests that play against it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lace.drive import Item, Side
from lace.facts import Fact, parse_fact_line
from lace.interlace import BlockReceived, PeerClosed, Phase, RecordReceived, RecordsEnded, ResourceReceived
from lace.record import MARK, Scanner

PREFACE = "🪢: iltp/1\n".encode()
RESOURCE = "🧩: ".encode()


@dataclass(frozen=True)
class Blank:
    """A blank line: the end of a block or of a record batch."""


Piece = Fact | ResourceReceived | RecordReceived | Blank


def read_stream(raw: bytes) -> Iterator[Piece]:
    """Yield what stands in a recorded direction."""
    assert raw.startswith(PREFACE)
    at = len(PREFACE)
    while at < len(raw):
        if raw.startswith(MARK, at):
            scanner = Scanner(start=at)
            assert scanner.advance(raw, len(raw))
            yield RecordReceived(raw[at : scanner.end])
            at = scanner.end
            continue
        if raw.startswith(RESOURCE, at):
            end = raw.index(b"\n\n", at)
            marker, _, text = raw[at:end].partition(b"\n")
            _, id, kind = marker.decode().split(" ")
            yield ResourceReceived(id, kind, text)
            at = end + 2
            continue
        end = raw.index(b"\n", at)
        line = raw[at:end].decode()
        yield parse_fact_line(line) if line else Blank()
        at = end + 1


def play(side: Side, raw: bytes, sent: list[Item]) -> Iterator[Item]:
    """Feed a recorded direction to a side; yield each item as the machine saw it, and keep what it sends."""
    facts: list[Fact] = []
    sent.extend(side.outbox)
    for piece in read_stream(raw):
        item: Item
        if isinstance(piece, tuple):
            facts.append(piece)
            continue
        if isinstance(piece, Blank):
            item = RecordsEnded() if side.machine.phase is Phase.TRANSFER else BlockReceived(tuple(facts))
            facts = []
        else:
            item = piece
        assert side.result is None, side.result
        side.feed(item)
        sent.extend(side.outbox)
        yield item
    side.feed(PeerClosed())
    sent.extend(side.outbox)
