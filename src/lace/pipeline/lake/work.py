"""Commits upkeep of a lake while others commit too.

Rules of this file:
1. What was done to an old version is done again on the newest, or put on top of it where that is the same.
2. Files of work that was not committed are removed, also those of tasks that never answered: on a full disk
   they would be what it is full of. A kill leaves them to vacuum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from lace.errors import StoreError
from lace.pipeline.lake.faults import Overtaken
from lace.pipeline.lake.folder import Folder
from lace.pipeline.lake.lake import Lake
from lace.pipeline.lake.manifest import DATA, Change, DataFile
from lace.pipeline.lake.snapshot import Snapshot
from lace.pipeline.tables import TABLES

ATTEMPTS: Final = 20
"""How often upkeep begins again because others commit; ingest never has to."""


def commit_work(
    lake: Lake, make: Callable[[Snapshot], Change | None], *, on_top: bool = False
) -> Snapshot | None:
    """Commit what `make` does to the newest version, from the start again where others were first.

    With `on_top`, work whose files are still there is committed on the winner as it is.
    """
    base = lake.snapshot()
    for _ in range(ATTEMPTS):
        change = make(base)
        if change is None:
            return None
        try:
            return _commit(lake, base, change, on_top)
        except Overtaken as error:
            base = error.winner
            overtaken = error
    raise overtaken


def _commit(lake: Lake, base: Snapshot, change: Change, on_top: bool) -> Snapshot:
    try:
        while True:
            try:
                return lake.commit(base, change)
            except Overtaken as error:
                base = error.winner
                if not on_top or not {f.path for f in change.removed} <= {f.path for f in base.all_files()}:
                    raise
    except BaseException:
        # A commit that failed in the middle may have happened: only files that no version names go.
        discard(lake, change.added)
        raise


@contextmanager
def cleared(folder: Folder, work: str) -> Iterator[None]:
    """Leave nothing of tasks that write under this name where any of them fails, or all are stopped."""
    try:
        yield
    except BaseException:
        clear(folder, work)
        raise


def clear(folder: Folder, work: str) -> None:
    """Remove all files of work that no version names, as far as that is possible now."""
    with suppress(StoreError):
        for table in TABLES:
            for entry in folder.list(f"{DATA}/{table}"):
                if entry.path.rpartition("/")[2].startswith(work):
                    folder.remove(entry.path)


def discard(lake: Lake, files: Iterable[DataFile]) -> None:
    """Remove files that no version names, as far as that is possible now."""
    try:
        named = {file.path for file in lake.snapshot().all_files()}
        for file in files:
            if file.path not in named:
                lake.folder.remove(file.path)
    except StoreError:
        return
