"""Commits upkeep of a lake while others commit too.

Rules of this file:
1. What was done to an old version is done again on the newest, or put on top of it where that is the same.
2. Files of work that was not committed are removed; a kill leaves them to vacuum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from lace.errors import StoreError
from lace.pipeline.lake.faults import Overtaken
from lace.pipeline.lake.lake import Lake
from lace.pipeline.lake.manifest import Change, DataFile
from lace.pipeline.lake.snapshot import Snapshot

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


def discard(lake: Lake, files: Iterable[DataFile]) -> None:
    """Remove files that no version names, as far as that is possible now."""
    try:
        named = {file.path for file in lake.snapshot().all_files()}
        for file in files:
            if file.path not in named:
                lake.folder.remove(file.path)
    except StoreError:
        return
