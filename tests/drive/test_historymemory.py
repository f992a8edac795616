"""The history in memory keeps the contract of all histories."""

from __future__ import annotations

from pathlib import Path

from lace.drive import History, MemoryHistory
from tests.drive.histories import HistoryContract


class TestMemoryHistory(HistoryContract):
    def open_history(self, folder: Path) -> History:
        return MemoryHistory()
