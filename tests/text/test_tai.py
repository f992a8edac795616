"""TAI text and its conversion from and to Unix time, leap seconds included."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.text import (
    NANOSECONDS,
    NotTai,
    OutsideTai,
    Tai,
    is_tai,
    parse_tai,
    tai_from_unix,
    tai_offset,
    unix_from_tai,
    write_tai,
)
from tests.golden import load_vectors

GOLDEN = load_vectors("ids_signatures")
LAST = 9_999_999_999

# The days that began one second late: IERS Bulletin C.
LEAP_DAYS = [
    "1972-07", "1973-01", "1974-01", "1975-01", "1976-01", "1977-01", "1978-01", "1979-01", "1980-01",
    "1981-07", "1982-07", "1983-07", "1985-07", "1988-01", "1990-01", "1991-01", "1992-07", "1993-07",
    "1994-07", "1996-01", "1997-07", "1999-01", "2006-01", "2009-01", "2012-07", "2015-07", "2017-01",
]  # fmt: skip
LEAPS = [
    (int(datetime.strptime(day, "%Y-%m").replace(tzinfo=UTC).timestamp()), 11 + i)
    for i, day in enumerate(LEAP_DAYS)
]


@pytest.mark.parametrize("case", GOLDEN["tai"], ids=lambda case: case["tai"])
def test_golden_unix_times_become_their_tai(case: dict[str, int | str]) -> None:
    seconds, nanoseconds = int(case["unix_seconds"]), int(case["nanoseconds"])
    assert tai_from_unix(seconds, nanoseconds) == case["tai"]
    assert unix_from_tai(parse_tai(str(case["tai"]))) == (seconds, nanoseconds)


@pytest.mark.parametrize(
    "text", [*GOLDEN["tai_reject"], "1640995200:000000000\n", " 1640995200:000000000", "1640995200:00000000٠"]
)
def test_other_shapes_are_no_tai(text: str) -> None:
    assert not is_tai(text)
    with pytest.raises(NotTai):
        parse_tai(text)


@pytest.mark.parametrize(("start", "offset"), LEAPS, ids=LEAP_DAYS)
def test_the_offset_grows_by_one_at_each_leap_second(start: int, offset: int) -> None:
    assert [tai_offset(start + step) for step in (-1, 0, 1)] == [offset - 1, offset, offset]


@pytest.mark.parametrize(("start", "offset"), LEAPS, ids=LEAP_DAYS)
def test_a_leap_second_is_a_gap_that_reads_as_the_second_after_it(start: int, offset: int) -> None:
    before, after = int(tai_from_unix(start - 1)[:10]), int(tai_from_unix(start)[:10])
    assert after - before == 2
    assert unix_from_tai(write_tai(before)) == (start - 1, 0)
    assert unix_from_tai(write_tai(before + 1)) == (start, 0)
    assert unix_from_tai(write_tai(after)) == (start, 0)


def test_utc_before_1972_uses_the_offset_ten() -> None:
    assert {tai_offset(second) for second in (-10, 0, 63071999, 63072000, LEAPS[0][0] - 1)} == {10}
    assert tai_from_unix(-10) == "0000000000:000000000"


def test_the_last_offset_is_37() -> None:
    assert tai_offset(1483228800) == tai_offset(LAST) == 37


@given(st.integers(-10, LAST - 37), st.integers(0, NANOSECONDS - 1))
def test_every_unix_time_comes_back(seconds: int, nanoseconds: int) -> None:
    assert unix_from_tai(tai_from_unix(seconds, nanoseconds)) == (seconds, nanoseconds)


@given(st.sampled_from(LEAPS), st.integers(-3, 3), st.integers(-3, 3))
def test_unix_order_is_kept_around_leap_seconds(leap: tuple[int, int], one: int, other: int) -> None:
    start = leap[0]
    assert (one < other) == (tai_from_unix(start + one) < tai_from_unix(start + other))


moments = st.tuples(st.integers(0, LAST), st.integers(0, NANOSECONDS - 1))


@given(moments, moments)
def test_byte_order_is_time_order(one: tuple[int, int], other: tuple[int, int]) -> None:
    assert (one < other) == (write_tai(*one).encode() < write_tai(*other).encode())
    assert parse_tai(write_tai(*one)) == write_tai(*one)


@pytest.mark.parametrize(
    ("seconds", "nanoseconds"), [(-1, 0), (LAST + 1, 0), (0, -1), (0, NANOSECONDS), (LAST, NANOSECONDS)]
)
def test_what_the_digits_cannot_say_is_refused(seconds: int, nanoseconds: int) -> None:
    with pytest.raises(OutsideTai) as caught:
        write_tai(seconds, nanoseconds)
    assert str(seconds) in str(caught.value)


def test_the_ends_of_the_range_are_written() -> None:
    assert write_tai(0) == "0000000000:000000000"
    assert write_tai(LAST, NANOSECONDS - 1) == Tai("9999999999:999999999")
