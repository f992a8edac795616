"""Receipts: what a receiver may publish about a record it stored (050, Receipts).

A receipt is a record like any other. Nothing in an exchange waits for one, reads one or sends one by itself.
"""

from __future__ import annotations

from typing import Final

from lace.record import Seal, make_plex, make_seal
from lace.signing import Secret
from lace.text import RecordId, Tai, Verifier

GROUP: Final = "lace"
APP: Final = "receipt"


def make_receipt(stored: RecordId, peer: Verifier | None, tai: Tai, secret: Secret, aux: bytes) -> Seal:
    """Say that a record was stored, and from whom it came where that was proven."""
    headers = [("Stored-Hash", str(stored))]
    if peer is not None:
        headers.append(("Stored-From", str(peer)))
    return make_seal(make_plex(GROUP, APP, f"store/{stored}", tai, b"", tuple(headers)), secret, aux)
