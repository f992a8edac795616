"""Signing secrets and the verifiers that belong to them (009, PROFILE section 3).

Rules of this file:
1. A secret is shown only by `reveal`: not by repr, str, format, errors, pickles or `vars`.
2. What cannot be promised: Python neither wipes memory nor hides a frame's local variables, so a
   debugger, a core dump or a traceback that prints locals can still meet the bytes.
"""

from __future__ import annotations

from hmac import compare_digest
from typing import Any, Final, NoReturn, SupportsIndex, final

from lace.errors import InputError
from lace.signing.curve import even_scalar
from lace.text import SUFFIX, Verifier, derive, encode, parse_secret_payload, write_verifier

SECRET_BYTES: Final = 32
KEY_CONTEXT: Final = "lace-🖧/adhoc-key"


class WrongSize(InputError):
    """Bytes of another length than this one thing has."""

    code = "signing/size"
    text = "the {what} must have {expected} bytes, {found} were given"


class SecretStays(InputError):
    """A secret that was about to be pickled."""

    code = "signing/secret-stays"
    text = "a signing secret is not pickled: send what reveal() returns, knowingly, and parse_secret it there"


@final
class Secret:
    """A signing key: 32 bytes of payload, the scalar they derive, and the verifier of both.

    Equal when the payloads are, compared in constant time; hashed by the public verifier. It never
    changes, so a copy of it is itself.

    >>> Secret(bytes(range(32)))
    Secret(of V.OEL2sxn4GhPnCm_bU7hnAPU0Q0gVS8KxFlNg3zfHT2O.H3)
    """

    __slots__ = ("_payload", "_scalar", "verifier", "verifier_bytes")

    _payload: bytes
    _scalar: bytes
    verifier: Verifier
    verifier_bytes: bytes
    """The x coordinate, as `verify` takes it."""

    def __init__(self, payload: bytes) -> None:
        if len(payload) != SECRET_BYTES:
            raise WrongSize(what="secret", expected=SECRET_BYTES, found=len(payload))
        scalar, x = even_scalar(derive(KEY_CONTEXT, payload), "key")
        _set = object.__setattr__
        _set(self, "_payload", bytes(payload))
        _set(self, "_scalar", scalar)
        _set(self, "verifier", write_verifier(x))
        _set(self, "verifier_bytes", x)

    def reveal(self) -> str:
        """Return the secret as text, `&.….H3`, for whoever asks on purpose."""
        return f"&.{encode(self._payload)}{SUFFIX}"

    def __repr__(self) -> str:
        return f"Secret(of {self.verifier})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return compare_digest(self._payload, other._payload)

    def __hash__(self) -> int:
        return hash(self.verifier_bytes)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Secret never changes: {name!r} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Secret never changes: {name!r} cannot be deleted")

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Secret:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise SecretStays

    def __getstate__(self) -> NoReturn:
        raise SecretStays


def parse_secret(text: str) -> Secret:
    """Read a secret; an error does not repeat the text.

    >>> parse_secret("&.00420lG51WS82GdB30pE3m0H4XCK5HON61_Q6mlT7Xx.H3").verifier
    'V.OEL2sxn4GhPnCm_bU7hnAPU0Q0gVS8KxFlNg3zfHT2O.H3'
    """
    return Secret(parse_secret_payload(text))


def scalar_of(secret: Secret) -> bytes:
    """Return the even-y scalar that signs; stays inside this package."""
    return secret._scalar
