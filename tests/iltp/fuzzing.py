"""What atheris throws at a stream; `test_fuzzing.py` says how it is started.

    reader      any bytes give the same items and the same fault however they are cut, and linear work
    exchange    whatever a peer says, a machine goes on, or ends with a cause and an error of ours

An input is a byte that says how the rest is cut, and the rest. `write_seeds` makes some that are streams.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from lace.errors import LaceError
from lace.iltp import Broken, Closed, Item, Reader
from lace.interlace import Cause
from tests.drive.wire import make_wire
from tests.iltp.samples import SEAL
from tests.iltp.test_stream_work import PASSES, UNITS, stream_of
from tests.interlace.scenarios import draw

SEEDS = range(4)
SLACK = 64
"""Bytes that a reader may look at however few there are."""


def write_seeds(folder: Path) -> None:
    """Write inputs to begin with: one of each unit, and both halves of a few exchanges."""
    streams = [stream_of(unit, 1) for unit in UNITS.values()]
    for seed in SEEDS:
        wire = make_wire([SEAL], draw(seed).right)
        wire.run()
        streams += map(bytes, wire.sent)
    for number, stream in enumerate(streams):
        (folder / f"{number:03}").write_bytes(b"\x40" + stream)


def pieces_of(data: bytes) -> tuple[bytes, list[bytes]]:
    """Return the bytes of an input, and the pieces that it is cut into."""
    stream, size = data[1:], max(1, data[0] if data else 1)
    return stream, [stream[at : at + size] for at in range(0, len(stream), size)]


def read(pieces: list[bytes]) -> tuple[list[Item], Reader]:
    """Read a stream to its end."""
    reader = Reader()
    items = [item for piece in pieces for item in reader.feed(piece)]
    return items + reader.close(), reader


def read_both_ways(data: bytes) -> None:
    """See that a reader does what it promises."""
    stream, pieces = pieces_of(data)
    whole, reader = read([stream])
    assert reader.work <= PASSES * len(stream) + SLACK
    cut, reader = read(pieces)
    assert reader.work <= PASSES * len(stream) + SLACK
    assert cut == whole
    assert isinstance(whole[-1], Broken | Closed)
    assert reader.held == 0


def exchange_with(data: bytes) -> None:
    """See that an exchange goes on or ends as one does."""
    _, pieces = pieces_of(data)
    wire = make_wire([SEAL], [])
    end = wire.ends[0]
    end.begin()
    for piece in pieces:
        if end.result is None and end.wants_data:
            end.receive_data(piece)
            while end.data_to_send():
                pass
    if end.result is None and end.wants_data:
        end.receive_end()
    result = end.result
    if result is not None and result.cause not in (Cause.FIXED_POINT, Cause.PEER_CLOSED):
        assert isinstance(result.error, LaceError)
    assert wire.pair.stores[0].get(SEAL.id) == SEAL


TARGETS = {"reader": read_both_ways, "exchange": exchange_with}


def main() -> None:
    """Fuzz until libFuzzer has had enough: `reader` or `exchange`, and its options."""
    atheris: Any = import_module("atheris")
    target, *options = sys.argv[1:]
    atheris.Setup([sys.argv[0], *options], TARGETS[target])
    atheris.Fuzz()
