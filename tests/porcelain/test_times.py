"""Times as people read and type them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.porcelain.times import NotATime, parse_time, show_time, tai_from_nanoseconds
from lace.text import OutsideTai, Tai, tai_from_unix

NOW = tai_from_unix(1_700_000_000, 5)  # 2023-11-14 22:13:20 UTC


@pytest.mark.parametrize(
    ("text", "unix"),
    [
        ("2023-11-14", 1_699_920_000),
        ("2023-11-14 22:13", 1_699_999_980),
        ("2023-11-14T22:13:20Z", 1_700_000_000),
        ("2023-11-15T00:13:20+02:00", 1_700_000_000),
        ("today", 1_699_920_000),
        (" Yesterday ", 1_699_833_600),
        ("1970-01-01", 0),
    ],
)
def test_a_date_is_utc_unless_it_says_otherwise(text: str, unix: int) -> None:
    assert parse_time(text, NOW) == tai_from_unix(unix)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("now", 0),
        ("90s", 90),
        ("5min", 300),
        ("2h", 7200),
        ("3 days ago", 259_200),
        ("1 week", 604_800),
        ("0d", 0),
    ],
)
def test_a_span_counts_back_from_now(text: str, seconds: int) -> None:
    assert parse_time(text, NOW) == tai_from_unix(1_700_000_000 - seconds, 5)


def test_a_span_longer_than_all_time_ends_at_the_beginning() -> None:
    assert parse_time("99999 weeks", NOW) == tai_from_unix(0, 5)


def test_nine_digits_of_a_second_are_kept() -> None:
    assert parse_time("2022-01-01T00:00:00.123456789Z", NOW) == Tai("1640995237:123456789")


def test_tai_text_is_taken_as_it_is() -> None:
    assert parse_time("0000000000:000000000", NOW) == "0000000000:000000000"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "2024-13-01",
        "12:30",
        "2024",
        "5 parsecs",
        "2022-01-01T00:00:00.1234567891",
        "1640995200:5",
    ],
)
def test_text_that_is_no_time_is_told_what_is_one(text: str) -> None:
    with pytest.raises(NotATime, match="write 2024-01-31"):
        parse_time(text, NOW)


def test_a_date_before_the_epoch_has_no_tai_text() -> None:
    with pytest.raises(OutsideTai):
        parse_time("1850-01-01", NOW)


@given(st.integers(0, 9_999_999_000), st.integers(0, 999_999_999))
def test_what_is_shown_can_be_typed_and_means_the_same_second(seconds: int, nanoseconds: int) -> None:
    tai = tai_from_unix(seconds, nanoseconds)
    assert parse_time(show_time(tai), NOW) == tai_from_unix(seconds)


@given(st.integers(0, 9_999_999_000 * 10**9))
def test_nanoseconds_of_a_clock_are_kept(nanoseconds: int) -> None:
    assert tai_from_nanoseconds(nanoseconds)[11:] == f"{nanoseconds % 10**9:09}"


def test_the_first_tai_second_can_be_shown() -> None:
    assert show_time(Tai("0000000000:000000000")) == "1969-12-31 23:59:50Z"
