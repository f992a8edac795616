"""060: bytes to stream items and back, and address strings. Pure; nothing here waits for anything."""

from lace.iltp.address import (
    DEFAULT_PORTS,
    INTERLACE,
    STDIO,
    Address,
    BadAddress,
    parse_address,
    remote_address,
)
from lace.iltp.arrival import Arriving
from lace.iltp.connection import Connection, Heard, Told
from lace.iltp.faults import (
    ABORT,
    BadBodyLine,
    BadComment,
    BadFactLine,
    BadMarkerLine,
    BadPreface,
    BlankAfterPreface,
    BlockTooLong,
    CannotWrite,
    CarriageReturn,
    EmptyResource,
    LineTooLong,
    LostRecord,
    NotCanonical,
    NoTrailers,
    OtherResource,
    OutOfPlace,
    ResourceConflict,
    ResourceTooLong,
    StreamCut,
    StreamFault,
    TooManyFacts,
    TooManyResources,
    TwoComments,
    UnknownKind,
    UnknownLead,
    WrongIdShape,
)
from lace.iltp.grammar import LIMITS, PREFACE, StreamLimits
from lace.iltp.items import (
    Broken,
    Closed,
    Comment,
    FactBlock,
    Item,
    PhaseEnd,
    Preface,
    RecordBytes,
    Resource,
    Written,
    make_fact_block,
    make_record,
)
from lace.iltp.resource import EXCHANGE_PLAN, LACEGRAM, make_resource
from lace.iltp.stream import Reader
from lace.iltp.write import Writer, write

__all__ = [
    "ABORT", "DEFAULT_PORTS", "EXCHANGE_PLAN", "INTERLACE", "LACEGRAM", "LIMITS", "PREFACE", "STDIO",
    "Address", "Arriving", "BadAddress", "BadBodyLine", "BadComment", "BadFactLine", "BadMarkerLine",
    "BadPreface", "BlankAfterPreface", "BlockTooLong", "Broken", "CannotWrite", "CarriageReturn", "Closed",
    "Comment", "Connection", "EmptyResource", "FactBlock", "Heard", "Item", "LineTooLong", "LostRecord",
    "NoTrailers", "NotCanonical", "OtherResource", "OutOfPlace", "PhaseEnd", "Preface", "Reader",
    "RecordBytes", "Resource", "ResourceConflict", "ResourceTooLong", "StreamCut", "StreamFault",
    "StreamLimits", "Told", "TooManyFacts", "TooManyResources", "TwoComments", "UnknownKind", "UnknownLead",
    "Writer", "Written", "WrongIdShape",
    "make_fact_block", "make_record", "make_resource", "parse_address", "remote_address", "write",
]  # fmt: skip
