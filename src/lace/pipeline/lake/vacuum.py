"""Removes old versions, and files that no version names any more.

Rules of this file:
1. The newest version always stays. Any other is as old as the time since it was the newest: whoever reads
   it, or is about to commit on it, began before that.
2. Manifests go first, then the files that only they named: where vacuum is killed in between, no version is
   left that lacks a file.
3. A file that no version names may belong to a writer at work, whose commit will name it, until it is older
   than the grace time. A file of a removed version goes at once where the newest version remembers that one's
   batch.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Final

from lace.pipeline.lake.faults import BadManifest, NoSuchVersion
from lace.pipeline.lake.folder import UNFINISHED, Entry
from lace.pipeline.lake.lake import Lake
from lace.pipeline.lake.manifest import COMMITS, DATA, manifest_path, manifest_version
from lace.pipeline.tables import TABLES

DAY: Final = 86_400.0
_OURS: Final = re.compile(r"[0-9a-f]{32}\.parquet")


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """What vacuum removed, or would remove."""

    versions: tuple[int, ...]
    files: int
    bytes: int
    kept: tuple[int, ...]
    """The versions that can still be read."""


def vacuum(
    lake: Lake, *, keep: int = 1, older_than: float = 7 * DAY, grace: float = DAY, dry_run: bool = False
) -> Vacuumed:
    """Remove versions that have not been the newest for so many seconds, and files that no version names.

    The last `keep` versions stay, and so do files that none named yet, until they are older than `grace`.
    """
    now = time.time()
    commits = lake.folder.list(COMMITS)
    made = {v: e.modified for e in commits if (v := manifest_version(e.path)) is not None}
    versions = sorted(made)
    latest = _latest_times(made, now)
    ages = {version: now - latest[following] for version, following in pairwise(versions)}
    newest = set(versions[-max(1, keep) :])
    gone = tuple(v for v in versions if v not in newest and ages[v] >= older_than)
    # Read before anything is removed: a damaged manifest among those that stay stops everything.
    live = _live(lake, [v for v in versions if v not in gone])
    committed = _committed(lake, gone)
    if not dry_run:
        for version in gone:
            lake.folder.remove(manifest_path(version))
        live |= _live(lake, [v for v in lake.versions() if v not in versions])
    rest = [e for e in (*commits, *lake.folder.list("")) if e.path.endswith(UNFINISHED)]
    rest += lake.folder.list("staged")  # what an ingest sets down between its passes
    for table in TABLES:
        rest += (e for e in lake.folder.list(f"{DATA}/{table}") if _is_ours(e) and e.path not in live)
    rest = [entry for entry in rest if entry.path in committed or now - entry.modified >= grace]
    if not dry_run:
        for entry in rest:
            lake.folder.remove(entry.path)
    kept = tuple(v for v in versions if v not in gone)
    return Vacuumed(gone, len(rest), sum(entry.size for entry in rest), kept)


def _latest_times(made: Mapping[int, float], now: float) -> dict[int, float]:
    """Return by when each version was made, from what the clocks of those who made them said.

    A clock may have been behind, or ahead. A time that comes before that of an earlier version, or is still
    to come, says nothing: such a version was made by the time of the next one, or by now.

    >>> _latest_times({1: 10.0, 2: 0.0, 3: 30.0, 4: 99.0}, 50.0)
    {1: 10.0, 2: 30.0, 3: 30.0, 4: 50.0}
    """
    said: dict[int, float] = {}
    before = -inf
    for version in sorted(made):
        if before <= made[version] <= now:
            said[version] = before = made[version]
    latest, after = dict.fromkeys(sorted(made), now), now
    for version in reversed(latest):
        latest[version] = after = said.get(version, after)
    return latest


def _live(lake: Lake, versions: list[int]) -> set[str]:
    return {file.path for version in versions for file in lake.snapshot(version).all_files()}


def _committed(lake: Lake, versions: Sequence[int]) -> set[str]:
    """Return the files of those versions whose batches the newest version remembers.

    Another one may be of a writer that slept while vacuum removed what it stood on. It takes that version
    back and commits the same files again, so they have to stay.
    """
    known = lake.snapshot().manifest.batches
    found: set[str] = set()
    for version in versions:
        with suppress(BadManifest, NoSuchVersion):  # what it named, if anything, waits for the grace time
            each = lake.snapshot(version)
            if known.get(each.batch) == version:
                found |= {file.path for file in each.all_files()}
    return found


def _is_ours(entry: Entry) -> bool:
    return _OURS.fullmatch(entry.path.rpartition("/")[2]) is not None
