"""What one side brings to an exchange: its operand, its limits, its link and who it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from lace.errors import LocalProtocolError
from lace.interlace.claims import Schema
from lace.interlace.limits import ExchangeLimits, LocalLimits
from lace.interlace.partitions import STANDARD_START
from lace.policy import Module
from lace.record import LIMITS, RecordLimits
from lace.signing import Secret
from lace.text import Verifier, derive, encode

NONCE_BYTES = 16
SEED_BYTES = 32
_NONCE = "lace-🖧/interlace-setup-nonce"
_AUX = "lace-🖧/interlace-proof-aux"


class BadSettings(LocalProtocolError):
    """Settings that no exchange can run with."""

    code = "interlace/settings"
    text = "these settings make no exchange: {reason}"


@dataclass(frozen=True, slots=True)
class Link:
    """What a transport proves about a connection, and what it does not."""

    transport: str | None = None
    """The address text for `Transport(S)`."""
    encrypted: bool = False
    """Whether confidentiality is proven."""
    peer: Verifier | None = None
    """Whom the transport proved the peer to be."""
    here: Verifier | None = None
    """Whom the transport proved us to be, to the peer."""
    binding: bytes = b""
    """The channel binding that a signer proof covers."""
    prove_in_clear: bool = False
    """Whether signer proofs are sent and accepted where a relay could not be seen."""

    @property
    def may_prove(self) -> bool:
        """Whether a signer proof may be sent and accepted.

        PROFILE 9: "On tcp and ws without TLS a side neither sends nor accepts `HelloSigner` unless it was
        told to".
        """
        exposed = (self.transport or "").startswith(("tcp:", "ws:")) and not self.encrypted
        return self.prove_in_clear or not exposed


@dataclass(frozen=True, slots=True)
class Dice:
    """Randomness that was thrown before: a secret seed, from which each epoch gets its own.

    Epochs beyond the first must not be foreseeable from what a peer has seen, hence the derivation.
    """

    seed: bytes = field(repr=False)
    first_nonce: str | None = None
    first_aux: bytes | None = field(default=None, repr=False)

    def nonce(self, epoch: int) -> str:
        """Return the setup nonce of an epoch: 22 characters."""
        if epoch == 1 and self.first_nonce is not None:
            return self.first_nonce
        return encode(derive(_NONCE, self.seed + epoch.to_bytes(8, "big"))[:NONCE_BYTES])

    def aux(self, epoch: int) -> bytes:
        """Return the auxiliary bytes for signing an epoch's proof."""
        if epoch == 1 and self.first_aux is not None:
            return self.first_aux
        return derive(_AUX, self.seed + epoch.to_bytes(8, "big"))


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything about one side that does not change while it runs, but for its operand."""

    index: int
    """0 for the connecting side, 1 for the accepting one."""
    module: Module
    """This side's selector."""
    dice: Dice
    stays_open: bool = False
    limits: ExchangeLimits = field(default_factory=ExchangeLimits)
    local: LocalLimits = field(default_factory=LocalLimits)
    link: Link = field(default_factory=Link)
    secret: Secret | None = field(default=None, repr=False)
    """Where there is one, this side proves its verifier if it may."""
    sends_nonce: bool = True
    """PROFILE 10: "A side sends a nonce by default, else its peer could never prove itself."""
    formats: frozenset[str] = frozenset({"H3"})
    all_fields: bool = False
    """Offer every field, and not only those that the plan requires."""
    more_fields: Schema = frozenset()
    """Field names to offer besides."""
    partitions: bool = True
    partition_start: int | None = 0
    """The smallest first prefix length that this side offers; None where it does not offer one."""
    predicts: bool = True
    """Work out the peer's partitions from our own records."""
    tick_interval: int = 10_000_000_000
    record_limits: RecordLimits = LIMITS
    modules: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))
    """Module texts that are known before, by id."""

    def __post_init__(self) -> None:
        if self.index not in (0, 1):
            raise BadSettings(reason=f"{self.index} is no operand index; the connecting side is 0")
        if len(self.dice.seed) != SEED_BYTES:
            raise BadSettings(reason=f"the seed has {len(self.dice.seed)} bytes and not {SEED_BYTES}")
        if not self.formats:
            raise BadSettings(reason="no record format is accepted")
        if self.partition_start is not None and not 0 <= self.partition_start <= STANDARD_START:
            raise BadSettings(reason=f"partitions cannot start at length {self.partition_start}")
