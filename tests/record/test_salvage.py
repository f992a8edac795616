"""Ten bad records in a stream cost ten records: whatever happened to them, their neighbours are found.

Two accidents cannot be told apart by the bytes that are left, and these tests say what is made of them:
a record that was cut exactly at the end of a header line before a record of the type that it embeds, and a
Plex that lost the LF between an extra header and its Blob.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.record import (
    LIMITS,
    MARK,
    Blob,
    HashMismatch,
    Plex,
    Record,
    Seal,
    inner_records,
    make_blob,
    make_plex,
    make_seal,
)
from lace.record.salvage import find_swallowed, is_embedded
from lace.text import digest
from tests.record.samples import BLOB, PLEX, SAMPLES, SEAL, TAI, accepted, joined, read_all, rejected
from tests.strategies import AUX, SECRETS, records

BEFORE = make_plex("u", "before", "n", TAI, b"the record before")
AFTER: tuple[Record, ...] = (
    make_blob(b"the record after"),
    make_plex("u", "after", "n", TAI, b"the record after", [("Tag", "t")]),
    make_seal(make_plex("u", "after", "n", TAI, b"the record after"), SECRETS[1], AUX),
)
BARE = make_plex("u", "bare", "n", TAI, b"no extra headers")
VICTIMS: tuple[Record, ...] = (*SAMPLES, BARE, make_seal(BARE, SECRETS[2], AUX))

Accident = Callable[[bytes, int], bytes]
ACCIDENTS: dict[str, Accident] = {
    "a bit turned": lambda raw, at: raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :],
    "a high bit turned": lambda raw, at: raw[:at] + bytes([raw[at] ^ 0x80]) + raw[at + 1 :],
    "a byte inverted": lambda raw, at: raw[:at] + bytes([raw[at] ^ 0xFF]) + raw[at + 1 :],
    "a byte made LF": lambda raw, at: raw[:at] + b"\n" + raw[at + 1 :],
    "a byte made a space": lambda raw, at: raw[:at] + b" " + raw[at + 1 :],
    "a byte gone": lambda raw, at: raw[:at] + raw[at + 1 :],
    "a byte twice": lambda raw, at: raw[: at + 1] + raw[at:],
    "an LF put in": lambda raw, at: raw[:at] + b"\n" + raw[at:],
    "an empty line put in": lambda raw, at: raw[:at] + b"\n\n" + raw[at:],
    "a marker put in": lambda raw, at: raw[:at] + MARK + raw[at:],
    "thirty bytes put in": lambda raw, at: raw[:at] + b"\xff" * 30 + raw[at:],
    "cut short": lambda raw, at: raw[:at],
    "twenty bytes zeroed": lambda raw, at: raw[:at] + bytes(len(raw[at : at + 20])) + raw[at + 20 :],
}


def inner_marks(raw: bytes) -> list[int]:
    """Return where inner records begin."""
    end = raw.index(b"Data-Length: ")
    return [at for at in range(1, end) if raw.startswith(MARK, at)]


def is_unclear(name: str, raw: bytes, at: int) -> bool:
    """Tell whether what is left can be two things."""
    if name == "cut short":
        # At the end of a header line, or just before: the line is whole, what follows may belong to it.
        return at <= max(inner_marks(raw), default=0) and b"\n" in raw[at - 1 : at + 1]
    # Right before an inner record: it no longer stands at the start of a line.
    near = {"twenty bytes zeroed": (-20, 0), "a marker put in": (0, len(MARK))}.get(name, (-1, 0))
    return any(near[0] <= at - mark <= near[1] for mark in inner_marks(raw))


@pytest.mark.parametrize("name", ACCIDENTS)
@pytest.mark.parametrize("victim", VICTIMS, ids=["B", "P", "S", "P-bare", "S-bare"])
def test_an_accident_anywhere_in_a_record_costs_that_record_only(victim: Record, name: str) -> None:
    raw = victim.raw
    for at in range(1, len(raw)):
        bad = ACCIDENTS[name](raw, at)
        after = AFTER[at % 3]
        if raw in bad or is_unclear(name, raw, at):
            continue
        items = read_all(BEFORE.raw + bad + after.raw)
        assert accepted(items) == [BEFORE, after], (at, bad)
        assert joined(items) == BEFORE.raw + bad + after.raw


@pytest.mark.parametrize("name", ACCIDENTS)
@pytest.mark.parametrize("victim", VICTIMS[1:], ids=["P", "S", "P-bare", "S-bare"])
def test_where_what_is_left_can_be_two_things_no_other_record_is_made_up(victim: Record, name: str) -> None:
    """A Blob has nothing inside that could be taken for something else."""
    raw = victim.raw
    left = [ACCIDENTS[name](raw, at) for at in range(1, len(raw)) if is_unclear(name, raw, at)]
    unclear = [bad for bad in left if raw not in bad]
    assert unclear
    for bad, after in product(unclear, AFTER):
        found = accepted(read_all(BEFORE.raw + bad + after.raw))
        assert found[0] == BEFORE
        assert set(found) <= {BEFORE, after, *inner_records(victim)}
        assert after in found or name == "cut short"


def dice(seed: str, below: int) -> int:
    return int.from_bytes(digest(seed.encode())[:4], "big") % below


@pytest.mark.parametrize("name", ACCIDENTS)
def test_ten_bad_records_of_two_hundred_leave_a_hundred_and_ninety(name: str) -> None:
    plexes = [make_plex("u", f"app{n % 7}", f"n/{n}", TAI, b"x" * dice(f"size {n}", 90)) for n in range(200)]
    stream: list[Record] = [
        make_seal(plex, SECRETS[n % 3], AUX) if n % 9 == 0 else plex.blob if n % 31 == 0 else plex
        for n, plex in enumerate(plexes)
    ]
    bad = {19 * n + dice(f"which {name} {n}", 19) for n in range(10)}
    raws = []
    for n, record in enumerate(stream):
        at = 1 + dice(f"where {name} {n}", record.size - 1)
        while is_unclear(name, record.raw, at) or record.raw in ACCIDENTS[name](record.raw, at):
            at = 1 + at % (record.size - 1)
        raws.append(ACCIDENTS[name](record.raw, at) if n in bad else record.raw)
    found = accepted(read_all(b"".join(raws), step=1000))
    assert found == [record for n, record in enumerate(stream) if n not in bad]


class TestLengths:
    """A changed Data-Length takes nothing that is not its own."""

    @pytest.mark.parametrize("victim", VICTIMS, ids=["B", "P", "S", "P-bare", "S-bare"])
    @pytest.mark.parametrize("change", [-9, -1, 1, 2, 40, 100, 1000, 60_000, 10**6, 10**12])
    def test_longer_or_shorter_the_neighbours_are_found(self, victim: Record, change: int) -> None:
        [blob] = [record for record in (victim, *inner_records(victim)) if isinstance(record, Blob)]
        changed = b"Data-Length: %d\n" % max(0, blob.length + change)
        bad = victim.raw.replace(b"Data-Length: %d\n" % blob.length, changed)
        for after in AFTER:
            items = read_all(BEFORE.raw + bad + after.raw + BEFORE.raw)
            assert accepted(items) == [BEFORE, after, BEFORE]

    @pytest.mark.parametrize("count", [1, 2, 3])
    @pytest.mark.parametrize("at_end", [True, False])
    def test_a_length_that_ends_just_where_a_later_record_does_swallows_none(
        self, count: int, at_end: bool
    ) -> None:
        swallowed = AFTER[:count]
        length = BLOB.length + sum(record.size for record in swallowed)
        bad = BLOB.raw.replace(b"Data-Length: 11\n", b"Data-Length: %d\n" % length)
        tail = [] if at_end else [PLEX]
        items = read_all(b"".join([bad, *[record.raw for record in (*swallowed, *tail)]]))
        assert accepted(items) == [*swallowed, *tail]
        [reject] = rejected(items)
        assert isinstance(reject.error, HashMismatch)
        assert reject.raw == bad

    def test_data_that_holds_records_is_data_and_stays_data_when_it_is_damaged(self) -> None:
        archive = make_blob(b"start" + PLEX.raw + SEAL.raw + b"end")
        assert accepted(read_all(archive.raw + BLOB.raw)) == [archive, BLOB]
        at = archive.raw.index(b"start")
        damaged = archive.raw[:at] + b"S" + archive.raw[at + 1 :]
        assert accepted(read_all(damaged + BLOB.raw)) == [BLOB]

    def test_a_record_cut_in_its_data_does_not_take_the_next_one_along(self) -> None:
        big = make_plex("u", "big", "n", TAI, b"x" * 5000)
        for cut in (1, 100, 700, 4999):
            items = read_all(big.raw[:-cut] + b"".join([record.raw for record in AFTER]) * 3)
            assert accepted(items) == [*AFTER] * 3


class TestInnerRecords:
    """The inner record of a broken one is set aside with it."""

    @pytest.mark.parametrize("outer", [PLEX, SEAL, BARE], ids=["P", "S", "P-bare"])
    @pytest.mark.parametrize("at", [0, 4, 6, 7, 20, 52, 54], ids=lambda at: f"byte {at}")
    def test_behind_a_broken_markline(self, outer: Record, at: int) -> None:
        bad = outer.raw[:at] + b"?" + outer.raw[at + 1 :]
        assert accepted(read_all(bad + BEFORE.raw)) == [BEFORE]

    def test_in_a_seal_whose_plex_lost_its_markline(self) -> None:
        bad = SEAL.raw.replace(PLEX.id.encode(), PLEX.id.encode()[:-1] + b"4")
        assert accepted(read_all(bad + BLOB.raw)) == [BLOB]

    @pytest.mark.parametrize("name", ["Group", "App", "Name", "TAI", "Tag"])
    def test_in_a_plex_with_an_empty_line_before_a_header(self, name: str) -> None:
        bad = PLEX.raw.replace(b"\n" + name.encode(), b"\n\n" + name.encode(), 1)
        assert accepted(read_all(bad + BEFORE.raw)) == [BEFORE]
        assert accepted(read_all(SEAL.raw.replace(PLEX.raw, bad) + BEFORE.raw)) == [BEFORE]

    def test_not_so_the_blob_after_a_plex_whose_own_blob_lost_its_markline(self) -> None:
        # Data that ends with LF puts the next record at the start of a line, where an inner one stands.
        for plex in (PLEX, make_plex("u", "text", "n", TAI, b"two\nlines\n")):
            bad = plex.raw.replace(plex.blob.id.encode(), plex.blob.id.encode()[:-1] + b"4")
            assert accepted(read_all(bad + BLOB.raw)) == [BLOB]

    @pytest.mark.parametrize("outer", [PLEX, SEAL], ids=["P", "S"])
    def test_a_record_cut_in_a_line_leaves_the_next_one_alone(self, outer: Record) -> None:
        for at in range(60, outer.size):
            if not is_unclear("cut short", outer.raw, at):
                for after in AFTER:
                    assert accepted(read_all(outer.raw[:at] + after.raw)) == [after], at


class TestUnclear:
    """What is made of the two accidents that cannot be told from others."""

    def test_a_plex_cut_at_the_end_of_a_line_takes_a_blob_that_follows_for_its_own(self) -> None:
        # PROFILE section 10: "A record's end is known when its skeleton can be read", and here it can.
        cut = PLEX.raw[: PLEX.raw.index(b"Name: ")]
        items = read_all(cut + BLOB.raw + BEFORE.raw)
        assert accepted(items) == [BEFORE]
        assert rejected(items)[0].raw == cut + BLOB.raw

    def test_a_blob_that_is_glued_to_an_extra_header_counts_as_the_next_record(self) -> None:
        assert PLEX.extra[-1] == ("Note", "x y ")
        glued = PLEX.raw.replace(b"x y \n" + MARK, b"x y " + MARK)
        assert accepted(read_all(glued + BEFORE.raw)) == [PLEX.blob, BEFORE]

    def test_a_blob_that_is_glued_to_the_time_does_not(self) -> None:
        glued = BARE.raw.replace(TAI.encode() + b"\n", TAI.encode())
        assert accepted(read_all(glued + BEFORE.raw)) == [BEFORE]


@given(records().filter(lambda record: record.type != "B"))
def test_an_inner_record_is_known_by_the_headers_before_it(record: Record) -> None:
    assert isinstance(record, Plex | Seal)
    inner = inner_records(record)[0]
    at = record.size - inner.size
    assert is_embedded(b"?" + record.raw[1:], 0, at, inner.type)
    assert not is_embedded(record.raw, at, at, inner.type)
    assert not is_embedded(record.raw, 0, at, "S")


@given(st.binary(max_size=50), st.sampled_from(AFTER))
def test_only_the_true_length_finds_a_swallowed_record(data: bytes, after: Record) -> None:
    blob = make_blob(data)
    start = blob.size - len(data)
    buffer = bytearray(blob.raw + after.raw)
    assert find_swallowed(buffer, 0, start, len(buffer), LIMITS) == blob.size
    buffer[7 + 5] ^= 1  # the id
    assert find_swallowed(buffer, 0, start, len(buffer), LIMITS) is None
    assert find_swallowed(bytearray(blob.raw), 0, start, blob.size, LIMITS) is None
