"""A file that one process at a time can hold: the system lets go of it with the process, however it ends."""

from __future__ import annotations

import fcntl
from errno import EACCES, EAGAIN
from pathlib import Path
from typing import IO

from lace.stores import file_faults


def take_hold(file: Path) -> IO[bytes] | None:
    """Return a file that nobody else gets this way until it is closed; None where somebody has it."""
    with file_faults(file.parent):
        held = file.open("ab")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        held.close()
        if error.errno in (EAGAIN, EACCES):
            return None
        with file_faults(file.parent):
            raise
    return held
