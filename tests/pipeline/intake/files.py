"""Files that are hard to cut, and a reader of splits without Spark."""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Sequence

from lace.pipeline.intake.splits import Reading, Split, cut_file, read_split, settle
from lace.record import (
    LIMITS,
    MARK,
    Accepted,
    Item,
    RecordLimits,
    RecordReader,
    make_blob,
    make_plex,
    make_seal,
)
from tests.strategies import AUX, SECRETS

TAI = "1640995200:000000000"


def plex(n: int, data: bytes = b"", **headers: str) -> bytes:
    """Write the n-th of many Plexes."""
    named = {name.replace("_", "+"): value for name, value in headers.items()}
    return make_plex("u/group", "app", f"n/{n}", TAI, data or b"data %d" % n, tuple(named.items())).raw


def seal(n: int, data: bytes = b"") -> bytes:
    """Write the n-th of many Seals."""
    made = make_plex("u/group", "app", f"s/{n}", TAI, data or b"sealed %d" % n)
    return make_seal(made, SECRETS[n % len(SECRETS)], AUX).raw


def shown(items: Sequence[Item]) -> list[tuple[object, ...]]:
    """Return what can be compared of items, and which rejected pieces share one reason."""
    rows: list[tuple[object, ...]] = []
    last: object = None
    for item in items:
        if isinstance(item, Accepted):
            rows.append((item.offset, item.record.id, item.record.raw))
            last = None
        else:
            rows.append((item.offset, item.raw, item.error.code, str(item.error), item.error is last))
            last = item.error
    return rows


def read_whole(stream: bytes, limits: RecordLimits = LIMITS) -> list[Item]:
    """Read a stream with one reader."""
    reader = RecordReader(limits)
    return reader.feed(stream) + reader.close()


def finish(reading: Generator[list[Item], None, Reading]) -> tuple[list[Item], Reading]:
    """Read a split to its end."""
    items: list[Item] = []
    while True:
        try:
            items += next(reading)
        except StopIteration as over:
            return items, over.value


def read_in_splits(
    stream: bytes, split_bytes: int, limits: RecordLimits = LIMITS, told: Callable[[int], None] | None = None
) -> list[Item]:
    """Read a stream in splits, and again where a guess was wrong; `told` hears the number of readings."""
    splits = cut_file(0, len(stream), split_bytes)
    wanted: list[Split] = splits
    readings: dict[int, list[Reading]] = {}
    items: dict[Reading, list[Item]] = {}
    count = 0
    kept: list[Reading] = []
    while wanted:
        for split in wanted:
            count += 1
            found, reading = finish(read_split(io.BytesIO(stream), split, len(stream), limits=limits))
            readings.setdefault(split.stop, []).append(reading)
            items[reading] = found
        before = len(wanted)
        kept, wanted = settle(splits, readings)
        assert len(wanted) <= before
        assert count <= len(splits) ** 2 + 1
    if told is not None:
        told(count)
    return [item for reading in kept for item in items[reading]]


_INNER = b"".join([plex(n) for n in range(3)])
CLEAN = b"".join([plex(n) if n % 3 else seal(n) for n in range(12)])

HOSTILE: dict[str, bytes] = {
    "clean": CLEAN,
    "records in data": plex(1, _INNER) + seal(2, _INNER + b"?" + _INNER) + plex(3),
    "marklines in data": plex(1, b"".join([plex(n)[:54] for n in range(9)])) + seal(1),
    "garbage between": plex(1) + b"\x00garbage\n" * 40 + seal(2) + b"noise" + plex(3),
    "garbage at both ends": b"x" * 300 + seal(1) + plex(2) + b"\xff" * 300,
    "only garbage": b"no record here\n" * 60,
    "only marks": MARK * 120,
    "truncated in data": CLEAN + plex(99, b"long data " * 30)[:-40],
    "truncated in a header": CLEAN + seal(99)[:120],
    "truncated in a markline": CLEAN + plex(99)[:20],
    "a length of 10^18": plex(1) + make_blob(b"x").raw.replace(b": 1\n", b": 1%b\n" % (b"0" * 18)) + seal(2),
    "a length past the end": plex(1) + make_blob(b"x").raw.replace(b": 1\n", b": 900\n") + CLEAN,
    "lengths that swallow": b"".join(
        [make_blob(b"%d" % n).raw.replace(b": 1\n", b": %d\n" % (300 + 90 * n)) for n in range(9)]
    ) + CLEAN,
    "cut short again and again": b"".join([seal(n)[: 60 + 37 * n % 300] for n in range(12)]) + CLEAN,
    "inner records alone": b"".join([seal(n)[seal(n).index(MARK, 1) :] for n in range(4)]) + plex(7)[1:],
    "a broken seal": seal(1).replace(b"Signature: ", b"Signatur: ") + seal(2) + plex(3),
    "a bad signature": seal(1) + seal(2).replace(b"\nSignature: ", b"\nSignature: 0", 1) + seal(3),
    "empty blobs": make_blob(b"").raw * 9,
    "one byte": b"?",
    "nothing": b"",
}  # fmt: skip
