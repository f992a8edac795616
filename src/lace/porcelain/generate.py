"""Made-up record sets that look like real ones: the same bytes from the same seed, anywhere.

Benchmarks, demonstrations and tests share them; `lace gen` writes them.

Rules of this file:
1. Dice are BLAKE3 of (seed, position): what they show is fixed by the hash's specification. The methods of
   `random.Random` may change from one Python to the next, and seeding one for each record costs more than
   the record.
2. A thousand records, a *batch*, are a function of (seed, shape, number of the batch): batches can be made
   by different workers, and what is held is one batch's ids.
3. Shares are exact in every whole batch; what two sets share is exact for any count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from struct import Struct
from typing import Final

from lace.errors import InputError
from lace.porcelain.vocabulary import APPS, GROUPS, LINKS, SHELVES, TAGS, TONGUES, Tongue, member, numbered
from lace.record import Plex, Record, make_blob, make_plex, make_seal
from lace.signing import Secret
from lace.text import NANOSECONDS, RecordId, digest, write_tai

BATCH: Final = 1000
ANCHORS_KEPT: Final = 4096

# One throw of the dice for a record, cut into what each choice needs: 32 bytes.
_DICE = Struct(">HHHIBBBBHIQI")
_TAG_COUNTS = (0,) * 10 + (1,) * 4 + (2, 3)


class BadShape(InputError):
    """A shape that no record set can have."""

    code = "generate/shape"
    text = "no record set has this shape: {reason}"


@dataclass(frozen=True, slots=True)
class Shape:
    """What a record set looks like; shares count records in each thousand."""

    blobs: int = 30
    """Bare Blobs."""
    sealed: int = 100
    """Plexes that are sealed by one of the signers."""
    linked: int = 100
    """Plexes, sealed or not, that link to one or two earlier records of the set."""
    large: int = 0
    """Records with data of up to `large_bytes`, most of them much smaller."""
    large_bytes: int = 1 << 16
    data_bytes: int = 54
    """The mean of ordinary data, about; 54 makes an unsealed Plex 270 bytes on average."""
    groups: int = 16
    apps: int = 16
    members: int = 200
    names: int = 4096
    """Names on each shelf of an app: a name that is chosen again is a new version."""
    signers: int = 5
    first_second: int = 1_700_000_000
    """The TAI second at which the set begins."""
    step_seconds: int = 40
    """The time from one record to the next, on average; times always grow."""

    def __post_init__(self) -> None:
        if min(self.blobs, self.sealed, self.linked, self.large) < 0 or self.large > BATCH:
            raise BadShape(reason="a share is a number of records in each thousand")
        if self.blobs + max(self.sealed, self.linked) >= BATCH:
            raise BadShape(reason="the first record of each thousand is a Plex without links or signature")
        counts = (self.groups, self.apps, self.members, self.names, self.signers, self.step_seconds)
        if min(*counts, self.data_bytes) < 1 or self.large_bytes < self.data_bytes:
            raise BadShape(
                reason="there is at least one of each thing, and large data is not smaller than other"
            )


DEFAULT: Final = Shape()


def generate(seed: int, count: int, *, shape: Shape = DEFAULT, start: int = 0) -> Iterator[Record]:
    """Yield records `start` to `start + count` of the endless set that a seed and a shape name.

    >>> [record.type for record in generate(1, 3)], next(generate(1, 1)) == next(generate(1, 1))
    (['P', 'S', 'P'], True)
    >>> list(generate(1, 2, start=1500)) == list(generate(1, 1502))[1500:]
    True
    """
    _check_count(count, start)
    return _records(_Maker(seed, shape), start, count)


def generate_pair(
    seed: int, count: int, *, overlap: float = 0.8, shape: Shape = DEFAULT
) -> tuple[Iterator[Record], Iterator[Record]]:
    """Return two sets of `count` records that have exactly `round(count * overlap)` in common.

    >>> left, right = generate_pair(1, 100, overlap=0.25)
    >>> len(set(left) & set(right))
    25
    """
    if not 0 <= overlap <= 1:
        raise BadShape(reason=f"an overlap lies between 0 and 1, not at {overlap}")
    _check_count(count)
    common = round(count * overlap)

    def is_common(at: int) -> bool:
        return (at + 1) * common // count > at * common // count

    left, right = (_Maker(seed, shape, side, is_common) for side in ("left", "right"))
    return _records(left, 0, count), _records(right, 0, count)


def _check_count(count: int, start: int = 0) -> None:
    if count < 0 or start < 0:
        raise BadShape(reason=f"there are no {count} records from position {start} on")


def _records(maker: _Maker, start: int, count: int) -> Iterator[Record]:
    first = start // BATCH
    batches = (
        record for number in range(first, (start + count) // BATCH + 1) for record in maker.batch(number)
    )
    return islice(batches, start - first * BATCH, start - first * BATCH + count)


def _always(at: int) -> bool:
    return True


class _Maker:
    """Makes the records of one set; those at common positions come out alike on both sides of a pair."""

    def __init__(self, seed: int, shape: Shape, side: str = "", is_common: Callable[[int], bool] = _always):
        self._shape = shape
        self._common = digest(f"lace-gen/v1 {seed}".encode())
        self._own = digest(f"lace-gen/v1 {seed} {side}".encode())
        self._is_common = is_common
        self._signers = [Secret(digest(self._common + b"signer %d" % n)) for n in range(shape.signers)]
        self._blobs, self._sealed, self._linked, self._large = _choose(shape, self._common)
        self._anchor = lru_cache(ANCHORS_KEPT)(lambda number: self._make(number * BATCH, []).id)
        self._groups = [numbered(GROUPS, n) for n in range(shape.groups)]
        self._apps = [numbered(APPS, n) for n in range(shape.apps)]
        self._members = [member(n) for n in range(shape.members)]

    def batch(self, number: int) -> Iterator[Record]:
        """Yield the records of one batch."""
        earlier: list[RecordId] = []
        for at in range(number * BATCH, (number + 1) * BATCH):
            record = self._make(at, earlier)
            earlier.append(record.id)
            yield record

    def _make(self, at: int, earlier: list[RecordId]) -> Record:
        shape, place = self._shape, at % BATCH
        key = self._common if self._is_common(at) else self._own
        dice = digest(key + at.to_bytes(8, "big"))
        group, app, who, name, shelf, size, look, link, tags, target, time, tail = _DICE.unpack(dice)
        tongue = TONGUES[look & 15]
        wanted = shape.data_bytes * (128 + size) >> 8
        if place in self._large:
            octaves = (shape.large_bytes // shape.data_bytes).bit_length()
            wanted = min(shape.large_bytes, wanted << tail % octaves)
        text = _text(tongue, dice, max(1, wanted // tongue.word_bytes))
        if place in self._large:
            text = text.encode()[:wanted].decode(errors="ignore")
        if place in self._blobs:
            # Nothing but its data tells a bare Blob from others: the position keeps it apart.
            return make_blob(f"{text} {key[:3].hex()}{at}".encode())
        extra = _headers(tongue, self._members[_skew(who, shape.members)], text, look >> 4, tags)
        if place in self._linked:
            extra += self._links(at, earlier, link, target)
        passed = at * shape.step_seconds * NANOSECONDS + time % (shape.step_seconds * NANOSECONDS)
        plex = make_plex(
            self._groups[_skew(group, shape.groups)],
            self._apps[_skew(app, shape.apps)],
            f"{SHELVES[shelf & 7]}/{name % shape.names:x}",
            write_tai(shape.first_second + passed // NANOSECONDS, passed % NANOSECONDS),
            text.encode(),
            extra,
        )
        return self._seal(plex, dice) if place in self._sealed else plex

    def _seal(self, plex: Plex, dice: bytes) -> Record:
        return make_seal(plex, self._signers[dice[-1] % len(self._signers)], digest(dice + b"aux"))

    def _links(self, at: int, earlier: list[RecordId], link: int, target: int) -> list[tuple[str, str]]:
        first = self._target(at, earlier, target, link & 3 == 0)
        found = [first] if first else []
        if link & 12 == 0:
            second = self._target(at, earlier, target >> 16, False)
            found += [second] if second and second != first else []
        words = LINKS[link >> 4 & 7 :] + LINKS
        return [("+Link", f"{word} {id}" if word else id) for word, id in zip(words, found, strict=False)]

    def _target(self, at: int, earlier: list[RecordId], choice: int, far: bool) -> RecordId | None:
        """Choose an earlier record: of this batch, or from far away the first of an earlier one."""
        common = self._is_common(at)
        number, place = divmod(at, BATCH)
        if far and number and (not common or self._is_common(choice % number * BATCH)):
            return self._anchor(choice % number)
        # What both sides have can only name what both sides have, or it would not be the same record.
        for back in range(choice % place, -1, -1):
            if not common or self._is_common(number * BATCH + back):
                return earlier[back]
        return None


def _choose(shape: Shape, key: bytes) -> tuple[frozenset[int], ...]:
    """Choose which places of every batch are Blobs, sealed, linked and large."""
    places = _shuffled(list(range(1, BATCH)), key + b"kinds")
    blobs, plexes = places[: shape.blobs], places[shape.blobs :]
    linked = _shuffled(plexes, key + b"linked")[: shape.linked]
    large = _shuffled(list(range(BATCH)), key + b"large")[: shape.large]
    return frozenset(blobs), frozenset(plexes[: shape.sealed]), frozenset(linked), frozenset(large)


def _shuffled(places: list[int], key: bytes) -> list[int]:
    return sorted(places, key=lambda place: digest(key + b"%d" % place))


def _skew(dice: int, count: int) -> int:
    """Choose below `count` from 16 bits, small numbers more often: one in 16 comes up 25 times in 100."""
    return count * dice * dice >> 32


def _text(tongue: Tongue, dice: bytes, count: int) -> str:
    words = tongue.words
    rolls = digest(dice)
    if count > len(rolls):
        rolls = b"".join([digest(dice + b"%d" % n) for n in range(count // len(rolls) + 1)])
    return " ".join([words[roll & 31] for roll in rolls[:count]])


def _headers(tongue: Tongue, who: str, text: str, look: int, tags: int) -> list[tuple[str, str]]:
    """Write the extra headers: most records have none or one, some repeat a name."""
    headers = [("Author", who)] if look & 3 < 2 else []
    if look == 15:
        headers.append(("Title", text[:24].strip()))
    if tongue.tag != "en":
        headers.append(("Lang", tongue.tag))
    for n in range(_TAG_COUNTS[tags & 15]):
        headers.append(("Tag", TAGS[tags >> 4 + 4 * n & 15]))
    return headers
