"""Stored bytes on their way out: hashed and parsed again, or not let out at all.

Rules of this file:
1. The id that was asked for decides: bytes that are a fine record under another id are rotten too.
2. The hash covers a Seal's signature, and that was verified on the way in; only `verify` does it again.
3. The outer hash covers every byte: where it still holds, these are the bytes that were validated when they
   were stored, and whoever wants nothing but them need not have them parsed again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from lace.errors import RecordError
from lace.record import MARK, MARKLINE_BYTES, Record, RecordLimits, Truncated, parse_record
from lace.stores.port import RottenRecord
from lace.text import ALPHABET, RecordId, digest, digest_all, encode

_log = logging.getLogger("lace.stores")

# What is stored was let in under its reader's limits, which may have been wider than the usual ones.
# Here nothing is held that is not there already.
_ANY = RecordLimits(data_bytes=1 << 62, header_bytes=1 << 62, headers=1 << 62)
_MARK_TEXT = MARK.decode()
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


def are_intact(record_ids: Sequence[RecordId], raws: Sequence[object]) -> bool:
    """Tell whether all of these are intact, for whoever has many: what one is, `is_intact` says.

    >>> from lace.record import make_blob
    >>> blobs = [make_blob(b"%d" % n) for n in range(3)]
    >>> ids, raws = [blob.id for blob in blobs], [blob.raw for blob in blobs]
    >>> are_intact(ids, raws), are_intact(ids, raws[::-1]), are_intact(ids, [*raws[:2], None])
    (True, False, False)
    """
    stored = [raw for raw in raws if isinstance(raw, bytes)]
    marks = "".join([f"{_MARK_TEXT}{record_id}\n" for record_id in record_ids]).encode()
    if len(stored) != len(raws) or b"".join([raw[:MARKLINE_BYTES] for raw in stored]) != marks:
        return False
    # A zero byte behind each digest fills the last symbol of its text and makes one more, the zero symbol.
    digests = digest_all([memoryview(raw)[MARKLINE_BYTES:] for raw in stored])
    found = encode(b"".join([each + b"\0" for each in digests]))
    return found == "".join([record_id[_PAYLOAD] + ALPHABET[0] for record_id in record_ids])


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
