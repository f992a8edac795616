"""Operands: a module and the origin that setup gives it (040, Operand origins; PROFILE section 8).

    two modules ──▶ two Operands    index 0 and 1, each with an origin that both sides compute alike

Rules of this file:
1. An origin is computed from the index, the facet and the module's id. Nothing a peer announces and nothing
   its text says goes into it; what is announced is compared with it and refused where it differs.
2. A label is not an identity. Whoever proved a verifier has it bound to the label, beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from lace.errors import PolicyError
from lace.facts import write_fact_line
from lace.policy.module import Module, check_selector
from lace.text import Verifier, domain_digest, encode, parse_verifier

ORIGIN_DOMAIN: Final = "lace-opaque-origin/v1"
OPAQUE: Final = "Opq_"

_LABEL = re.compile(r"Opq_[0-9A-Z_a-z~]", re.ASCII)


class SameIndex(PolicyError):
    """Two operands that claim one index."""

    code = "policy/same-index"
    text = "both operands stand at index {index}: the connecting side is 0 and the accepting side is 1"


class EqualOrigins(PolicyError):
    """Two sides whose full origins do not differ."""

    code = "policy/equal-origins"
    text = "the two origins have no character in which they differ: setup cannot tell the sides apart"


class OriginMismatch(PolicyError):
    """An announced origin that is not the one computed here."""

    code = "policy/origin-mismatch"
    text = "operand {index} announces the origin {announced!r}, but its text and role give {computed}"


class OriginClaimsLocal(PolicyError):
    """A peer that announces our own origin."""

    code = "policy/origin-local"
    text = "operand {index} announces the origin of this side, {announced!r}: nobody else is us"


class OriginClaimsVerifier(PolicyError):
    """An announced origin that looks like a verifier."""

    code = "policy/origin-verifier"
    text = "operand {index} announces a verifier as its origin: a verifier is proved, never announced"


class SignerDisagrees(PolicyError):
    """A proven signer that is not the verifier bound before."""

    code = "policy/signer"
    text = "operand {index} is bound to {bound}, but {proven} was proved: one side is one principal"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an operand came from, for one exchange."""

    index: int
    full: str
    """43 characters of the full opaque origin."""
    label: str
    """`Opq_` and the first character in which the two sides differ: what the plan says."""
    verifier: Verifier | None = field(default=None, compare=False)
    """Who proved to be behind it, bound to the label as metadata. No part of the plan."""

    @property
    def announced(self) -> str:
        """What a side says of itself in `ExchangeOperand`."""
        return OPAQUE + self.full

    @property
    def viewer(self) -> str:
        """Whose query view the operand's rules have: the proven verifier, else the label."""
        return self.verifier or self.label

    def prove(self, verifier: Verifier) -> Origin:
        """Bind a verifier that transport or hello proved; a second one must be the same.

        040: "setup MUST abort if the proven signer and assigned verifier origin disagree."
        """
        parse_verifier(verifier)
        if self.verifier not in (None, verifier):
            raise SignerDisagrees(index=self.index, bound=self.verifier, proven=verifier)
        return replace(self, verifier=verifier)


def full_origin(index: int, module: Module) -> str:
    """Compute the full opaque origin of a side.

    PROFILE 8: "BLAKE3-256 of `lace-opaque-origin/v1` then the fact line (no LF)
    `OpaqueOrigin('<index>','<facet>','<R id>')`. No nonce goes in".
    """
    line = write_fact_line(("OpaqueOrigin", str(index), module.facet, module.id))
    return encode(domain_digest(ORIGIN_DOMAIN, line.encode()))


def is_label(text: str) -> bool:
    """Tell whether text is a short opaque origin.

    >>> is_label("Opq_V"), is_label("Opq_VW"), is_label("V.p40…")
    (True, False, False)
    """
    return _LABEL.fullmatch(text) is not None


def tell_apart(zero: str, one: str) -> tuple[str, str]:
    """Return the labels of two full origins.

    040: "Let `i` be the first character position where the two encodings differ. The origin labels are
    `Opq_` plus each side's character at position `i`."

    >>> tell_apart("VtoQ", "VtPQ")
    ('Opq_o', 'Opq_P')
    """
    for left, right in zip(zero, one, strict=True):
        if left != right:
            return OPAQUE + left, OPAQUE + right
    raise EqualOrigins()


@dataclass(frozen=True, slots=True)
class Operand:
    """A module with the origin that setup gave it (040, Terms)."""

    module: Module
    origin: Origin

    @property
    def index(self) -> int:
        """0 for the connecting side, 1 for the accepting one."""
        return self.origin.index

    def prove(self, verifier: Verifier) -> Operand:
        """Bind a proven verifier to the origin."""
        return replace(self, origin=self.origin.prove(verifier))


def assign_origins(zero: Module, one: Module) -> tuple[Operand, Operand]:
    """Give the two modules of an exchange their origins; the first stands at index 0."""
    check_selector(zero)
    check_selector(one)
    full = full_origin(0, zero), full_origin(1, one)
    labels = tell_apart(*full)
    return (
        Operand(zero, Origin(0, full[0], labels[0])),
        Operand(one, Origin(1, full[1], labels[1])),
    )


def check_indexes(indexes: Sequence[int]) -> None:
    """Refuse operands that do not stand at 0 and 1, one each."""
    if sorted(indexes) != [0, 1]:
        raise SameIndex(index=max(indexes, key=indexes.count, default="none"))


def check_announced(index: int, module: Module, announced: str, own: Module) -> None:
    """Refuse an announced origin of a peer that is anything but the computed one.

    040: "A side MUST reject or relabel an operand that claims local origin or an unproven verifier origin."
    """
    computed = OPAQUE + full_origin(index, module)
    if announced == computed:
        return
    if announced == OPAQUE + full_origin(1 - index, own):
        raise OriginClaimsLocal(index=index, announced=announced)
    if announced.startswith("V."):
        raise OriginClaimsVerifier(index=index)
    raise OriginMismatch(index=index, announced=announced[:80], computed=computed)
