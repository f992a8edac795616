"""The memory store keeps the contract."""

from __future__ import annotations

from pathlib import Path

from lace.stores import MemoryStore, Store
from lace.text import RecordId
from tests.stores.contract import StoreContract


class TestMemoryStore(StoreContract):
    """Dictionaries."""

    def open_store(self, folder: Path, *, admit_inner: bool = False) -> MemoryStore:
        return MemoryStore(admit_inner=admit_inner)

    def rot(self, store: Store, record_id: RecordId, raw: bytes) -> None:
        assert isinstance(store, MemoryStore)
        store._bytes[record_id] = raw
