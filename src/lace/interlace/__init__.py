"""050: the peer machine. Pure: events and time in, outputs out."""

from lace.interlace.blocks import KINDS, MalformedBlock, block_size, parse_block, read_block, write_block
from lace.interlace.claims import (
    ADVERTISED,
    Claim,
    Claims,
    Schema,
    advertisement_digest,
    advertisement_facts,
    make_claims,
    write_advertisement,
)
from lace.interlace.ends import (
    LoopLimit,
    OutOfPhase,
    OutOfTurn,
    PeerLost,
    PreparedPolicyRefused,
    cause_of,
    told_error,
)
from lace.interlace.events import (
    Aborted,
    AdvertisementBlock,
    Advertisements,
    AnswerBlock,
    AskBlock,
    AvailabilityBlock,
    Begin,
    Block,
    BlockReceived,
    Cancel,
    Closed,
    Cursor,
    DriverEvent,
    EndRecords,
    Evaluated,
    Evaluation,
    EvaluationFailed,
    Event,
    Finish,
    FixedPoint,
    HelloBlock,
    InnerEvent,
    Moment,
    NeedEvaluation,
    OperandChanged,
    Output,
    PeerClosed,
    PeerEvent,
    PlanAgreed,
    Prepared,
    Progress,
    Purpose,
    RecordReceived,
    RecordsEnded,
    RecordsSent,
    RecordsStored,
    RequestBlock,
    ResourceReceived,
    SendBlock,
    SendRecords,
    SendResource,
    SetupBlock,
    ShutSending,
    StoreFailed,
    StoreRecord,
    StreamFailed,
    TimeOver,
    Unchecked,
    Wake,
)
from lace.interlace.hashed import Hashed
from lace.interlace.hello import SignerInClear, SignerNotProven, VerifierMismatch
from lace.interlace.limits import (
    ExchangeLimit,
    ExchangeLimits,
    LocalLimits,
    NoLimit,
    OperandTooLong,
    OversizedBlock,
    TransferLimit,
)
from lace.interlace.machine import InterlaceMachine
from lace.interlace.meeting import Met, Parted, meet
from lace.interlace.merkle import EMPTY, SortedEntries, make_entry, merkle_root
from lace.interlace.own import OwnAdvertisements
from lace.interlace.partitions import Partitions, Summary, prefix_of
from lace.interlace.patience import PhaseTimeout, RoundTimeout
from lace.interlace.peer import ForeignSource
from lace.interlace.phases import AWAITING, BUSY, NEXT, Phase
from lace.interlace.proof import canonical_setup, is_proof, make_proof, proof_digest
from lace.interlace.receipt import make_receipt
from lace.interlace.reconcile import MalformedSummary, RootMismatch
from lace.interlace.request import requestable
from lace.interlace.result import Cause, InterlaceResult
from lace.interlace.settings import BadSettings, Dice, Link, Settings
from lace.interlace.settle import ending_of, needs_another_loop
from lace.interlace.setup import (
    BadResource,
    MalformedModule,
    MalformedSetup,
    MissingModule,
    OriginRefused,
    PlanNotCompiled,
)
from lace.interlace.state import Exchange, Loop, NotYet
from lace.interlace.terms import (
    ClockTooFar,
    MalformedHello,
    NoCommonFormat,
    Offer,
    PlanMismatch,
    SchemaTooNarrow,
    Terms,
    meet_schemas,
    nanoseconds,
    negotiate,
    read_hello,
)
from lace.interlace.tick import BadTick, Ticks
from lace.interlace.transfer import (
    NotLetIn,
    NotRequested,
    may_serve,
    named_record,
    named_records,
    store_outcome,
)

__all__ = [
    "ADVERTISED", "AWAITING", "BUSY", "EMPTY", "KINDS", "NEXT",
    "Aborted", "AdvertisementBlock", "Advertisements", "AnswerBlock", "AskBlock", "AvailabilityBlock",
    "BadResource", "BadSettings", "BadTick", "Begin", "Block", "BlockReceived", "Cancel", "Cause",
    "Claim", "Claims", "ClockTooFar", "Closed", "Cursor", "Dice", "DriverEvent", "EndRecords",
    "Evaluated", "Evaluation", "EvaluationFailed", "Event", "Exchange", "ExchangeLimit", "ExchangeLimits",
    "Finish", "FixedPoint", "ForeignSource", "Hashed", "HelloBlock", "InnerEvent", "InterlaceMachine",
    "InterlaceResult", "Link", "LocalLimits", "Loop", "LoopLimit", "MalformedBlock", "MalformedHello",
    "MalformedModule", "MalformedSetup", "MalformedSummary", "Met", "MissingModule", "Moment",
    "NeedEvaluation", "NoCommonFormat", "NoLimit", "NotLetIn", "NotRequested", "NotYet", "Offer",
    "OperandChanged", "OperandTooLong", "OriginRefused", "OutOfPhase", "OutOfTurn", "Output",
    "OversizedBlock", "OwnAdvertisements", "Parted",
    "Partitions", "PeerClosed", "PeerEvent", "PeerLost", "Phase", "PhaseTimeout", "PlanAgreed",
    "PlanMismatch", "PlanNotCompiled", "Prepared", "PreparedPolicyRefused", "Progress", "Purpose",
    "RecordReceived",
    "RecordsEnded", "RecordsSent", "RecordsStored", "RequestBlock", "ResourceReceived", "RootMismatch",
    "RoundTimeout", "Schema", "SchemaTooNarrow", "SendBlock", "SendRecords", "SendResource", "Settings",
    "SetupBlock", "ShutSending", "SignerInClear", "SignerNotProven", "SortedEntries", "StoreFailed",
    "StoreRecord", "StreamFailed", "Summary", "Terms", "Ticks", "TimeOver", "TransferLimit", "Unchecked",
    "VerifierMismatch", "Wake",
    "advertisement_digest", "advertisement_facts", "block_size", "canonical_setup", "cause_of",
    "ending_of", "is_proof", "make_claims", "make_entry", "make_proof", "make_receipt", "may_serve", "meet",
    "meet_schemas", "merkle_root", "named_record", "named_records", "nanoseconds",
    "needs_another_loop", "negotiate", "parse_block", "prefix_of", "proof_digest", "read_block",
    "read_hello", "requestable", "store_outcome", "told_error", "write_advertisement", "write_block",
]  # fmt: skip
