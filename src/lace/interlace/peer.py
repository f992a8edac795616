"""What the peer advertises: claims by record, and what to expect of its next loop (050, Peer advertisements).

    claims     what the peer said in the last reconciliation of this exchange, exactly
    tree       entries of what it is expected to say next: the same, and the records it was sent since;
               before it has said anything, what a cursor remembers of another day

Rules of this file:
1. These are claims. No record fact is made of them, here or anywhere.
2. However a partition became known — listed, matched by a root, remembered — the claims are those of a full
   listing.
3. What is only expected is never among the claims: no evaluation reads it, and no loop depends on it.
4. The tree holds an entry for each claim and for what is expected, and no other. So two entries that are the
   same are the same claims, and whoever replaces a partition looks at nothing but what differs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from lace.facts import Fact
from lace.interlace.blocks import MalformedBlock
from lace.interlace.claims import (
    ADVERTISED,
    Claim,
    Claims,
    Schema,
    advertisements_size,
    claim_order,
    hash_advertisements,
)
from lace.interlace.events import Advertisements, Cursor
from lace.interlace.partitions import Partitions, Piece, Summary, in_order, prefix_of, summarize
from lace.text import are_foreign_record_ids, is_foreign_record_id

REMEMBERED_PART = 16
"""Where one in so many claims has changed, what is remembered of a peer is worth writing anew."""
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)


class ForeignSource(MalformedBlock):
    """An advertisement in somebody else's name."""

    code = "interlace/source"
    text = "the peer advertises in the name of {found!r}: it is {expected} here and nobody else"


def read_advertisements(facts: Sequence[Fact], source: str, schema: Schema) -> dict[str, Claims]:
    """Read advertisement records in any order, or raise what no side may send.

    PROFILE 9: "`Advertised` comes first and once for each record, and no field repeats or lies outside the
    schema."
    """
    bare = [fact[1] for fact in facts if fact[0] == ADVERTISED and fact[2] == source]
    if len(bare) == len(facts) == len(set(bare)) and are_foreign_record_ids(bare):
        return dict.fromkeys(bare, ())  # as most are: no fields, and nothing wrong
    found: dict[str, list[Claim]] = {}
    for fact in facts:
        record = fact[1]
        if fact[2] != source:
            raise ForeignSource(found=fact[2][:60], expected=source)
        if fact[0] == ADVERTISED:
            if record in found:
                raise MalformedBlock(reason=f"{record[:60]} is advertised twice")
            if not is_foreign_record_id(record):
                raise MalformedBlock(reason=f"{record[:60]!r} is no record id")
            found[record] = []
        else:
            claims = found.get(record)
            if claims is None:
                raise MalformedBlock(reason=f"a field of {record[:60]!r} stands before its record")
            _, _, _, name, index, value = fact
            if schema is not None and name not in schema:
                raise MalformedBlock(reason=f"the field {name[:40]!r} is not in the agreed schema")
            if _INDEX.fullmatch(index) is None:
                raise MalformedBlock(reason=f"{index[:20]!r} is no field index")
            claims.append((name, index, value))
    return {record: _ordered(record, claims) for record, claims in found.items()}


def _ordered(record: str, claims: list[Claim]) -> Claims:
    if len(claims) > 1:
        claims.sort(key=claim_order)
        for before, after in pairwise(claims):
            if before[:2] == after[:2]:
                raise MalformedBlock(reason=f"a field of {record} repeats: {after[0][:40]!r} {after[1]}")
    return tuple(claims)


def _merged(parts: Sequence[Mapping[str, bytes]]) -> Mapping[str, bytes]:
    """Return the entries of all parts; of a single one, which may be large, itself."""
    if len(parts) == 1:
        return parts[0]
    return {record: entry for part in parts for record, entry in part.items()}


class PeerAdvertisements:
    """The peer's advertisement state of one epoch."""

    def __init__(
        self, source: str, schema: Schema, *, summarizes: bool, cursor: Cursor | None = None
    ) -> None:
        self.source = source
        self.schema = schema
        self._summarizes = summarizes
        self.claims: dict[str, Claims] = {}
        self.tree = Partitions()
        self._expected: dict[str, Claims] = {}
        """In the tree and not in the claims: remembered, or sent to the peer since it last spoke."""
        self._touched: dict[str, Claims | None] = {}
        """What was claimed of a record at the last evaluation that read claims, for those of which something
        else is now."""
        self._news: dict[str, None] | None = None
        """Of which records something else is claimed since somebody took the news; None for all of them."""
        self._unremembered = 0
        """How many claims changed since a cursor was made."""
        self._changed = False
        self._listed = 0
        self._listed_bytes = 0
        if summarizes and cursor is not None and cursor.source == source and cursor.fields == schema:
            # PROFILE 9: "A cursor is a guess that the roots confirm, never something the sender relies on".
            self._expected = dict(cursor.claims)
            self.tree.change(hash_advertisements(self._expected, source), ())

    def begin_loop(self) -> None:
        """Forget what changed in the loop before."""
        self._changed = False

    @property
    def differs(self) -> bool:
        """Whether the peer advertises something else than in its last loop; before the first it is nothing.

        Both sides must come to the same answer, so only what the peer said has a part in it.
        """
        return self._changed

    def cursor(self) -> Cursor:
        """Return what to remember of the peer."""
        self._unremembered = 0
        return Cursor(self.source, self.schema, dict(self.claims))

    @property
    def cursor_is_due(self) -> bool:
        """Whether a good part of what the peer claims has changed since a cursor was made."""
        return 0 < self._unremembered * REMEMBERED_PART >= len(self.claims)

    def expect(self, claims: Mapping[str, Claims], entries: Mapping[str, bytes]) -> None:
        """Take note that records were sent to the peer: it will probably advertise them so."""
        if self._summarizes:
            if len(self.tree):
                entries = {record: entry for record, entry in entries.items() if record not in self.tree}
                claims = {record: claims[record] for record in entries}
            self._expected.update(claims)
            self.tree.change(entries, ())

    @property
    def mean_bytes(self) -> float | None:
        """About how long the peer's advertisement records are; None while none was listed."""
        return self._listed_bytes / self._listed if self._listed else None

    def hash_listing(self, claims: Mapping[str, Claims]) -> dict[str, bytes]:
        """Return the entries of a listing, and learn how long such records are."""
        self._listed += len(claims)
        self._listed_bytes += advertisements_size(claims, self.source)
        return hash_advertisements(claims, self.source)

    def set_all(self, claims: dict[str, Claims]) -> None:
        """Replace everything by a full listing."""
        self._replace(self.claims.keys() - claims.keys(), claims)
        if self._summarizes:
            self._expected.clear()
            self.tree = Partitions(hash_advertisements(claims, self.source))

    def change(self, came: Mapping[str, Claims], gone: Iterable[str]) -> None:
        """Take over what changed, where nothing needs to be summarized."""
        self._replace(gone, came)

    def clear(self, prefixes: Iterable[str]) -> None:
        """Empty partitions."""
        wanted = in_order(prefixes)
        self._set(wanted, ((held, {}) for held in self.tree.under_each(wanted)), lambda records: {})

    def is_known(self, summary: Summary) -> bool:
        """Tell whether this is what was last expected of a partition, and nothing of it has changed."""
        return self.tree.known(summary.prefix) == summary

    def set_listed(self, found: Mapping[Summary, Mapping[str, bytes]], claims: dict[str, Claims]) -> None:
        """Replace partitions by listed entries that give their summaries, and of which this is claimed."""
        prefixes = [summary.prefix for summary in found]
        pieces = zip(self.tree.under_each(prefixes), found.values(), strict=True)
        self._set(prefixes, pieces, lambda records: {record: claims[record] for record in records})
        for summary in found:
            self.tree.learn(summary)

    def set_matched(
        self,
        found: Collection[Summary],
        other: Partitions,
        claims_of: Callable[[Iterable[str]], dict[str, Claims]],
    ) -> None:
        """Replace partitions by what another set holds of them, which gives their summaries.

        Somebody says what is claimed of its records.
        """
        prefixes = [summary.prefix for summary in found]
        self._set(prefixes, self.tree.pieces(other, prefixes), claims_of)
        self.tree.share(other, prefixes)
        for summary in found:
            self.tree.learn(summary, other)

    def _set(
        self,
        prefixes: Collection[str],
        pieces: Iterable[Piece],
        claims_of: Callable[[Iterable[str]], dict[str, Claims]],
    ) -> None:
        """Replace partitions by others, given piece by piece: what is here, and what is to be."""
        parts: list[Mapping[str, bytes]] = []
        gone: list[str] = []
        for here, there in pieces:
            if not here:
                parts.append(there)
            elif here != there:
                parts.append({record: entry for record, entry in there.items() if here.get(record) != entry})
                gone += here.keys() - there.keys()
        came = _merged(parts)
        confirmed = self._take_expected(prefixes)
        for record in gone if confirmed else ():
            confirmed.pop(record, None)
        self._replace(gone, claims_of(came))
        self._replace((), {record: said for record, said in confirmed.items() if record not in came})
        self.tree.change(came, gone)

    def _take_expected(self, prefixes: Collection[str]) -> dict[str, Claims]:
        """Return what is only expected of some partitions, and expect it no longer."""
        expected, wanted = self._expected, set(prefixes)
        if not expected or "" in wanted:
            self._expected = {}
            return expected
        lengths = {len(prefix) for prefix in wanted}
        found = [each for each in expected if any(prefix_of(each, length) in wanted for length in lengths)]
        return {record: expected.pop(record) for record in found}

    def keep_partitions(self, prefixes: Collection[str]) -> None:
        """Confirm partitions as they were expected."""
        self._replace((), self._take_expected(prefixes))

    def without_expected(self, wanted: Sequence[Summary]) -> list[Summary]:
        """Return those summaries that are true of what the peer last said, where more is expected now."""
        if not self._expected or not self.claims:
            return []
        lengths = {len(each.prefix) for each in wanted}
        more = Counter([prefix_of(record, length) for length in lengths for record in self._expected])
        counts = self.tree.counts([each.prefix for each in wanted])
        wanted = [
            each
            for each, count in zip(wanted, counts, strict=True)
            if more[each.prefix] and each.count == count - more[each.prefix]
        ]
        found = []
        for each, held in zip(wanted, self.tree.under_each([each.prefix for each in wanted]), strict=True):
            said = {record: entry for record, entry in held.items() if record not in self._expected}
            if summarize(each.prefix, said) == each:
                found.append(each)
        return found

    def drop_expected(self, prefixes: Collection[str]) -> None:
        """Put partitions back to what the peer last said."""
        self.tree.change({}, self._take_expected(prefixes))

    def _replace(self, gone: Iterable[str], claims: Mapping[str, Claims]) -> None:
        held, touched = self.claims, self._touched
        for record in gone:
            old = held.pop(record, None)
            if old is not None:
                self._touch(record, old)
                if touched[record] is None:
                    del touched[record]  # came and went between two evaluations: neither sees it
        if not held and not touched:
            # The first word of a peer: nothing to compare it with.
            held.update(claims)
            touched.update(dict.fromkeys(claims))
            self._news = None
            self._unremembered += len(claims)
            self._changed = self._changed or bool(claims)
            return
        for record, new in claims.items():
            old = held.get(record)
            if old != new:
                self._touch(record, old)
                held[record] = new

    def _touch(self, record: str, old: Claims | None) -> None:
        """Note that something else is claimed of a record than this."""
        self._touched.setdefault(record, old)
        self._unremembered += 1
        self._changed = True
        if self._news is not None:
            self._news[record] = None

    def take_news(self) -> Collection[str] | None:
        """Return of which records something else is claimed since this was last asked; None for all."""
        news, self._news = self._news, {}
        return news

    def take_changes(self) -> Advertisements:
        """Return the state for an evaluation, with what changed since the last one."""
        claims, touched = self.claims, self._touched
        before = {record: old for record, old in touched.items() if old is not None}  # mostly few
        went = {record: old for record, old in before.items() if claims.get(record) != old}
        # In the order in which they came: so they lie in memory, and everybody walks through them.
        came = dict.fromkeys(filter(claims.__contains__, touched))
        for record in before.keys() - went.keys():
            came.pop(record, None)
        self._touched = {}
        return Advertisements(self.source, claims, came.keys(), went)
