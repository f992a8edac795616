"""What the fault tests share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: syncing is the VFS's subject here, not the disk's."""
    shared = Path("/dev/shm")
    if not shared.is_dir():
        yield tmp_path
        return
    made = Path(mkdtemp(dir=shared))
    yield made
    shutil.rmtree(made)
