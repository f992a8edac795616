"""Identifiers: types, not bare strings (PROFILE section 2).

    B. P. S.  a record        V.  a verifier        &.  a signing secret     (43 characters, then .H3)
    R.  a lacegram   U.  a rule   E.  an exchange plan   L.  a link          (43 characters)

Rules of this file:
1. `parse_*` accepts exactly what an encoder writes; fill bits count.
2. `is_foreign_record_id` is the wide shape that advertisements and links may carry: any suffix of one
   to eight letters or digits, fill bits not looked at (PROFILE section 10). It never makes a `RecordId`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NewType

from lace.errors import TextError
from lace.text.b64a import BadFill, decode, encode
from lace.text.digest import digest, domain_digest

RecordId = NewType("RecordId", str)
Verifier = NewType("Verifier", str)
LacegramId = NewType("LacegramId", str)
RuleId = NewType("RuleId", str)
PlanId = NewType("PlanId", str)
LinkId = NewType("LinkId", str)

SUFFIX = ".H3"
PAYLOAD_CHARS = 43
RECORD_TYPES = "BPS"

RULE_DOMAIN = "lace-rule/v1"
PLAN_DOMAIN = "lace-exchange-plan/v1"

_TYPED = re.compile(r"([BPSV&])\.([0-9A-Z_a-z~]{43})\.H3", re.ASCII)
_PLAIN = re.compile(r"([RUEL])\.([0-9A-Z_a-z~]{43})", re.ASCII)
_WIDE = re.compile(r"[BPS]\.[0-9A-Z_a-z~]{43}\.[0-9A-Za-z]{1,8}", re.ASCII)
_WIDE_LINES = re.compile(rf"(?>(?:{_WIDE.pattern}\n){{1,1000}})", re.ASCII)  # few: each takes room


class NotAnId(TextError):
    """Text that does not have the shape of an identifier of this kind."""

    code = "text/id"
    text = "{text!r} is no {kind} id: expected {shape}"


class IdFill(BadFill):
    """An identifier whose last symbol is not one that an encoder writes."""

    code = "text/id-fill"
    text = (
        "{text!r} is no {kind} id: its last symbol {symbol!r} carries bits beyond the last byte,"
        " which no encoder writes; copy the id again from where it came"
    )


def _parse(text: str, kind: str, letters: str, shape: str) -> bytes:
    typed = letters[0] in "BPSV&"
    found = (_TYPED if typed else _PLAIN).fullmatch(text)
    # A secret that was mistyped, or given in place of another id, must not be echoed: not even its end.
    secret = letters == "&" or "&" in text
    if found is None or found[1] not in letters:
        raise NotAnId(text="&.…" if secret else text[:64], kind=kind, shape=shape, offset=0)
    try:
        return decode(found[2])
    except BadFill as error:
        symbol = "…" if secret else error.fields["symbol"]
        named = "&.…" if secret else text
        raise IdFill(text=named, kind=kind, symbol=symbol, offset=2 + PAYLOAD_CHARS - 1) from None


def parse_record_id(text: str) -> RecordId:
    """Read a record id.

    >>> parse_record_id("B.svyLzSM7ffc91i~XDbkMnuOsdjsw_6GrXpTSckqHlpO.H3")[:5]
    'B.svy'
    """
    _parse(text, "record", RECORD_TYPES, "B., P. or S., 43 B64A characters, .H3")
    return RecordId(text)


def parse_verifier(text: str) -> Verifier:
    """Read a verifier."""
    _parse(text, "verifier", "V", "V., 43 B64A characters, .H3")
    return Verifier(text)


def parse_secret_payload(text: str) -> bytes:
    """Read the 32 bytes of a secret; the error never shows them."""
    return _parse(text, "secret", "&", "&., 43 B64A characters, .H3")


def parse_lacegram_id(text: str) -> LacegramId:
    """Read a lacegram id."""
    _parse(text, "lacegram", "R", "R. and 43 B64A characters")
    return LacegramId(text)


def parse_rule_id(text: str) -> RuleId:
    """Read a rule id."""
    _parse(text, "rule", "U", "U. and 43 B64A characters")
    return RuleId(text)


def parse_plan_id(text: str) -> PlanId:
    """Read an exchange plan id."""
    _parse(text, "plan", "E", "E. and 43 B64A characters")
    return PlanId(text)


def parse_link_id(text: str) -> LinkId:
    """Read a link id."""
    _parse(text, "link", "L", "L. and 43 B64A characters")
    return LinkId(text)


def write_record_id(letter: str, payload: bytes) -> RecordId:
    """Write the id of a record of type B, P or S with this digest."""
    return RecordId(f"{letter}.{encode(payload)}{SUFFIX}")


def write_verifier(payload: bytes) -> Verifier:
    """Write the verifier with this x coordinate."""
    return Verifier(f"V.{encode(payload)}{SUFFIX}")


def id_payload(text: str) -> bytes:
    """Return the 32 bytes inside an identifier that has been parsed before."""
    return decode(text[2 : 2 + PAYLOAD_CHARS])


def lacegram_id(canonical: bytes) -> LacegramId:
    """Name canonical lacegram bytes."""
    return LacegramId("R." + encode(digest(canonical)))


def rule_id(line: bytes) -> RuleId:
    """Name a canonical rule line."""
    return RuleId("U." + encode(domain_digest(RULE_DOMAIN, line)))


def plan_id(transcript: bytes) -> PlanId:
    """Name an exchange plan by its transcript."""
    return PlanId("E." + encode(domain_digest(PLAN_DOMAIN, transcript)))


def link_id(one: Verifier, other: Verifier, plan: PlanId) -> LinkId:
    """Name the link of two verifiers under a plan; the order of the two does not matter."""
    low, high = sorted((one, other), key=str.encode)
    return LinkId("L." + encode(digest(f"{low}{high}{plan}".encode())))


def is_foreign_record_id(text: str) -> bool:
    """Tell whether text has the wide record id shape that links and advertisements may carry."""
    return _WIDE.fullmatch(text) is not None


def are_foreign_record_ids(texts: Sequence[str]) -> bool:
    """Tell whether all of many texts have that shape.

    >>> one = f"P.{'x' * 43}.H3"
    >>> are_foreign_record_ids([one, one]), are_foreign_record_ids([one, "P.x.H3"])
    (True, False)
    """
    lines = "".join([f"{text}\n" for text in texts])
    at = 0
    while found := _WIDE_LINES.match(lines, at):
        at = found.end()
    return at == len(lines) and lines.count("\n") == len(texts)
