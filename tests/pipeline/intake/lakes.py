"""What tests of ingest ask of lakes, and how a store on one machine answers the same."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lace.pipeline.lake.lake import Lake
from lace.pipeline.tables import FACT_TABLES
from lace.porcelain import Lace
from lace.porcelain.streams.journal import Counts
from lace.text import decode

REJECT_COLUMNS = ("source", "offset", "length", "code", "reason", "raw")


def rows(lake: Lake, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """Return the rows of a table, in order."""
    found = lake.snapshot().dataset(table).to_table(columns=list(columns) or None)
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True), key=repr)


def facts(lake: Lake) -> Counter[tuple[Any, ...]]:
    """Return every fact of a lake, with how often it is there."""
    return Counter(
        (predicate, *row)
        for predicate, (table, columns) in FACT_TABLES.items()
        for row in rows(lake, table, *columns)
    )


def store_facts(lace: Lace) -> Counter[tuple[Any, ...]]:
    """Return every fact of a store."""
    return Counter(fact for segment in lace.store.segments() for fact in segment.facts())


def raws(lake: Lake) -> dict[str, bytes]:
    """Return the bytes of every record; none may be there twice."""
    found = rows(lake, "records", "id", "raw")
    assert len(dict(found)) == len(found)
    return dict(found)


def import_all(folder: Path, sources: Iterable[Path]) -> tuple[Lace, Counts, list[tuple[Any, ...]]]:
    """Import the same files on one machine; return the lace, the counts and the rejected pieces."""
    lace = Lace.init(folder)
    report = lace.import_records(*sources, rejects=folder / "rejects.jsonl")
    lines = (folder / "rejects.jsonl").read_text(encoding="utf-8").splitlines()
    told = [json.loads(line) for line in lines]
    rejected = [(t["source"], t["offset"], t["bytes"], t["code"], t["error"], decode(t["raw"])) for t in told]
    return lace, report.counts, sorted(rejected, key=repr)


def staged(lake: Lake) -> list[str]:
    """Return what an ingest has left behind."""
    return [entry.path for entry in lake.folder.list("staged")]
