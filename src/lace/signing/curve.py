"""Scalars and points of secp256k1 (009, PROFILE section 3): the only caller of libsecp256k1.

Scalars are 32 bytes big-endian, points 33 bytes: 02 or 03 for an even or odd y, then x.

Rules of this file:
1. Every buffer belongs to one call. The library runs without the interpreter's lock, so a buffer kept
   between calls is written by two threads at once, and then a forged signature can pass for a good one.
2. The two contexts are shared: nothing writes to them after this file is loaded.
3. What depends on a secret goes through the library's constant-time functions. `subtract` is for public
   values only and takes the quick way.
4. The library reads as many bytes as it expects, whatever it is given: callers check lengths first.
"""

from __future__ import annotations

from lace.errors import InputError
from lace.signing.library import BLINDED, COMPRESSED, ffi, lib

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141

SCALAR_BYTES = 32
POINT_BYTES = 33
EVEN = b"\x02"

# The library's constant context serves everything but multiples of G by a secret.
_PUBLIC = lib.secp256k1_context_static
# Those want a context that was blinded; a clone is out of reach of whoever blinds the original again.
_SECRET = ffi.gc(lib.secp256k1_context_clone(BLINDED), lib.secp256k1_context_destroy)

_POINT = ffi.typeof("secp256k1_pubkey *")
_RECOVERABLE = ffi.typeof("secp256k1_ecdsa_recoverable_signature *")
_SCALAR_BUFFER = ffi.typeof(f"unsigned char [{SCALAR_BYTES}]")
_POINT_BUFFER = ffi.typeof(f"unsigned char [{POINT_BYTES}]")
_SIZE = ffi.typeof("size_t *")


class ScalarOutOfRange(InputError):
    """A scalar that is zero or not below the group order."""

    code = "signing/scalar"
    text = "the {what} scalar is zero or not below the group order: take other random bytes"


def scalar_bytes(number: int) -> bytes:
    """Write a number modulo the group order as a scalar."""
    return (number % ORDER).to_bytes(SCALAR_BYTES, "big")


def reduce(scalar: bytes) -> bytes:
    """Return 32 bytes modulo the group order."""
    if lib.secp256k1_ec_seckey_verify(_PUBLIC, scalar):
        return scalar
    return scalar_bytes(int.from_bytes(scalar, "big"))


def even_scalar(scalar: bytes, what: str) -> tuple[bytes, bytes]:
    """Return the scalar d or n - d whose multiple of G has an even y, and the x of that point.

    >>> d, x = even_scalar(bytes(31) + bytes([1]), "example")
    >>> d[-1], x.hex()[:16]
    (1, '79be667ef9dcbbac')
    """
    point = ffi.new(_POINT)
    if not lib.secp256k1_ec_pubkey_create(_SECRET, point, scalar):
        raise ScalarOutOfRange(what=what)
    written = _write_point(point)
    if written[:1] == EVEN:
        return scalar, written[1:]
    negated = ffi.new(_SCALAR_BUFFER, scalar)
    lib.secp256k1_ec_seckey_negate(_PUBLIC, negated)
    return bytes(ffi.buffer(negated)), written[1:]


def multiply_add(k: bytes, e: bytes, d: bytes) -> bytes:
    """Return k + e*d modulo the group order, for secret k and d that are not zero."""
    result = ffi.new(_SCALAR_BUFFER, d)
    if not lib.secp256k1_ec_seckey_tweak_mul(_PUBLIC, result, e):
        return k  # e is zero
    # A sum of zero is reported as a failure, and is what the buffer then holds: the right answer.
    lib.secp256k1_ec_seckey_tweak_add(_PUBLIC, result, k)
    return bytes(ffi.buffer(result))


def subtract(s: int, e: int, x: bytes) -> bytes | None:
    """Return s*G - e*P for the P with this x and an even y, or None where P or the result is no point.

    One call of ECDSA key recovery does it. It computes (s'*P - z*G) / r for the point P whose x is r
    modulo n; with r = Px, s' = -e*Px and z = -s*Px that is s*G - e*P.
    """
    px = int.from_bytes(x, "big")
    overflow = px >= ORDER
    r = px - ORDER if overflow else px
    scaled_e = -e * r % ORDER
    if not scaled_e:
        # Recovery refuses an r or s' of zero: e is a multiple of n, or Px is n, which is on the curve.
        return _subtract_in_steps(s, e, x)
    halves = r.to_bytes(SCALAR_BYTES, "big") + scaled_e.to_bytes(SCALAR_BYTES, "big")
    # Bit 0 of the recovery id says that y is odd, bit 1 that Px is r + n.
    recovery_id = 2 if overflow else 0
    signature = ffi.new(_RECOVERABLE)
    # Both halves are below n, so there is nothing to refuse here.
    lib.secp256k1_ecdsa_recoverable_signature_parse_compact(_PUBLIC, signature, halves, recovery_id)
    point = ffi.new(_POINT)
    scaled_s = (-s * r % ORDER).to_bytes(SCALAR_BYTES, "big")
    if not lib.secp256k1_ecdsa_recover(_PUBLIC, point, signature, scaled_s):
        return None
    return _write_point(point)


def _subtract_in_steps(s: int, e: int, x: bytes) -> bytes | None:
    given = ffi.new(_POINT)
    if not lib.secp256k1_ec_pubkey_parse(_PUBLIC, given, EVEN + x, POINT_BYTES):
        return None
    terms = []
    if s % ORDER:
        base_multiple = ffi.new(_POINT)
        lib.secp256k1_ec_pubkey_create(_SECRET, base_multiple, scalar_bytes(s))
        terms.append(base_multiple)
    if e % ORDER:
        lib.secp256k1_ec_pubkey_tweak_mul(_PUBLIC, given, scalar_bytes(-e))
        terms.append(given)
    total = ffi.new(_POINT)
    if not terms or not lib.secp256k1_ec_pubkey_combine(_PUBLIC, total, terms, len(terms)):
        return None
    return _write_point(total)


def _write_point(point: object) -> bytes:
    written = ffi.new(_POINT_BUFFER)
    size = ffi.new(_SIZE, POINT_BYTES)
    lib.secp256k1_ec_pubkey_serialize(_PUBLIC, written, size, point, COMPRESSED)
    return bytes(ffi.buffer(written))
