"""What this side advertises: its effective send set, summaries of it, and what the peer would make of it.

    MaySend ∧ Have ──▶ ids ──┬──▶ tree      entries under our own source: what we say
                             └──▶ mirror    the same records under the peer's source: what it would say

PROFILE 9: "The same record yields the same advertisement text on both sides but for S, so a side can predict
the peer's partition from its own records."

Rules of this file:
1. Only the effective send set comes in. The mirror is of the same set: what a guess is made of decides what
   is asked, so nothing that the peer may not learn about may go into it.
2. A record's claims never change, since its id is its content; so two sets of ids compare two sets of claims.
"""

from __future__ import annotations

from collections.abc import Iterable

from lace.interlace.claims import (
    Claims,
    Schema,
    advertisement_digest,
    fit_claims,
    select_claims,
    write_advertisement,
)
from lace.interlace.events import Evaluation
from lace.interlace.merkle import make_entry
from lace.interlace.partitions import Partitions

CLAIM_BYTES = 110
"""About what a claim takes, before one was seen."""
FIRST_LINE_BYTES = 114
SOME_FIELDS = 8


def record_format(record: str) -> str:
    """Return the hash suffix of a record id.

    >>> record_format("P.x.H3")
    'H3'
    """
    return record.rpartition(".")[2]


class OwnAdvertisements:
    """The send set of one epoch, from loop to loop."""

    def __init__(
        self, source: str, peer_source: str, schema: Schema, formats: frozenset[str], *, summarizes: bool
    ) -> None:
        self.source = source
        self.peer_source = peer_source
        self.schema = schema
        self._formats = formats
        self._summarizes = summarizes
        self.ids: frozenset[str] = frozenset()
        self._claims: dict[str, Claims] = {}
        """The fields of the schema, kept: a record may leave the store while the peer still asks about it."""
        self.tree = Partitions()
        self.mirror = Partitions()
        self._mirror_bytes = 0
        self._mirror_sizes: dict[str, int] = {}

    def update(self, evaluation: Evaluation) -> bool:
        """Take over what an evaluation decided; tell whether the advertisements differ from before."""
        # 050: "EffectiveSend(P) = MaySend(P) and Have(P)". PROFILE 10: "Records outside the negotiated
        # formats are not advertised".
        formats, has = self._formats, evaluation.has
        ids = frozenset([p for p in evaluation.may_send if record_format(p) in formats and has(p)])
        added, removed = ids - self.ids, self.ids - ids
        self.ids = ids
        if self.schema is None or self.schema:
            for record in removed:
                del self._claims[record]
            for record in added:
                self._claims[record] = select_claims(evaluation.fields(record), self.schema)
        if self._summarizes:
            self._summarize(added, removed)
        return bool(added or removed)

    def _summarize(self, added: Iterable[str], removed: Iterable[str]) -> None:
        ours: dict[str, bytes] = {}
        theirs: dict[str, bytes] = {}
        for record in added:
            ours[record] = make_entry(advertisement_digest(self._text(record, self.source)))
            text = self._text(record, self.peer_source)
            theirs[record] = make_entry(advertisement_digest(text))
            self._mirror_bytes += len(text)
            self._mirror_sizes[record] = len(text)
        for record in removed:
            self._mirror_bytes -= self._mirror_sizes.pop(record, 0)
        self.tree.change(ours, removed)
        self.mirror.change(theirs, removed)

    def claims(self, record: str, source: str) -> Claims:
        """Return what a source claims of a record in the send set."""
        return fit_claims(record, source, self._claims.get(record, ()))

    def _text(self, record: str, source: str) -> str:
        return write_advertisement(record, source, self.claims(record, source))

    @property
    def mean_bytes(self) -> float:
        """About how long an advertisement record is, judged by our own."""
        if self._mirror_sizes:
            return self._mirror_bytes / len(self._mirror_sizes)
        names = SOME_FIELDS if self.schema is None else len(self.schema)
        return FIRST_LINE_BYTES + CLAIM_BYTES * names
