"""010: bytes to Blob, Plex or Seal and back. Pure; the one place that says a record is valid."""

from lace.record.check import BadSignature, HashMismatch, TrailingBytes, check_record, parse_record
from lace.record.forms import (
    BadTrailer,
    InnerUnknown,
    NotThin,
    inner_records,
    restore_thin,
    restore_trailer,
    thin_inner,
    write_thin,
    write_trailer,
)
from lace.record.grammar import (
    FORBIDDEN,
    MARK,
    MARKLINE_BYTES,
    NAMED,
    BadPath,
    BadTai,
    BlobHeader,
    ControlInHeader,
    ForbiddenHeader,
    HeaderLine,
    HeaderNotNfc,
    HeaderNotUtf8,
    PlexHeaders,
    SealHeaders,
    is_path,
    split_link,
)
from lace.record.handover import pack_fields, pack_records, unpack_fields, unpack_records
from lace.record.limits import LIMITS, RecordLimits
from lace.record.model import Blob, Plex, Record, RecordLink, Seal
from lace.record.plain import Parts, check_parts, find_parts, may_be_plain
from lace.record.reader import Accepted, Item, RecordReader, Rejected
from lace.record.salvage import find_start
from lace.record.scan import (
    BadMarkline,
    DataTooLong,
    HeadersTooLong,
    Scanner,
    TooManyHeaders,
    Truncated,
    WrongInnerType,
    read_skeleton,
)
from lace.record.write import make_blob, make_plex, make_seal

__all__ = [
    "FORBIDDEN", "LIMITS", "MARK", "MARKLINE_BYTES", "NAMED",
    "Accepted", "BadMarkline", "BadPath", "BadSignature", "BadTai", "BadTrailer", "Blob", "BlobHeader",
    "ControlInHeader", "DataTooLong", "ForbiddenHeader", "HashMismatch", "HeaderLine", "HeaderNotNfc",
    "HeaderNotUtf8", "HeadersTooLong", "InnerUnknown", "Item", "NotThin", "Parts", "Plex", "PlexHeaders",
    "Record", "RecordLimits", "RecordLink", "RecordReader", "Rejected", "Scanner", "Seal", "SealHeaders",
    "TooManyHeaders", "TrailingBytes", "Truncated", "WrongInnerType",
    "check_parts", "check_record", "find_parts", "find_start", "inner_records", "is_path", "make_blob",
    "make_plex", "make_seal", "may_be_plain", "pack_fields", "pack_records", "parse_record",
    "read_skeleton", "restore_thin", "restore_trailer", "split_link", "thin_inner", "unpack_fields",
    "unpack_records", "write_thin", "write_trailer",
]  # fmt: skip
