"""Schnorr signatures over a 32-byte digest (009, PROFILE section 3).

Rules of this file:
1. `sign` follows PROFILE section 3 line by line; its randomness is an argument.
2. `verify` answers every signature and verifier of the right length with yes or no.
"""

from __future__ import annotations

from typing import Final

from lace.errors import EngineError, InputError
from lace.signing.curve import EVEN, ORDER, even_scalar, multiply_add, reduce, subtract
from lace.signing.keys import Secret, WrongSize, scalar_of
from lace.text import derive

MESSAGE_BYTES: Final = 32
AUX_BYTES: Final = 32
VERIFIER_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64

AUX_CONTEXT: Final = "lace-🖧/aux"
NONCE_CONTEXT: Final = "lace-🖧/nonce"
CHALLENGE_CONTEXT: Final = "lace-🖧/challenge"


class ZeroAux(InputError):
    """Randomness for a signature that is all zeros."""

    code = "signing/aux"
    text = "the aux of a signature must not be zero: give 32 fresh random bytes"


class SigningFault(EngineError):
    """A signature that does not verify was made and withheld."""

    code = "signing/fault"
    text = (
        "the signature made for {verifier} does not verify and was withheld: a wrong one can betray the key"
    )


def sign(msg32: bytes, secret: Secret, aux: bytes) -> bytes:
    """Sign a digest, with 32 fresh random bytes that are not all zero.

    The result is verified before it leaves, because a miscomputed one can betray the key. That takes
    nearly two thirds of the call, and signing is rare.

    >>> from lace.text import encode
    >>> encode(sign(bytes(32), Secret(bytes(range(32))), b"not random" + bytes(22)))[:8]
    'd_IDhPuG'
    """
    _check_size("message digest", msg32, MESSAGE_BYTES)
    _check_size("aux", aux, AUX_BYTES)
    if not any(aux):
        raise ZeroAux
    d, x = scalar_of(secret), secret.verifier_bytes
    t = _xor(d, derive(AUX_CONTEXT, aux))
    k, r = even_scalar(reduce(derive(NONCE_CONTEXT, t + x + msg32)), "nonce")
    e = reduce(derive(CHALLENGE_CONTEXT, r + x + msg32))
    signature = r + multiply_add(k, e, d)
    if not verify(msg32, x, signature):
        raise SigningFault(verifier=secret.verifier)
    return signature


def verify(msg32: bytes, verifier: bytes, signature: bytes) -> bool:
    """Tell whether a signature over a digest is the verifier's.

    >>> secret = Secret(bytes(range(32)))
    >>> signature = sign(bytes(32), secret, bytes(range(32)))
    >>> [verify(msg32, secret.verifier_bytes, signature) for msg32 in (bytes(32), b"x" * 32)]
    [True, False]
    """
    _check_size("message digest", msg32, MESSAGE_BYTES)
    _check_size("verifier", verifier, VERIFIER_BYTES)
    _check_size("signature", signature, SIGNATURE_BYTES)
    r = signature[:32]
    s = int.from_bytes(signature[32:], "big")
    if s >= ORDER:
        return False
    e = int.from_bytes(derive(CHALLENGE_CONTEXT, r + verifier + msg32), "big")
    # A point is written with x below p, so this refuses r >= p too; infinity is None.
    return subtract(s, e, verifier) == EVEN + r


def _check_size(what: str, data: bytes, expected: int) -> None:
    if len(data) != expected:
        raise WrongSize(what=what, expected=expected, found=len(data))


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
