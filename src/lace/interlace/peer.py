"""What the peer advertises: claims by record, and what to expect of its next loop (050, Peer advertisements).

    claims     what the peer said in the last reconciliation of this exchange, exactly
    tree       entries of what it is expected to say next: the same, and the records it was sent since;
               before it has said anything, what a cursor remembers of another day

Rules of this file:
1. These are claims. No record fact is made of them, here or anywhere.
2. However a partition became known — listed, matched by a root, remembered — the claims are those of a full
   listing.
3. What is only expected is never among the claims: no evaluation reads it, and no loop depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
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
from lace.interlace.partitions import Partition, Partitions, Summary, in_order, summarize
from lace.text import are_foreign_record_ids, is_foreign_record_id

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
        return Cursor(self.source, self.schema, dict(self.claims))

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
        self._set(self._held(in_order(prefixes)), {}, {})

    def set_partitions(self, found: Sequence[Partition], claims: dict[str, Claims]) -> None:
        """Replace partitions by records that give their summaries, and of which this is claimed."""
        held = self._held([summary.prefix for summary, _ in found])
        self._set(held, claims, _merged([entries for _, entries in found]))
        for summary, _ in found:
            self.tree.learn(summary)

    def _held(self, prefixes: Sequence[str]) -> Mapping[str, bytes]:
        """Return what the tree holds of some partitions."""
        return _merged(list(self.tree.under_each(prefixes)))

    def _set(
        self, before: Mapping[str, bytes], claims: dict[str, Claims], entries: Mapping[str, bytes]
    ) -> None:
        gone = [record for record in before if record not in claims]
        if self._expected and len(before) == len(self.tree):
            self._expected.clear()
        elif self._expected:
            for record in before:
                self._expected.pop(record, None)
        self.tree.change({r: e for r, e in entries.items() if before.get(r) != e}, gone)
        self._replace(gone, claims)

    def is_known(self, summary: Summary) -> bool:
        """Tell whether this is what the peer said of a partition before, and nothing of it has changed."""
        return not self._expected and self.tree.known(summary.prefix) == summary

    def keep_partitions(self, prefixes: Sequence[str]) -> None:
        """Confirm partitions as they were expected."""
        if self._expected:
            held = self.tree.under_each(prefixes)
            confirmed = [record for part in held for record in part if record in self._expected]
            self._replace((), {record: self._expected.pop(record) for record in confirmed})

    def without_expected(self, wanted: Sequence[Summary]) -> list[Summary]:
        """Return those summaries that are true of what the peer last said, where more is expected now."""
        if not self._expected or not self.claims:
            return []
        found = []
        for each, held in zip(wanted, self.tree.under_each([each.prefix for each in wanted]), strict=True):
            said = {record: entry for record, entry in held.items() if record not in self._expected}
            if len(said) == each.count < len(held) and summarize(each.prefix, said) == each:
                found.append(each)
        return found

    def drop_expected(self, prefixes: Sequence[str]) -> None:
        """Put partitions back to what the peer last said."""
        gone = [record for held in self.tree.under_each(prefixes) for record in held]
        gone = [record for record in gone if self._expected.pop(record, None) is not None]
        self.tree.change({}, gone)

    def _replace(self, gone: Iterable[str], claims: Mapping[str, Claims]) -> None:
        held, touched = self.claims, self._touched
        for record in gone:
            old = held.pop(record, None)
            if old is not None:
                touched.setdefault(record, old)
                self._changed = True
        if not held and not touched:
            # The first word of a peer: nothing to compare it with.
            held.update(claims)
            touched.update(dict.fromkeys(claims))
            self._changed = self._changed or bool(claims)
            return
        for record, new in claims.items():
            old = held.get(record)
            if old != new:
                touched.setdefault(record, old)
                held[record] = new
                self._changed = True

    def take_changes(self) -> Advertisements:
        """Return the state for an evaluation, with what changed since the last one."""
        came: set[str] = set()
        went: dict[str, Claims] = {}
        for record, old in self._touched.items():
            new = self.claims.get(record)
            if new != old:
                if old is not None:
                    went[record] = old
                if new is not None:
                    came.add(record)
        self._touched = {}
        return Advertisements(self.source, self.claims, frozenset(came), went)
