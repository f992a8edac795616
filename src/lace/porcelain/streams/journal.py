"""How far an import has come, kept beside the store so that it can go on after an interruption.

Rules of this file:
1. An entry is written after the commit that it tells of: it never promises what is not stored.
2. It counts only for the same file and the same store: another generation, or a store that was set back
   to an earlier state, begins from the start. So does an entry that is not what was written, since another
   offset would leave records out; and for the importer one of an import with other options, or from before
   a removal.
3. Entries go when the whole import is over: importing again later looks at everything again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lace.stores import Identity, Version, file_faults
from lace.text import digest, encode


@dataclass(slots=True)
class Counts:
    """What became of the records that came in."""

    stored: int = 0
    """New in the store."""
    known: int = 0
    """There already."""
    refused: int = 0
    """Forgotten here, and kept out."""
    rejected: int = 0
    """Parts that are no valid records."""
    rejected_bytes: int = 0


@dataclass(slots=True)
class Entry:
    """The state of one source."""

    offset: int = 0
    """Everything before this byte was dealt with."""
    finished: bool = False
    counts: Counts = field(default_factory=Counts)
    rejects_path: str | None = None
    rejects_bytes: int = 0
    """How long the file of rejects was by then."""
    admit_inner: bool = False
    """Whether inner records were stored in their own right."""
    last: int = 0
    """The number of the store's last addition or removal by then."""


class Journal:
    """The entries of one store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, identity: Identity, version: Version) -> Entry:
        """Return the entry of a source, a new one where none counts."""
        try:
            kept = json.loads(self._path(identity).read_bytes())
            if kept.pop("check") != _check(kept):
                return Entry()
            same = kept["source"] == list(identity) and kept["generation"] == version.generation
            entry = kept["entry"]
            if same and entry["last"] <= version.last:
                return Entry(**{**entry, "counts": Counts(**entry["counts"])})
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass  # rule 2: a fresh start is always right, since storing twice is a no-op
        return Entry()

    def write(self, identity: Identity, version: Version, entry: Entry) -> None:
        """Keep the entry of a source."""
        path = self._path(identity)
        kept: dict[str, object] = {
            "source": list(identity),
            "generation": version.generation,
            "entry": {**asdict(entry), "last": version.last},
        }
        kept["check"] = _check(kept)
        beside = path.with_suffix(f".{os.getpid()}")
        with file_faults(path):
            self.folder.mkdir(exist_ok=True)
            beside.write_text(json.dumps(kept), encoding="utf-8", errors="surrogatepass")
            beside.replace(path)

    def drop(self, identities: Iterable[Identity]) -> None:
        """Remove entries whose import is over."""
        with file_faults(self.folder):
            for identity in identities:
                self._path(identity).unlink(missing_ok=True)
            if self.folder.is_dir() and not any(self.folder.iterdir()):
                self.folder.rmdir()

    def _path(self, identity: Identity) -> Path:
        name = encode(digest(identity.path.encode("utf-8", "surrogatepass")))
        return self.folder / f"{name}.json"


def _check(kept: dict[str, object]) -> str:
    return encode(digest(json.dumps(kept).encode()))
