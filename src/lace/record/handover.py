"""Records from a process to the one that started it, without checking them twice.

Rules of this file:
1. Only bytes that a child process of the same program packed may be unpacked: what comes from anybody else
   is parsed. Whoever unpacks is responsible for whose pipe it is.
2. What arrives equals what was checked: the same bytes, ids and fields.
"""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from typing import Any

from lace.record.model import Blob, OpenBlob, OpenPlex, OpenSeal, Plex, Record


def pack_records(records: Sequence[Record]) -> bytes:
    """Write checked records for the process that started this one.

    >>> from lace.record import make_blob
    >>> unpack_records(pack_records([make_blob(b"hello")]))[0].data
    b'hello'
    """
    return marshal.dumps([_fields(record) for record in records])


def unpack_records(packed: bytes) -> list[Record]:
    """Read what `pack_records` wrote in a child process of this one."""
    return [_record(*fields) for fields in marshal.loads(packed)]


def pack_fields(records: Sequence[Record | None]) -> bytes:
    """Write what checked records say, without the bytes that the process which started this one has."""
    return marshal.dumps([None if record is None else _fields(record)[1:] for record in records])


def unpack_fields(packed: bytes, raws: Sequence[bytes]) -> list[Record | None]:
    """Read what `pack_fields` wrote in a child process about these bytes.

    >>> from lace.record import make_blob
    >>> blob = make_blob(b"hello")
    >>> unpack_fields(pack_fields([blob, None]), [blob.raw, b"?"]) == [blob, None]
    True
    """
    found = zip(raws, marshal.loads(packed), strict=True)
    return [None if fields is None else _record(raw, *fields) for raw, fields in found]


def _fields(record: Record) -> tuple[Any, ...]:
    raw = record.raw
    if isinstance(record, Blob):
        return raw, (record.id, record.length), None, None
    if isinstance(record, Plex):
        return raw, (record.blob.id, record.blob.length, record.blob.size), _named(record), None
    plex = record.plex
    return (
        raw,
        (plex.blob.id, plex.blob.length, plex.blob.size),
        _named(plex),
        (record.id, record.signer, record.signature, plex.size),
    )


def _named(plex: Plex) -> tuple[Any, ...]:
    return plex.id, plex.group, plex.app, plex.name, plex.tai, plex.extra


def _record(
    raw: bytes, blob: tuple[Any, ...], named: tuple[Any, ...] | None, sealed: tuple[Any, ...] | None
) -> Record:
    size = len(raw)
    if named is None:
        id, length = blob
        return OpenBlob(id, raw, 0, size, size - length)
    blob_id, length, blob_size = blob
    inner = OpenBlob(blob_id, raw, size - blob_size, size, size - length)
    if sealed is None:
        id, group, app, name, tai, extra = named
        return OpenPlex(id, raw, 0, size, group, app, name, tai, extra, inner)
    seal_id, signer, signature, plex_size = sealed
    id, group, app, name, tai, extra = named
    plex = OpenPlex(id, raw, size - plex_size, size, group, app, name, tai, extra, inner)
    return OpenSeal(seal_id, raw, 0, size, signer, signature, plex)
