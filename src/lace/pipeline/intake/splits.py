"""Long files cut into splits, and the test that cutting changed nothing.

    file     ├──── record ────┼─ record ─┼──────── record ────────┼─ bad ─┼─ record ─┤
    split 0  begins at 0 ─────────────────────▶ ends at the first rest behind its stop
    split 1                 ╎ looks for a start ─────────────────▶┼──────▶ …

Rules of this file:
1. A split ends where a reader is at rest, at or behind its stop; the next one has to begin there. One that
   began elsewhere is read again from the true place: a guess is never believed.
2. The items of the splits that are kept are those of one reader over the whole file, byte for byte. That
   includes how often such a reader looks at bytes in vain before it gives up.
3. What a split read is kept, whatever became of it: each round mends at least the first split that is wrong.
"""

from __future__ import annotations

from collections.abc import Container, Generator, Mapping, Sequence
from typing import BinaryIO, Final, NamedTuple

from lace.record import LIMITS, MARKLINE_BYTES, Item, RecordLimits, RecordReader, find_start

SPLIT_BYTES: Final = (1024 * 1024, 8 * 1024 * 1024)
"""At least and at most: a second of work is long beside what Spark needs to start a task."""
EVEN_SPLITS: Final = 16
"""A small input is cut into so many, so that the cores of a machine finish together."""
MAX_SPLITS: Final = 4096
"""Of one ingest; every task of the second pass opens what each of them left behind."""
CHUNK_BYTES: Final = 1024 * 1024
_BEHIND: Final = LIMITS.header_bytes + MARKLINE_BYTES
"""How far before a markline the header stands that tells whether it is an inner one."""


class Split(NamedTuple):
    """A stretch of one source, which one task reads."""

    source: int
    start: int
    stop: int
    guessed: bool = False
    """The start is where to look for a record, not where one is known to begin."""
    wasted: int = 0
    """What the reader of everything before it has looked at in vain."""


class Reading(NamedTuple):
    """Where a split began and ended."""

    split: Split
    began: int | None
    """None where nothing in it looks like the start of a record."""
    ended: int
    wasted: int
    """Bytes that this reading looked at in vain."""
    slack: int
    """How many more of them before it would have changed nothing."""

    def follows(self, end: int, wasted: int) -> bool:
        """Tell whether one reader over the whole file would have read the same, coming from there."""
        more = wasted - self.split.wasted
        return self.began == end and (more == 0 or 0 < more <= self.slack)


def choose_split_bytes(total: int) -> int:
    """Return how long splits should be for so many bytes, in MiB here.

    >>> [choose_split_bytes(total << 20) / (1 << 20) for total in (1, 64, 1000, 1 << 20)]
    [1.0, 4.0, 8.0, 256.0]
    """
    least, most = SPLIT_BYTES
    return max(-(-total // MAX_SPLITS), min(most, max(least, -(-total // EVEN_SPLITS))))


def cut_file(source: int, size: int, split_bytes: int) -> list[Split]:
    """Cut a file into splits.

    >>> [(split.start, split.stop, split.guessed) for split in cut_file(0, 100, 40)]
    [(0, 40, False), (40, 80, True), (80, 100, True)]
    """
    return [
        Split(source, start, min(size, start + split_bytes), start > 0)
        for start in range(0, size, split_bytes)
    ]


def read_split(
    file: BinaryIO,
    split: Split,
    size: int,
    *,
    limits: RecordLimits = LIMITS,
    known: Container[str] = frozenset(),
) -> Generator[list[Item], None, Reading]:
    """Yield the items of a split and return where it began and ended; `size` is the whole file's."""
    began = _guess(file, split, size) if split.guessed else split.start
    if began is None:
        return Reading(split, None, split.stop, 0, 0)
    until = split.stop if split.stop < size else None
    reader = RecordReader(limits, offset=began, origin=0, wasted=split.wasted, until=until, known=known)
    file.seek(began)
    at = began
    while at < size and not reader.rests:
        chunk = file.read(min(CHUNK_BYTES, size - at))
        if not chunk:
            break
        at += len(chunk)
        yield reader.feed(chunk)
    if not reader.rests:
        yield reader.close()
    return Reading(split, began, reader.offset, reader.wasted - split.wasted, reader.slack)


def _guess(file: BinaryIO, split: Split, size: int) -> int | None:
    """Return where in a split something begins that looks like a record."""
    start, last = split.start, min(size, split.stop + MARKLINE_BYTES - 1)
    while start + MARKLINE_BYTES <= last:
        behind = max(0, start - _BEHIND)
        file.seek(behind)
        window = file.read(min(last, start + CHUNK_BYTES) - behind)
        found = find_start(window, start - behind)
        if found is not None:
            return behind + found
        following = behind + len(window) - MARKLINE_BYTES + 1
        if following <= start:
            break  # the file has become shorter
        start = following
    return None


def settle(
    splits: Sequence[Split], readings: Mapping[int, Sequence[Reading]]
) -> tuple[list[Reading], list[Split]]:
    """Return the readings of one file that fit together, and the splits that have to be read again.

    `splits` are those that the file was cut into; `readings` is what came of each so far, by its stop.
    Nothing is left to be read when the second list is empty.
    """
    kept: list[Reading] = []
    again: list[Split] = []
    end = wasted = 0
    for split in splits:
        if end >= split.stop:
            continue  # the record before reaches over all of it
        found = readings.get(split.stop, ())
        fits = next((each for each in found if each.follows(end, wasted)), None)
        if fits is None:
            again.append(split._replace(start=end, guessed=False, wasted=wasted))
            # Most likely it will end where the wrong reading did: so the splits behind it are not waited for.
            if not found:
                break
            fits = found[-1]
        kept.append(fits)
        end, wasted = fits.ended, wasted + fits.wasted
    return kept, again
