"""Where a lace lies on the disk.

FOLDER/.lace/store.sqlite       the records
FOLDER/.lace/imports/           how far interrupted imports came
FOLDER/.lace/history.sqlite     what left and what came in exchanges
FOLDER/.lace/cursors.sqlite     what peers advertised last, which saves bytes the next time
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from lace.errors import Missing, StoreError
from lace.stores import file_faults

FOLDER: Final = ".lace"
STORE_FILE: Final = "store.sqlite"
IMPORTS_FOLDER: Final = "imports"
HISTORY_FILE: Final = "history.sqlite"
CURSORS_FILE: Final = "cursors.sqlite"
_LAKE_FILE: Final = "lake.json"


class LaceExists(StoreError):
    """A lace where one was to be made."""

    code = "lace/exists"
    text = "there is a lace in {where} already; nothing was changed"


class NoLace(Missing):
    """A folder without a lace."""

    code = "lace/none"
    text = "there is no lace in {where}: make one with `lace init`"


class LakeInstead(Missing):
    """A lake where a lace was named."""

    code = "lace/lake"
    text = (
        "{where} is a lake and no lace: name it with --lake where a verb has it; `lace lake` has the others"
    )


def make_place(folder: Path, mode: int = 0o777) -> Path:
    """Make room for a new lace in a folder; return its store file, which holds nothing yet.

    `mode` is who may enter, as far as the system's own mask lets them.
    """
    file = folder / FOLDER / STORE_FILE
    with file_faults(file.parent):
        # An empty file is what an `init` leaves that was killed in its first moment: it can be done again.
        if file.exists() and file.stat().st_size:
            raise LaceExists(where=str(file.parent))
        file.parent.mkdir(mode, parents=True, exist_ok=True)
    return file


def store_file(path: Path) -> Path:
    """Return the store file of a lace named by its folder, by the `.lace` in it, or by the file itself."""
    with file_faults(path):
        if not path.is_dir():
            return path
        for candidate in (path / FOLDER / STORE_FILE, path / STORE_FILE):
            if candidate.exists():
                return candidate
        if (path / _LAKE_FILE).exists():
            raise LakeInstead(where=str(path))
    raise NoLace(where=str(path))


def imports_folder(file: Path) -> Path:
    """Return where the journal of imports into a store file lies."""
    return file.with_name(IMPORTS_FOLDER if file.name == STORE_FILE else f"{file.name}.{IMPORTS_FOLDER}")


def history_file(file: Path) -> Path:
    """Return where the history of exchanges with a store file lies."""
    return file.with_name(HISTORY_FILE if file.name == STORE_FILE else f"{file.name}.{HISTORY_FILE}")


def cursors_file(history: Path) -> Path:
    """Return where cursors lie: beside a history file."""
    return history.with_name(history.name.removesuffix(HISTORY_FILE) + CURSORS_FILE)
