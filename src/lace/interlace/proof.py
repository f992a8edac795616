"""How a side proves its verifier on a byte stream (PROFILE 9, Signer proof).

    digest = BLAKE3-256( lace-hello-proof/v1 ‖ index ‖ setup block 0 ‖ setup block 1 ‖ channel binding )

PROFILE 10: "a setup block's canonical bytes are its fact lines sorted bytewise, each with LF, without the
blank line."
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lace.errors import TextError
from lace.facts import Fact, write_fact_line
from lace.signing import Secret, sign, verify
from lace.text import decode, domain_digest, encode, id_payload, parse_verifier

PROOF_DOMAIN: Final = "lace-hello-proof/v1"
PROOF_BYTES: Final = 64


def canonical_setup(facts: Iterable[Fact]) -> bytes:
    """Return the bytes of a setup block that a proof speaks about."""
    return b"".join(sorted(write_fact_line(fact).encode() + b"\n" for fact in facts))


def proof_digest(index: int, setups: tuple[bytes, bytes], binding: bytes = b"") -> bytes:
    """Return what the side at `index` signs; setups are canonical bytes, operand 0's first."""
    return domain_digest(PROOF_DOMAIN, str(index).encode() + setups[0] + setups[1] + binding)


def make_proof(digest: bytes, secret: Secret, aux: bytes) -> str:
    """Sign a proof digest."""
    return encode(sign(digest, secret, aux))


def is_proof(digest: bytes, verifier: str, proof: str) -> bool:
    """Tell whether a proof is this verifier's over this digest; nonsense is no proof.

    >>> is_proof(bytes(32), "V.nobody", "")
    False
    """
    try:
        key, signed = id_payload(parse_verifier(verifier)), decode(proof)
    except TextError:
        return False
    return len(signed) == PROOF_BYTES and verify(digest, key, signed)
