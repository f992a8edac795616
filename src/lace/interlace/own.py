"""What this side advertises: its effective send set, summaries of it, and what the peer would make of it.

    MaySend ∧ Have ──▶ ids ──┬──▶ tree      entries under our own source: what we say
                             └──▶ mirror    the same records under the peer's source: what it would say

PROFILE 9: "The same record yields the same advertisement text on both sides but for S, so a side can predict
the peer's partition from its own records."

Rules of this file:
1. Only the effective send set comes in. The mirror is of the same set: what a guess is made of decides what
   is asked, so nothing that the peer may not learn about may go into it.
2. A record's claims never change, since its id is its content; so two sets of ids compare two sets of claims,
   and what was hashed for one exchange is right for any other between the same sources.
3. Where an evaluation can tell what came since the one before, nothing else is looked at; where it cannot,
   or something went, whole sets are compared. What comes of it is the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import filterfalse
from typing import TYPE_CHECKING

from lace.interlace.claims import (
    Claims,
    Schema,
    advertisements_size,
    fit_claims,
    hash_advertisements,
    select_claims,
)
from lace.interlace.hashed import Hashed, Subject
from lace.interlace.partitions import Partitions
from lace.policy import among, came_since

if TYPE_CHECKING:  # an event carries what is here
    from lace.interlace.events import Evaluation

CLAIM_BYTES = 110
"""About what a claim takes, before one was seen."""
FIRST_LINE_BYTES = 114
SOME_FIELDS = 8
SHARED_PART = 16
"""Where one in so many records has changed, what others may share is worth making anew."""
MOST_TAKEN_OVER = 2
"""So many records for each that is wanted are taken over at most: the others have to be taken out again, and
how long that takes is for the peer to see."""


def format_suffixes(formats: frozenset[str]) -> tuple[str, ...]:
    """Return what the ids of records of these formats end with.

    >>> "P.x.H3".endswith(format_suffixes(frozenset({"H3"})))
    True
    """
    return tuple([f".{each}" for each in formats])


class OwnAdvertisements:
    """The send set of one epoch, from loop to loop."""

    def __init__(
        self, source: str, peer_source: str, schema: Schema, formats: frozenset[str], *, summarizes: bool
    ) -> None:
        self._subject = Subject(source, peer_source, schema, formats, summarizes)
        self.source = source
        self.peer_source = peer_source
        self.schema = schema
        self._claims_fields = schema is None or bool(schema)
        self._formats = formats
        self._summarizes = summarizes
        self._ids: set[str] = set()
        self._latest: Evaluation | None = None
        """The evaluation that the send set comes from."""
        self.added: Collection[str] = ()
        self.removed: Collection[str] = ()
        """What the last update changed."""
        self._hashed: set[str] | frozenset[str] | None = self._ids
        """The records whose claims are kept and hashed, in the end those of the send set; None while that is
        being changed."""
        self._claims: dict[str, Claims] = {}
        """The fields of the schema, kept: a record may leave the store while the peer still asks about it."""
        self._shared: Hashed | None = None
        """What others may have as well; its claims are not among our own, as far as they are the same."""
        self._unshared = 0
        """How many records were hashed or forgotten since."""
        self.tree = Partitions()
        self._mirror = Partitions()
        self._mirror_bytes = 0
        self._unmirrored: dict[str, None] = {}
        """In the tree, and not in the mirror before somebody looks at it: a peer that has nothing, nobody
        compares with."""

    @property
    def ids(self) -> AbstractSet[str]:
        """The send set. It changes with the next update: look at it, keep nothing."""
        return self._ids

    def take_over(self, shared: Hashed) -> None:
        """Begin with what another exchange hashed, where that was of the same sources, fields and formats.

        Nothing of it is said here: the next update decides.
        """
        if shared.subject == self._subject:
            self._hashed = shared.ids
            self._have_in_common(shared)
            self.tree, self._mirror = shared.tree.copy(), shared.mirror.copy()
            self._mirror_bytes, self._unmirrored = shared.mirror_bytes, dict(shared.unmirrored)

    def _begin_anew(self) -> None:
        """Let go of what was taken over: taking the rest out would cost more than hashing what is wanted."""
        self._hashed, self._shared = frozenset(), None
        self.tree, self._mirror = Partitions(), Partitions()
        self._mirror_bytes, self._unmirrored = 0, {}

    def join(self, shared: Hashed) -> bool:
        """Hold what another exchange holds too together with it; False where that is not the same."""
        if shared.subject != self._subject or shared.ids != self._ids or self._hashed is not self._ids:
            return False
        self._have_in_common(shared)
        self.tree.share(shared.tree, ("",))
        if not self._unmirrored and not shared.unmirrored:
            self._mirror.share(shared.mirror, ("",))
        return True

    def hashed(self) -> Hashed | None:
        """Return what others may begin with; None where hashing failed, or nothing was hashed."""
        if not self._hashed or self._hashed is not self._ids:
            return self._shared if self._hashed else None
        if self._shared is not None and not self._unshared:
            # They are still the same, and many may hold them.
            ids, claims = self._shared.ids, self._shared.claims
        else:
            ids = frozenset(self._ids)
            claims = {record: self._claimed(record) for record in ids} if self._claims_fields else {}
        shared = Hashed(
            self._subject,
            ids,
            claims,
            self.tree.copy(),
            self._mirror.copy(),
            self._mirror_bytes,
            self._unmirrored.copy(),
        )
        self._have_in_common(shared)
        return shared

    def _have_in_common(self, shared: Hashed) -> None:
        self._shared, self._unshared, self._claims = shared, 0, {}

    @property
    def is_worth_sharing(self) -> bool:
        """Whether a good part of what is hashed here is not what others may have as well."""
        return 0 < self._unshared * SHARED_PART >= len(self._hashed or ())

    def update(self, evaluation: Evaluation) -> bool:
        """Take over what an evaluation decided; tell whether the advertisements differ from before."""
        ids = self._ids
        added, removed = self._difference(evaluation)
        ids -= removed
        ids.update(added)
        self._latest, self.added, self.removed = evaluation, added, removed
        if self._hashed is not ids:  # what was taken over is another set
            assert self._hashed is not None, "what failed once is not used again"
            if len(self._hashed) > MOST_TAKEN_OVER * len(ids):
                self._begin_anew()
            added, removed = ids.difference(self._hashed), set(self._hashed.difference(ids))
        self._hash(added, removed, evaluation)
        return bool(self.added or self.removed)

    def would_change(self, evaluation: Evaluation) -> bool:
        """Tell whether an evaluation decided on another send set than the present one."""
        return any(self._difference(evaluation))

    def _difference(self, evaluation: Evaluation) -> tuple[Collection[str], set[str]]:
        """Return what an evaluation adds to the send set, each once, and what it takes away."""
        ids, suffixes = self._ids, format_suffixes(self._formats)
        came, removed = self._came(evaluation), set[str]()
        if came is None:
            sendable = among(evaluation.have, evaluation.may_send)
            came = [record for record in sendable if record not in ids] if ids else sendable
            # Where there are as many as before and those that came, nothing went.
            if len(sendable) < len(ids) + len(came):
                removed = ids.difference(sendable)
        # PROFILE 10: "Records outside the negotiated formats are not advertised". Those that came stay in
        # their order, near each other in memory: they are walked through many times.
        added = dict.fromkeys([record for record in came if record not in ids and record.endswith(suffixes)])
        return added.keys(), removed

    def _came(self, evaluation: Evaluation) -> list[str] | None:
        """Return what the send set gained since the evaluation it comes from; None where nobody can tell.

        050: "EffectiveSend(P) = MaySend(P) and Have(P)": what may be sent anew and is there, and what was
        stored since and may be sent.
        """
        before = self._latest
        if before is None:
            return None
        allowed = came_since(evaluation.may_send, before.may_send)
        stored = came_since(evaluation.have, before.have)
        if allowed is None or stored is None:
            return None
        found = among(evaluation.have, allowed)
        known = set(found)
        others = [*filterfalse(known.__contains__, stored)]  # mostly none
        return found + among(evaluation.may_send, others)

    def _hash(self, added: Collection[str], removed: Collection[str], evaluation: Evaluation) -> None:
        """Keep and hash the claims of records that came, and forget those of records that went."""
        self._hashed = None
        if self._summarizes and removed:
            self._take_from_mirror(removed)
        if self._claims_fields:
            for record in removed:
                self._claims.pop(record, None)
            fields = evaluation.fields(added, self.schema) if added else {}
            for record in added:
                self._claims[record] = select_claims(fields.get(record, ()), self.schema)
        if self._summarizes:
            self._summarize(added, removed)
        self._hashed = self._ids
        self._unshared += len(added) + len(removed)

    def keep(self) -> None:
        """Advertise what was advertised in the loop before, or know no longer what came last: it was told."""
        self.added = self.removed = ()

    def _summarize(self, added: Iterable[str], removed: Iterable[str]) -> None:
        claims = self.claims_of(added, self.source)
        self.tree.change(hash_advertisements(claims, self.source), removed)
        self._unmirrored.update(dict.fromkeys(added))

    @property
    def mirror(self) -> Partitions:
        """The same records under the peer's source."""
        if self._unmirrored:
            claims = self.claims_of(self._unmirrored, self.peer_source)
            self._mirror.change(hash_advertisements(claims, self.peer_source), ())
            self._mirror_bytes += advertisements_size(claims, self.peer_source)
            self._unmirrored = {}
        return self._mirror

    def learn_from(self, said: Partitions) -> None:
        """Take over the root of what the peer says, where the mirror says the same and has not hashed it."""
        if len(self._mirror) and len(self.tree) == len(said):
            self.mirror.learn_from(said)

    def hold_with(self, said: Partitions) -> None:
        """Hold what the peer says together with the mirror, while an exchange goes on: it takes room once."""
        if self.tree.in_parts:
            # So it goes on: whatever is asked about a part of one will be asked about the others.
            self._mirror.part()
            said.part()
        said.share(self._mirror, ("",))

    def _take_from_mirror(self, removed: Iterable[str]) -> None:
        gone = [record for record in removed if record in self._mirror]
        self._mirror_bytes -= advertisements_size(self.claims_of(gone, self.peer_source), self.peer_source)
        self._mirror.change({}, gone)
        for record in removed:
            self._unmirrored.pop(record, None)

    def mirrored(self, records: Sequence[str]) -> tuple[dict[str, Claims], dict[str, bytes]]:
        """Return what the peer would say of records, as far as they are in the send set, and its entries."""
        entries = self.mirror.entries_of(records)
        return self.claims_of(entries, self.peer_source), entries

    def claims(self, record: str, source: str) -> Claims:
        """Return what a source claims of a record in the send set."""
        return fit_claims(record, source, self._claimed(record))

    def _claimed(self, record: str) -> Claims:
        claims = self._claims.get(record)
        if claims is None:
            claims = () if self._shared is None else self._shared.claims.get(record, ())
        return claims

    def claims_of(self, records: Iterable[str], source: str) -> dict[str, Claims]:
        """Return what a source claims of records in the send set."""
        if not self._claims_fields:
            return dict.fromkeys(records, ())
        return {record: self.claims(record, source) for record in records}

    @property
    def mean_bytes(self) -> float:
        """About how long an advertisement record is, judged by our own."""
        if self.ids and self._summarizes:
            mirror = self.mirror  # looking at it counts its bytes
            return self._mirror_bytes / len(mirror)
        names = SOME_FIELDS if self.schema is None else len(self.schema)
        return FIRST_LINE_BYTES + CLAIM_BYTES * names
