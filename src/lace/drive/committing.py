"""A commit that goes on beside the exchange: the disk writes while the next records are read and checked.

Rules of this file:
1. Nobody is told of a record before its commit is over: whoever began one asks for its outcome.
2. One commit at a time for each exchange, so what waits is bounded by two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Thread

from lace.record import Record
from lace.stores import Outcome, Store


class Committing:
    """Records on their way into a store."""

    def __init__(self, store: Store, records: Sequence[Record], size: int) -> None:
        """Begin to store records of so many bytes."""
        self.records = records
        self.size = size
        self._store = store
        self._outcomes: list[Outcome] = []
        self._fault: BaseException | None = None
        self._thread: Thread | None = Thread(target=self._run, name="lace-commit")
        try:
            self._thread.start()
        except RuntimeError:
            # No thread is to be had: then the exchange waits for the disk.
            self._thread = None
            self._run()

    def _run(self) -> None:
        try:
            self._outcomes = self._store.put_many(self.records, arriving=True)
        except BaseException as fault:  # whatever it is, it is raised where somebody waits for it
            self._fault = fault

    @property
    def over(self) -> bool:
        """Whether the outcome is there, and nobody would wait for it."""
        return self._thread is None or not self._thread.is_alive()

    def outcomes(self) -> list[Outcome]:
        """Wait for the end; return one outcome for each record, or raise why there is none."""
        if self._thread is not None:
            self._thread.join()
        if self._fault is not None:
            raise self._fault
        return self._outcomes
