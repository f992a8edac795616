"""Receipts for what an exchange brought, stored as the ordinary records that they are (050, Receipts).

    receipts = Receipts(store, secret, now, aux)
    Side(settings, host, moment, observe=watch_all(notes, receipts))

Rules of this file:
1. 050: "Receipts are application-level records governed by normal rules; they are not required by interlace."
   Whoever wants them asks for them, policy decides where they go, and no exchange fails for want of one.
2. A receipt gets no receipt, else two sides would write to each other for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lace.drive.observed import ExchangeEnded, Observed, PlanChanged, RecordArrived, RoundEnded
from lace.errors import StoreError
from lace.interlace import make_receipt
from lace.record import Record, Seal
from lace.signing import Secret
from lace.stores import Store
from lace.text import RecordId, Tai, Verifier

GROUP: Final = "lace"
APP: Final = "receipt"
BATCH: Final = 1000


def is_receipt(record: Record) -> bool:
    """Tell whether a record says that somebody stored another one."""
    plex = record.plex if isinstance(record, Seal) else record
    return (getattr(plex, "group", None), getattr(plex, "app", None)) == (GROUP, APP)


class Receipts:
    """Watches an exchange, and stores a receipt for each record that came."""

    def __init__(
        self, store: Store, secret: Secret, now: Callable[[], Tai], aux: Callable[[], bytes]
    ) -> None:
        """Sign with a secret; `aux` gives the randomness of each signature."""
        self._store = store
        self._secret = secret
        self._now = now
        self._aux = aux
        self._peer: Verifier | None = None
        self._arrived: list[str] = []
        self.made: list[RecordId] = []
        """The receipts that are stored."""
        self.fault: StoreError | None = None
        """Why the last ones could not be stored; they are tried again."""

    def __call__(self, observed: Observed) -> None:
        """Take in what happened."""
        match observed:
            case PlanChanged():
                self._peer = observed.peer
            case RecordArrived(record):
                self._arrived.append(record)
            case RoundEnded() | ExchangeEnded():
                self._store_receipts()

    def _store_receipts(self) -> None:
        try:
            while self._arrived:
                batch = self._arrived[:BATCH]
                made = [receipt for record in batch if (receipt := self._receipt(record)) is not None]
                self._store.put_many(made)
                self.made += [receipt.id for receipt in made]
                del self._arrived[:BATCH]
        except StoreError as fault:
            self.fault = fault
        else:
            self.fault = None

    def _receipt(self, record: str) -> Seal | None:
        stored = RecordId(record)
        if not self._store.has(stored) or is_receipt(self._store.get(stored)):
            return None
        return make_receipt(stored, self._peer, self._now(), self._secret, self._aux())
