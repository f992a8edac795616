"""Small lakes for tests, written without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lace.pipeline import Change, Lake, create_lake
from lace.pipeline.lake.write import write_table
from lace.pipeline.rows import rows_of_records
from lace.record import Record
from lace.text import RecordId


def lake_of(place: Path, *commits: Sequence[Record]) -> Lake:
    """Make a lake with one commit for each set of records."""
    lake = create_lake(place)
    for number, records in enumerate(commits):
        in_order = sorted(records, key=lambda record: record.id[2:])
        written = [
            write_table(lake.folder, table, [batch]) for table, batch in rows_of_records(in_order).items()
        ]
        added = tuple(file for file in written if file is not None)
        lake.commit(lake.snapshot(), Change("ingest", f"batch {number}", added))
    return lake


def damage(lake: Lake, record_id: RecordId) -> None:
    """Change one byte of a record in a data file, and let everything around it agree."""
    snapshot = lake.snapshot()
    for file in snapshot.of("records"):
        filesystem, path = lake.folder.arrow(file.path)
        table = pq.read_table(path, filesystem=filesystem)
        ids = table.column("id").to_pylist()
        if record_id in ids:
            raws = table.column("raw").to_pylist()
            at = ids.index(record_id)
            raws[at] = raws[at][:-1] + bytes([raws[at][-1] ^ 1])
            changed = table.set_column(table.schema.get_field_index("raw"), table.schema.field("raw"), [raws])
            written = write_table(lake.folder, "records", [changed])
            assert written is not None
            lake.commit(snapshot, Change("damage", "damage", (written,), (file,)))
            return
    raise AssertionError(f"{record_id} is not in the lake")


def flip_unnoticed(path: Path, column: str) -> bytes:
    """Return a data file's bytes with one bit of a column changed, so that only its checksum can tell."""
    whole = path.read_bytes()
    group = pq.ParquetFile(path).metadata.row_group(0)
    place = next(group.column(at) for at in range(11) if group.column(at).path_in_schema == column)
    begin = place.dictionary_page_offset or place.data_page_offset
    before = pq.read_table(path, columns=[column])
    for at in range(begin + 100, begin + place.total_compressed_size):
        changed = whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :]
        try:
            read = pq.read_table(pa.BufferReader(changed), columns=[column])
            read.validate(full=True)
        except (OSError, pa.ArrowException):
            continue
        if not read.equals(before):
            return changed
    raise AssertionError(f"every change of {column} is noticed")
