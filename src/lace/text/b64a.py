"""B64A: bytes as text that sorts like the bytes (006, PROFILE section 1).

Rules of this file:
1. Bits go most significant first, six at a time; the last group is filled with zeros; no padding.
2. Decoding refuses a foreign symbol, a length of 1 mod 4, and fill bits that are not zero.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64

from lace.errors import TextError

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"

# The standard library does the bit work; only the alphabets differ.
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_TO_B64A = bytes.maketrans(_BASE64, ALPHABET.encode())
_FROM_B64A = bytes.maketrans(ALPHABET.encode(), _BASE64)
_SYMBOLS = ALPHABET.encode()

# Which last symbols have zero fill bits, by length mod 4.
_ENDINGS = {2: frozenset(ALPHABET[::16]), 3: frozenset(ALPHABET[::4])}


class BadSymbol(TextError):
    """A character outside the B64A alphabet."""

    code = "text/b64a-symbol"
    text = "{symbol!r} is not in the B64A alphabet (0-9 A-Z _ a-z ~)"


class BadLength(TextError):
    """A length that no whole number of bytes has."""

    code = "text/b64a-length"
    text = "a B64A text cannot have {length} characters: one symbol is left over"


class BadFill(TextError):
    """Fill bits that are not zero."""

    code = "text/b64a-fill"
    text = "the last symbol {symbol!r} carries bits beyond the last byte: not what an encoder writes"


def encode(data: bytes) -> str:
    """Write bytes as B64A text.

    >>> encode(b"\\xff\\x00")
    '~l0'
    """
    return b2a_base64(data, newline=False).translate(_TO_B64A, b"=").decode("ascii")


def decode(text: str) -> bytes:
    """Read B64A text, strictly.

    >>> decode("~l0").hex()
    'ff00'
    """
    raw = text.encode("utf-8", "surrogatepass")
    if raw.translate(None, _SYMBOLS):
        at = next(i for i, c in enumerate(text) if c not in ALPHABET)
        raise BadSymbol(symbol=text[at], offset=len(text[:at].encode()))
    over = len(raw) % 4
    if over == 1:
        raise BadLength(length=len(raw), offset=len(raw))
    if over and text[-1] not in _ENDINGS[over]:
        raise BadFill(symbol=text[-1], offset=len(raw) - 1)
    return a2b_base64(raw.translate(_FROM_B64A) + b"=" * (-over % 4))
