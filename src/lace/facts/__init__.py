"""020: records seen as facts, and who may see them. Pure; facts come only from validated records."""

from lace.facts.columns import CodedColumn, FactColumns
from lace.facts.excerpt import ALL_FACTS, ONLY_HAVE, Excerpt
from lace.facts.fact import (
    ARITY,
    NO_PREDICATES,
    RECORD_PREDICATES,
    VALUE_BYTES,
    Fact,
    MixedArity,
    NotAPredicate,
    Predicate,
    TextForFact,
    TooManyValues,
    ValueNotText,
    Values,
    ValueTooLong,
    check_fact,
    check_predicate,
    check_value,
)
from lace.facts.lines import (
    NotAFactLine,
    UnwritableValue,
    parse_constant,
    parse_fact_line,
    write_constant,
    write_fact_line,
)
from lace.facts.of_record import facts_of_record
from lace.facts.segment import (
    DamagedSegment,
    Segment,
    make_segment,
    merge_segments,
    read_segment,
    write_segment,
)
from lace.facts.source import FactSource, SetSource
from lace.facts.view import (
    CAN_QUERY_RECORD,
    GATED,
    NotAView,
    QueryFacts,
    View,
    check_view,
    full_view,
    query_view,
)

__all__ = [
    "ALL_FACTS", "ARITY", "CAN_QUERY_RECORD", "GATED", "NO_PREDICATES", "ONLY_HAVE", "RECORD_PREDICATES",
    "VALUE_BYTES",
    "CodedColumn", "DamagedSegment", "Excerpt", "Fact", "FactColumns", "FactSource", "MixedArity",
    "NotAFactLine", "NotAPredicate", "NotAView", "Predicate", "QueryFacts", "Segment",
    "SetSource", "TextForFact", "TooManyValues", "UnwritableValue", "ValueNotText", "ValueTooLong", "Values",
    "View",
    "check_fact", "check_predicate", "check_value", "check_view", "facts_of_record", "full_view",
    "make_segment", "merge_segments", "parse_constant", "parse_fact_line", "query_view", "read_segment",
    "write_constant", "write_fact_line", "write_segment",
]  # fmt: skip
