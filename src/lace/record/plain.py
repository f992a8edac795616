"""Plexes and Seals as most of them are, read at one stroke: skeleton, headers and ids together (010).

Rules of this file:
1. A record is taken here, or left to `scan.py` and `check.py`: nothing is refused here, and nothing that they
   would refuse is taken. What is wrong with a record, they say.
2. Bytes are matched as characters, one for one. UTF-8 keeps its ASCII to itself, so that lines, names and
   paths end where they do in the true text.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

from lace.errors import TextError
from lace.record.grammar import (
    MARK,
    MARKLINE_BYTES,
    PATH_BYTES,
    SEAL_HEADERS,
    plex_pattern,
    split_headers,
)
from lace.record.limits import RecordLimits
from lace.record.model import OpenBlob, OpenPlex, OpenSeal, Plex, Seal
from lace.signing import verify
from lace.text import PAYLOAD_CHARS, Verifier, decode, digest, encode, id_payload, is_nfc

DATA_BYTES: Final = 16 << 10
"""With more data than that, a record takes its time for being hashed, and not for being read."""
EXTRA_BYTES: Final = 512
HEAD_BYTES: Final = 1024
HEADERS: Final = 128
"""So much the headers of one layer may have here; no line of them is too long."""

_MARK: Final = MARK.decode("latin-1")
_PAYLOAD: Final = rf"([0-9A-Z_a-z~]{{{PAYLOAD_CHARS}}})\.H3\n"
PLAIN: Final = re.compile(
    rf"(?>{_MARK}S\.{_PAYLOAD}{SEAL_HEADERS.pattern}|)"
    rf"{_MARK}P\.{_PAYLOAD}{plex_pattern(stop=_MARK)}"
    rf"{_MARK}B\.{_PAYLOAD}Data-Length: (0|[1-9][0-9]{{0,4}}+)\n\n"
)
_SEAL_BYTES: Final = MARKLINE_BYTES + len("Signed-By: V.") + PAYLOAD_CHARS + len(".H3\nSignature: ") + 86 + 1
_PATHS_BYTES: Final = PATH_BYTES - 2
"""Three paths of so many bytes are within the bound of one, with what stands between them."""
_TO_DATA: Final = MARKLINE_BYTES + len("Data-Length: \n\n")

Parts: TypeAlias = tuple[Any, ...]
"""The groups of `PLAIN`: payload of the Seal's id, signer and signature (None where it is a Plex); payload of
the Plex's id, group, app, name, time and extra lines; payload of the Blob's id and the length of its data."""


def may_be_plain(limits: RecordLimits) -> bool:
    """Tell whether everything that is taken here is within these limits."""
    return limits.data_bytes >= DATA_BYTES and limits.header_bytes >= HEAD_BYTES and limits.headers >= HEADERS


def find_parts(text: str, at: int) -> tuple[Parts, int, int] | None:
    """Return the parts of a plain record that begins here, and where its data begins and ends.

    None leaves it to others. `text` is bytes as characters; the end may lie beyond it.
    """
    found = PLAIN.match(text, at)
    if found is None:
        return None
    parts = found.groups()
    _, _, _, _, group, app, name, _, rest, _, digits = parts
    # Here and not when it is checked: a stream is broken by headers over its limits, however it is cut.
    if len(group) + len(app) + len(name) > _PATHS_BYTES or len(rest) > EXTRA_BYTES:
        return None
    data, length = found.end(), int(digits)
    return None if length > DATA_BYTES else (parts, data, data + length)


def check_parts(raw: bytes, parts: Parts, *, check_signature: bool = True) -> Plex | Seal | None:
    """Return the record that these bytes are; the parts were found in them. None leaves it to others."""
    seal_id, signer, signature, plex_id, group, app, name, tai, rest, blob_id, digits = parts
    size, length = len(raw), int(digits)
    mark = size - length - len(digits) - _TO_DATA
    start = 0 if seal_id is None else _SEAL_BYTES
    path = f"{group}\n{app}\n{name}"
    if encode(digest(raw[mark + MARKLINE_BYTES :])) != blob_id:
        return None
    signed = digest(raw[start + MARKLINE_BYTES :])
    if encode(signed) != plex_id:
        return None
    try:
        if not path.isascii():
            path = path.encode("latin-1").decode("utf-8")
            group, app, name = path.split("\n")
        if not rest.isascii():
            rest = rest.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return None
    if not is_nfc(path) or not is_nfc(rest):
        return None
    extra = split_headers(rest) if rest else ()
    # Calling RecordId costs more than writing the text.
    blob = OpenBlob(f"B.{blob_id}.H3", raw, mark, size, size - length)  # type: ignore[arg-type]
    plex = OpenPlex(f"P.{plex_id}.H3", raw, start, size, group, app, name, tai, extra, blob)  # type: ignore[arg-type]
    if seal_id is None:
        return plex
    if encode(digest(raw[MARKLINE_BYTES:])) != seal_id:
        return None
    try:
        key, written = id_payload(signer), decode(signature)
    except TextError:
        return None
    if check_signature and not verify(signed, key, written):
        return None
    return OpenSeal(f"S.{seal_id}.H3", raw, 0, size, Verifier(signer), signature, plex)  # type: ignore[arg-type]
