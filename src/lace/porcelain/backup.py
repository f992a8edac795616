"""A copy of a lace that is in use: its store, and the history beside it.

Rules of this file:
1. Both files have their names only once they are whole; the store is the last, and makes the folder a lace.
2. The history is copied after the store, so that it misses nothing that a record of the copy went through.
3. Nobody may read the copy who may not read the lace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from lace.drive import FileHistory, History
from lace.errors import StoreError
from lace.porcelain.place import history_file, make_place
from lace.stores import BackupExists, Progress, SqliteStore, Statistics, file_faults, give_name, sync_folder


def back_up(store: SqliteStore, history: History, folder: Path, progress: Progress | None) -> Statistics:
    """Copy a store and the history beside it to a new lace in a folder; return the copy in numbers."""
    with file_faults(store.path.parent):
        mode = 0o700 | (store.path.parent.stat().st_mode & 0o777)
    file = make_place(folder, mode)
    notes = history_file(file)
    if notes.exists():
        raise BackupExists(where=str(notes))
    # Names of their own: another backup to this place may be under way.
    token = token_hex(8)
    parts = {each: each.with_name(f".{each.name}.{token}.partial") for each in (notes, file)}
    try:
        with _named(parts):
            store.backup(parts[file], progress)
            with SqliteStore(parts[file], create=False) as copy:
                stats = copy.stats()
            noted = isinstance(history, FileHistory) and history.backup(
                parts[notes], store.version(), stats.version
            )
        with file_faults(file):
            if noted:
                give_name(parts[notes], notes)
            try:
                give_name(parts[file], file)
            except BaseException:
                if noted:
                    notes.unlink(missing_ok=True)  # ours, and of a store that did not get its name
                raise
            sync_folder(file.parent)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)
    return stats


@contextmanager
def _named(parts: Mapping[Path, Path]) -> Iterator[None]:
    """Let errors name the files of a copy: nobody asked for the names that they have until they are whole."""
    try:
        yield
    except StoreError as error:
        names = {str(part): str(file) for file, part in parts.items()}
        where = names.get(error.fields.get("where", ""))
        if where is None:
            raise
        raise type(error)(**{**error.fields, "where": where}) from error.__cause__
