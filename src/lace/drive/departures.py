"""Tells of records that leave: before the first byte of a batch is handed out, and after the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lace.drive.observed import Observer, RecordsLeaving, RecordsLeft

LEAVING_RECORDS: Final = 4096
"""So many records are told of at once: a history writes to the disk each time, and after a crash as many are
in doubt."""


class Departures:
    """The records of one response, as they are handed out in the order in which they were wanted."""

    def __init__(self, observe: Observer, wanted: tuple[str, ...], loop: int, tick: str) -> None:
        self._observe = observe
        self._wanted = wanted
        self._loop = loop
        self._tick = tick
        self._at = 0
        self._end = 0
        self._records: list[str] = []
        self._bytes = 0

    def hand_out(self, record: str, size: int) -> None:
        """Tell that a record is handed out now; nothing of it may have been."""
        while self._wanted[self._at] != record:
            self._at += 1  # no longer in the store
        if self._at >= self._end:
            self.end()
            self._end = self._at + LEAVING_RECORDS
            self._observe(RecordsLeaving(self._wanted[self._at : self._end], self._loop, self._tick))
        self._records.append(record)
        self._bytes += size

    def hand_out_all(self, records: Sequence[str], sizes: Sequence[int]) -> None:
        """Tell that records are handed out now, one after the other."""
        at = 0
        while at < len(records):
            self.hand_out(records[at], sizes[at])
            at += 1
            # Those behind it that are still there and belong to the same batch.
            here = self._at + 1
            some = records[at : at + self._end - here]
            if some and self._wanted[here : here + len(some)] == tuple(some):
                self._records += some
                self._bytes += sum(sizes[at : at + len(some)])
                self._at += len(some)
                at += len(some)

    def end(self) -> None:
        """Tell what left of the batch under way, where there is one."""
        if self._records:
            self._observe(RecordsLeft(tuple(self._records), self._bytes, self._loop))
        self._records.clear()
        self._bytes = self._end = 0
