"""006: everything that is only spelling. Pure; nothing here knows what a record is."""

from lace.text.b64a import ALPHABET, BadFill, BadLength, BadSymbol, decode, encode
from lace.text.digest import DIGEST_BYTES, derive, digest, digest_all, domain_digest, hasher
from lace.text.ids import (
    PAYLOAD_CHARS,
    RECORD_TYPES,
    SUFFIX,
    IdFill,
    LacegramId,
    LinkId,
    NotAnId,
    PlanId,
    RecordId,
    RuleId,
    Verifier,
    are_foreign_record_ids,
    id_payload,
    is_foreign_record_id,
    lacegram_id,
    link_id,
    parse_lacegram_id,
    parse_link_id,
    parse_plan_id,
    parse_record_id,
    parse_rule_id,
    parse_secret_payload,
    parse_verifier,
    plan_id,
    rule_id,
    write_record_id,
    write_verifier,
)
from lace.text.tai import (
    NANOSECONDS,
    NotTai,
    OutsideTai,
    Tai,
    is_tai,
    parse_tai,
    tai_from_unix,
    tai_offset,
    unix_from_tai,
    write_tai,
)
from lace.text.utf8 import ControlByte, NotNfc, NotUtf8, decode_line, decode_text, is_nfc

__all__ = [
    "ALPHABET", "DIGEST_BYTES", "NANOSECONDS", "PAYLOAD_CHARS", "RECORD_TYPES", "SUFFIX",
    "BadFill", "BadLength", "BadSymbol", "ControlByte", "IdFill", "LacegramId", "LinkId", "NotAnId",
    "NotNfc", "NotTai", "NotUtf8", "OutsideTai", "PlanId", "RecordId", "RuleId", "Tai", "Verifier",
    "are_foreign_record_ids", "decode", "decode_line", "decode_text", "derive", "digest", "digest_all",
    "domain_digest", "encode", "hasher",
    "id_payload", "is_foreign_record_id", "is_nfc", "is_tai", "lacegram_id", "link_id", "parse_lacegram_id",
    "parse_link_id", "parse_plan_id", "parse_record_id", "parse_rule_id", "parse_secret_payload",
    "parse_tai", "parse_verifier", "plan_id", "rule_id", "tai_from_unix", "tai_offset", "unix_from_tai",
    "write_record_id", "write_tai", "write_verifier",
]  # fmt: skip
