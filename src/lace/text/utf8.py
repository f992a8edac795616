"""UTF-8 NFC text on the border between bytes and str (006).

Rules of this file:
1. Text is tested, never repaired: normalising 64,000 combining marks takes seconds, asking takes none.
2. `decode_text` is the one place where foreign bytes become str.
"""

from __future__ import annotations

import re
from unicodedata import is_normalized

from lace.errors import TextError

_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")


class NotUtf8(TextError):
    """Bytes that are no UTF-8."""

    code = "text/utf8"
    text = "byte {offset} is not UTF-8: {reason}"


class NotNfc(TextError):
    """Text whose characters are not composed."""

    code = "text/nfc"
    text = "{text!r} is not in Unicode normal form C: write composed characters"


class ControlByte(TextError):
    """A byte 00..1F or 7F where a line of text is wanted."""

    code = "text/control"
    text = "control byte {byte:#04x} in a line of text"


def is_nfc(text: str) -> bool:
    """Tell whether text is in normal form C.

    >>> is_nfc("caf\\u00e9"), is_nfc("cafe\\u0301")
    (True, False)
    """
    return text.isascii() or is_normalized("NFC", text)


def decode_text(data: bytes) -> str:
    """Read UTF-8 NFC bytes as text.

    >>> decode_text(b"na\\xc3\\xafve")
    'naïve'
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotUtf8(offset=error.start, reason=error.reason) from None
    if not is_nfc(text):
        raise NotNfc(text=text[:64], offset=0)
    return text


def decode_line(data: bytes) -> str:
    """Read one line of UTF-8 NFC text without control bytes."""
    found = _CONTROL.search(data)
    if found:
        raise ControlByte(byte=data[found.start()], offset=found.start())
    return decode_text(data)
