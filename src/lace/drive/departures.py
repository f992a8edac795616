"""Tells of records that leave: before the first byte of a batch is handed out, and after the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lace.drive.observed import Observer, RecordsLeaving, RecordsLeft
from lace.errors import StoreError

LEAVING_RECORDS: Final = 4096
"""So many records are a batch. A history writes to the disk before each, so that larger ones cost less; after
a crash nobody knows how much of the last one has left."""


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
        self._refused: StoreError | None = None

    def hand_out(self, record: str, size: int) -> None:
        """Tell that a record is handed out next; no byte of it may have been handed out before.

        Raises what an observer raised to keep the record's batch here: then the record, and all that follow
        it in this response, stay as well.
        """
        if self._refused is not None:
            raise self._refused
        while self._wanted[self._at] != record:
            self._at += 1  # no longer in the store
        if self._at >= self._end:
            self.end()
            self._end = self._at + LEAVING_RECORDS
            try:
                self._observe(RecordsLeaving(self._wanted[self._at : self._end], self._loop, self._tick))
            except StoreError as error:
                self._refused = error
                raise
        self._records.append(record)
        self._bytes += size

    def hand_out_all(self, records: Sequence[str], sizes: Sequence[int]) -> int:
        """Tell that records are handed out next, one after the other; return how many of them may be.

        Where an observer refuses a batch in the middle, the records before it go out, as a part of the batch
        before; the refusal is raised when the next ones are to be handed out.
        """
        at = 0
        while at < len(records):
            try:
                self.hand_out(records[at], sizes[at])
            except StoreError:
                if not at:
                    raise
                break
            at += 1
            # Those behind it that are still there and belong to the same batch.
            here = self._at + 1
            some = records[at : at + self._end - here]
            if some and self._wanted[here : here + len(some)] == tuple(some):
                self._records += some
                self._bytes += sum(sizes[at : at + len(some)])
                self._at += len(some)
                at += len(some)
        return at

    def end(self) -> None:
        """Tell what left of the batch under way, where there is one."""
        if self._records:
            self._observe(RecordsLeft(tuple(self._records), self._bytes, self._loop))
        self._records.clear()
        self._bytes = self._end = 0
