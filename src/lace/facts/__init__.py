"""020: records seen as facts. Pure; facts come only from records that validation made."""

from lace.facts.columns import Columns, FieldColumns, NotARecordFact
from lace.facts.fact import (
    RECORD_PREDICATES,
    VALUE_BYTES,
    Fact,
    Predicate,
    ValueNotText,
    Values,
    ValueTooLong,
    check_fact,
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
from lace.facts.segment import DamagedSegment, Segment, merge_segments, read_segment, write_segment
from lace.facts.source import FactSource, SetSource

__all__ = [
    "RECORD_PREDICATES", "VALUE_BYTES",
    "Columns", "DamagedSegment", "Fact", "FactSource", "FieldColumns", "NotAFactLine", "NotARecordFact",
    "Predicate", "Segment", "SetSource", "UnwritableValue", "ValueNotText", "ValueTooLong", "Values",
    "check_fact", "check_value", "facts_of_record", "merge_segments", "parse_constant", "parse_fact_line",
    "read_segment", "write_constant", "write_fact_line", "write_segment",
]  # fmt: skip
