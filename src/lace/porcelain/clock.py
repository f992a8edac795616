"""The clock, read for whoever types no time."""

from __future__ import annotations

import time

from lace.porcelain.times import tai_from_nanoseconds
from lace.text import Tai


def now_tai() -> Tai:
    """Read the clock."""
    return tai_from_nanoseconds(time.time_ns())
