"""Records and tables out of a store, into one stream or a folder of files.

Rules of this file:
1. Bytes are hashed again on their way out; a rotten record is reported and left out, and the rest goes on.
2. A file is whole or absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from lace.porcelain.files import new_file
from lace.porcelain.streams.shards import ShardWriter
from lace.record import Record
from lace.stores import MANIFEST_FORMAT, SHARD_SUFFIX, NotStored, RottenRecord, Store
from lace.text import RecordId

_PROGRESS_EVERY: Final = 256


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export wrote."""

    records: int
    bytes: int
    files: int
    rotten: tuple[RecordId, ...] = ()
    """Records that were left out because their stored bytes are damaged."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where an export goes: a stream, one file, or a folder of files of at most `shard_bytes`."""

    place: Path | BinaryIO
    shard_bytes: int | None = None
    replace: bool = False
    """Whether a file that is there may be replaced; a folder of shards never is."""
    suffix: str = SHARD_SUFFIX
    kind: str = MANIFEST_FORMAT
    head: bytes = b""
    """What each file begins with."""


def record_pieces(store: Store, record_ids: Iterable[RecordId], rotten: list[RecordId]) -> Iterator[bytes]:
    """Yield the stored form of records; damaged ones are added to `rotten` instead."""
    for record_id in record_ids:
        try:
            yield store.get(record_id).raw
        except RottenRecord:
            rotten.append(record_id)
        except NotStored:
            continue  # removed by somebody since its id was read


def write_pieces(
    pieces: Iterable[bytes], target: Target, progress: Callable[[int], None] | None = None
) -> ExportReport:
    """Write pieces, each a record or a row; `progress` is told how many."""
    records = size = 0
    with _sink(target) as (add, files):
        for piece in pieces:
            add(piece)
            records += 1
            size += len(piece)
            if progress is not None and records % _PROGRESS_EVERY == 0:
                progress(records)
    return ExportReport(records, size + len(target.head) * files(), files())


def write_records(
    records: Iterable[Record],
    place: Path | BinaryIO,
    *,
    shard_bytes: int | None = None,
    replace: bool = False,
    progress: Callable[[int], None] | None = None,
) -> ExportReport:
    """Write records as one stream or file, or as a folder of shards."""
    return write_pieces((record.raw for record in records), Target(place, shard_bytes, replace), progress)


@contextmanager
def _sink(target: Target) -> Iterator[tuple[Callable[[bytes], object], Callable[[], int]]]:
    """Lend what takes the pieces, and what tells the number of files in the end."""
    place = target.place
    if not isinstance(place, Path):
        place.write(target.head)
        yield place.write, lambda: 1
        place.flush()
    elif target.shard_bytes is None:
        with new_file(place, replace=target.replace) as file:
            file.write(target.head)
            yield file.write, lambda: 1
    else:
        with ShardWriter(
            place, shard_bytes=target.shard_bytes, suffix=target.suffix, head=target.head, kind=target.kind
        ) as writer:
            yield writer.add, lambda: len(writer.shards)
