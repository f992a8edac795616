"""040: two operands make one exchange plan, and each side's `MaySend` and `MayRequest`. Pure."""

from lace.policy.askable import find_askable
from lace.policy.compose import (
    ActivePolicy,
    Composed,
    Constraint,
    Kind,
    NothingToPresent,
    compose_selectors,
)
from lace.policy.expose import (
    Compose,
    ExposeModule,
    Exposure,
    ExposureStopped,
    GivenViews,
    SelectedNotExposable,
    Views,
    expose_selected,
    lower_exposure,
    read_expose,
)
from lace.policy.extent import Extent, GrowingSet, GrownSet, among, came_since
from lace.policy.local import (
    NOTHING_EXPOSED,
    OUR_LIMITS,
    PEER_LIMITS,
    Decision,
    LocalPolicy,
    OperandLimits,
    OperandStopped,
    ViewMaker,
    naming_operand,
)
from lace.policy.lower import MAY_REQUEST, MAY_SEND, Lowered, Precompiled
from lace.policy.merge import MERGED_SELECT_ADVERTISED, MERGED_SELECT_HAVE
from lace.policy.module import (
    FlatRules,
    ForeignHelper,
    GeneratedName,
    MissingExport,
    Module,
    ModuleRefused,
    NotCanonicalModule,
    ReservedName,
    UnreadableFacts,
    read_module,
    receive_module,
)
from lace.policy.operand import (
    EqualOrigins,
    Operand,
    Origin,
    OriginClaimsLocal,
    OriginClaimsVerifier,
    OriginMismatch,
    SameIndex,
    SignerDisagrees,
    assign_origins,
    check_announced,
)
from lace.policy.peerreasons import PeerReasons
from lace.policy.plan import (
    ExchangePlan,
    NotATranscript,
    OtherPlan,
    RequiredFields,
    Transcript,
    UnknownLowering,
    UnknownPlanProfile,
    join_operands,
    make_plan,
    parse_transcript,
)
from lace.policy.provenance import Authored, SourceMap
from lace.policy.reasons import Held, Reasons
from lace.policy.resident import Resident, Running
from lace.policy.restriction import Restriction, read_restriction, restrict_like
from lace.policy.scope import OWN, Generated
from lace.policy.snapshot import NotOfSnapshot, Snapshot

__all__ = [
    "MAY_REQUEST", "MAY_SEND", "MERGED_SELECT_ADVERTISED", "MERGED_SELECT_HAVE", "NOTHING_EXPOSED",
    "OUR_LIMITS", "OWN", "PEER_LIMITS",
    "ActivePolicy", "Authored", "Compose", "Composed", "Constraint", "Decision", "EqualOrigins",
    "ExchangePlan", "ExposeModule", "Exposure", "ExposureStopped", "Extent", "FlatRules", "ForeignHelper",
    "Generated", "GeneratedName",
    "GivenViews", "GrowingSet", "GrownSet", "Held", "Kind", "LocalPolicy", "Lowered", "MissingExport",
    "Module", "ModuleRefused",
    "NotATranscript", "NotCanonicalModule", "NotOfSnapshot", "NothingToPresent", "Operand", "OperandLimits",
    "OperandStopped", "Origin", "OriginClaimsLocal", "OriginClaimsVerifier", "OriginMismatch", "OtherPlan",
    "PeerReasons", "Precompiled", "Reasons", "RequiredFields", "ReservedName", "Resident", "Restriction",
    "Running", "SameIndex", "SelectedNotExposable", "SignerDisagrees", "Snapshot", "SourceMap", "Transcript",
    "UnknownLowering", "UnknownPlanProfile", "UnreadableFacts", "ViewMaker", "Views",
    "among", "assign_origins", "came_since", "check_announced", "compose_selectors", "expose_selected",
    "find_askable", "join_operands",
    "lower_exposure", "make_plan", "naming_operand", "parse_transcript", "read_expose", "read_module",
    "read_restriction", "receive_module", "restrict_like",
]  # fmt: skip
