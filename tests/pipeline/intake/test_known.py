"""What a lake holds is known by all of its id, and by nothing less."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.pipeline.intake.known import known_ids
from lace.pipeline.intake.run import ingest
from lace.pipeline.lake.lake import create_lake
from lace.porcelain import generate

pytestmark = pytest.mark.spark


def test_ids_are_known_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = list(generate(4, 200))
    for name, some in (("a", records[:60]), ("b", records[60:150])):
        (tmp_path / f"{name}.records").write_bytes(b"".join([record.raw for record in some]))
    lake = create_lake(tmp_path / "lake")
    for name in ("a", "b"):
        ingest(lake, [tmp_path / f"{name}.records"])
    known = known_ids(lake.snapshot())
    assert [record.id in known for record in records] == [True] * 150 + [False] * 50
    near = records[0].id
    # The last character before the suffix has two bits that belong to no byte.
    assert not any(
        near[:44] + letter + near[45:] in known for letter in "0123456789ABCxyz~" if letter != near[44]
    )
    # Another version is another set.
    assert records[100].id not in known_ids(lake.snapshot(1))
    monkeypatch.setattr("lace.pipeline.intake.known.KNOWN_RECORDS", 149)
    assert records[0].id not in known_ids(lake.snapshot())
