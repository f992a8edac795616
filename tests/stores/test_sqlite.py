"""The sqlite store keeps the contract, and what it promises beyond it."""

from __future__ import annotations

from pathlib import Path

import apsw

from lace.stores import SqliteStore, Store
from lace.text import RecordId
from tests.stores.contract import StoreContract


class TestSqliteStore(StoreContract):
    """One file."""

    durable = True

    def open_store(self, folder: Path, *, admit_inner: bool = False) -> SqliteStore:
        return SqliteStore(folder / "a.lace", admit_inner=admit_inner)

    def rot(self, store: Store, record_id: RecordId, raw: bytes) -> None:
        assert isinstance(store, SqliteStore)
        behind = apsw.Connection(str(store.path))
        behind.execute("UPDATE record SET bytes = ? WHERE hash = ?", (raw, record_id))
        behind.close()
