"""The golden vectors are the ones that were given: whole, unchanged, and none left out."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from tests.golden import FOLDER

SUMS = FOLDER / "SHA256SUMS"
GIVEN = FOLDER.parent.parent.parent / "shared" / "vectors"


def sums(folder: Path) -> dict[str, str]:
    files = (p for p in folder.rglob("*") if p.is_file() and p != SUMS)
    return {p.relative_to(folder).as_posix(): sha256(p.read_bytes()).hexdigest() for p in files}


def test_every_vector_file_has_its_checksum() -> None:
    listed = dict(reversed(line.split("  ", 1)) for line in SUMS.read_text(encoding="utf-8").splitlines())
    assert sums(FOLDER) == listed


@pytest.mark.skipif(not GIVEN.is_dir(), reason="the given vectors are not beside this repository")
def test_the_copy_is_complete_and_unchanged() -> None:
    given, ours = sums(GIVEN), sums(FOLDER)
    assert {name: ours.get(name) for name in given} == given
