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
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, pairwise
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
    following = now
    for version in reversed(versions):
        # A clock that was ahead: it was made before the next one at the latest.
        made[version] = following = made[version] if made[version] <= now else following
    # And after all before it, also where a clock that was behind puts it elsewhere.
    known = dict(zip(versions, accumulate((made[each] for each in versions), max), strict=True))
    # Not below 0, where the clock of the disk is ahead of ours: 0 asks for whatever is not the newest.
    ages = {version: max(0.0, now - known[following]) for version, following in pairwise(versions)}
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
