"""Stored bytes on their way out: hashed and parsed again, or not let out at all.

Rules of this file:
1. The id that was asked for decides: bytes that are a fine record under another id are rotten too.
2. The hash covers a Seal's signature, and that was verified on the way in; only `verify` does it again.
3. The outer hash covers every byte: where it still holds, these are the bytes that were validated when they
   were stored, and whoever wants nothing but them need not have them parsed again.
"""

from __future__ import annotations

import logging

from lace.errors import RecordError
from lace.record import MARK, MARKLINE_BYTES, Record, RecordLimits, Truncated, parse_record
from lace.stores.port import RottenRecord
from lace.text import RecordId, digest, encode

_log = logging.getLogger("lace.stores")

# What is stored was let in under its reader's limits, which may have been wider than the usual ones.
# Here nothing is held that is not there already.
_ANY = RecordLimits(data_bytes=1 << 62, header_bytes=1 << 62, headers=1 << 62)
_PAYLOAD = slice(2, -3)  # of a record id, between its letter and its suffix


def is_intact(record_id: RecordId, raw: object) -> bool:
    """Tell whether stored bytes are still those that were validated under this id.

    >>> from lace.record import make_blob
    >>> blob = make_blob(b"hello")
    >>> is_intact(blob.id, blob.raw), is_intact(blob.id, make_blob(b"you").raw)
    (True, False)
    """
    return (
        isinstance(raw, bytes)  # a damaged row can hold anything
        and raw[:MARKLINE_BYTES] == b"%b%b\n" % (MARK, record_id.encode())
        and encode(digest(memoryview(raw)[MARKLINE_BYTES:])) == record_id[_PAYLOAD]
    )


def reread(record_id: RecordId, raw: object, where: str, *, check_signature: bool = False) -> Record:
    """Return the record that these bytes still are; report and raise `RottenRecord` where they are not."""
    try:
        if not isinstance(raw, bytes):  # a damaged row can hold anything
            raise Truncated(reason="the stored bytes are gone", offset=0)
        record = parse_record(raw, _ANY, check_signature=check_signature)
    except RecordError as error:
        reason = str(error)
    else:
        if record.id == record_id:
            return record
        reason = f"its bytes are those of {record.id}"
    _log.error("rotten record %s in %s: %s", record_id, where, reason)
    raise RottenRecord(record_id=record_id, where=where, reason=reason)
