"""Limits have a name, a number and a reader that keeps them; at and above each one: test_check.py."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from lace.record import LIMITS, RecordLimits


def test_the_limits_are_those_of_the_profile() -> None:
    assert RecordLimits() == LIMITS
    assert (LIMITS.data_bytes, LIMITS.header_bytes, LIMITS.headers) == (64 * 2**20, 64 * 2**10, 1024)


def test_limits_do_not_change_once_given() -> None:
    with pytest.raises(FrozenInstanceError):
        LIMITS.headers = 5  # type: ignore[misc]
