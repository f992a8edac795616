"""009: secrets, verifiers and signatures. Pure; randomness is an argument."""

from lace.signing.curve import ScalarOutOfRange
from lace.signing.keys import SECRET_BYTES, Secret, SecretStays, WrongSize, parse_secret
from lace.signing.schnorr import (
    AUX_BYTES,
    MESSAGE_BYTES,
    SIGNATURE_BYTES,
    VERIFIER_BYTES,
    SigningFault,
    ZeroAux,
    sign,
    verify,
)

__all__ = [
    "AUX_BYTES", "MESSAGE_BYTES", "SECRET_BYTES", "SIGNATURE_BYTES", "VERIFIER_BYTES",
    "ScalarOutOfRange", "Secret", "SecretStays", "SigningFault", "WrongSize", "ZeroAux",
    "parse_secret", "sign", "verify",
]  # fmt: skip
