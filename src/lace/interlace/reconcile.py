"""Transition: reconcile peer advertisements (050; PROFILE 9 and 10, Reconciliation).

    a summary ──▶ matches a guess ──────────────────────────▶ known, for nothing
              └─▶ does not ──▶ list it, or narrow it ──▶ children ──▶ again

What is guessed from: what the peer said before and was sent since, what it said before, and our own send set
in its words. A guess costs nothing where it is wrong; only a count and a root that agree make it knowledge.

Rules of this file:
1. A partition is known when its count and root are rebuilt from records, and in no other way.
2. What is asked depends on what the peer said and on guesses that hold nothing it may not learn about.
3. Everything that was asked fits into one answer as far as can be foreseen; what was left out is asked again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from lace.errors import RemoteProtocolError, TextError
from lace.facts import Fact
from lace.interlace.blocks import LIST, NARROW, MalformedBlock
from lace.interlace.limits import GREATEST, ExchangeLimit
from lace.interlace.own import OwnAdvertisements
from lace.interlace.partitions import (
    ADVERTISEMENT_PARTITION,
    FAN_OUT,
    Summary,
    in_order,
    prefix_of,
    summarize,
)
from lace.interlace.peer import PeerAdvertisements, read_advertisements
from lace.interlace.terms import Terms
from lace.text import ALPHABET, DIGEST_BYTES, PAYLOAD_CHARS, decode

SUMMARY_BYTES: Final = 82
"""About what a summary takes in a block."""
MARGIN: Final = 0.8
"""Of a block is filled by what is foreseen; advertisements differ in length."""
UNSEEN: Final = 4
"""So many times longer than ours may a peer's advertisements be before one was seen."""
_COUNT_DIGITS: Final = 19


class MalformedSummary(RemoteProtocolError):
    """A partition summary that cannot be true, or stands where none may."""

    code = "interlace/summary"
    text = "the peer's partition summary {prefix!r} is refused: {reason}"


class RootMismatch(RemoteProtocolError):
    """Records that do not give the root that was promised."""

    code = "interlace/root-mismatch"
    text = "partition {prefix!r} was summarized otherwise than it was listed: {reason}"


def read_summary(fact: Fact, length: int) -> Summary:
    """Read a summary whose prefix has this length, or raise why it is none."""
    _, prefix, count, root = fact
    if len(prefix) != length or any(each not in ALPHABET for each in prefix):
        raise MalformedSummary(prefix=prefix[:50], reason=f"a prefix has {length} B64A characters here")
    if not count.isascii() or not count.isdigit() or count[0] == "0" or len(count) > _COUNT_DIGITS:
        raise MalformedSummary(prefix=prefix, reason=f"{count[:40]!r} is no count of one or more")
    try:
        digest = decode(root)
    except TextError as error:
        raise MalformedSummary(prefix=prefix, reason=f"its root: {error}") from None
    if len(digest) != DIGEST_BYTES:
        raise MalformedSummary(prefix=prefix, reason=f"its root has {len(digest)} bytes")
    return Summary(prefix, int(count), digest)


@dataclass(slots=True)
class Asked:
    """What one ask block says."""

    lists: list[str] = field(default_factory=list)
    narrows: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.lists or self.narrows)

    def facts(self) -> list[Fact]:
        """Return the block."""
        return [*((LIST, each) for each in self.lists), *((NARROW, each) for each in self.narrows)]


class Reconciliation:
    """How one loop finds out what the peer advertises, from the summaries in its advertisement block."""

    def __init__(
        self,
        facts: Sequence[Fact],
        peer: PeerAdvertisements,
        own: OwnAdvertisements,
        terms: Terms,
        *,
        predicts: bool = True,
        most: int = GREATEST,
    ) -> None:
        self._peer = peer
        self._own = own
        self._limits = terms.limits
        self._start = terms.partition_start
        self._predicts = predicts
        self._open: dict[str, Summary] = {}
        """Summarized, and not known yet."""
        self._fresh: set[str] = set()
        """Those of them that no guess was tried on yet."""
        self._narrowed: dict[str, Summary] = {}
        """Parents whose root is checked when all below them is known."""
        self._asked = Asked()
        self._received = 0
        for fact in facts:
            self._learn(read_summary(fact, self._start))
        total = sum(summary.count for summary in self._open.values())
        if total > most:
            # Counts are checked against what is listed, so this is the moment to find out.
            raise ExchangeLimit(
                limit="advertised_records",
                bound=most,
                seen=total,
                advice="the peer advertises more at once than this side holds; narrow the policy or raise it",
            )
        # PROFILE 9: "one for each non-empty partition; one that is not named is empty."
        peer.clear(peer.tree.prefixes(self._start) - self._open.keys())

    @property
    def unknown(self) -> int:
        """How many partitions are summarized and not known yet."""
        return len(self._open)

    def _learn(self, summary: Summary) -> None:
        if summary.prefix in self._open:
            raise MalformedSummary(prefix=summary.prefix, reason="it stands there twice")
        self._received += 1
        if self._received > self._limits.max_partition_summaries:
            raise ExchangeLimit(
                limit="max_partition_summaries",
                bound=self._limits.max_partition_summaries,
                seen=self._received,
                advice="more of them in a loop than this side takes",
            )
        self._open[summary.prefix] = summary
        self._fresh.add(summary.prefix)

    def ask(self) -> Asked:
        """Return what to ask in the next turn; nothing where all is known."""
        self._guess([self._open[prefix] for prefix in in_order(self._fresh)])
        self._fresh.clear()
        if self._open:
            self._asked = self._choose()
        else:
            self._asked = Asked()
            self._check_parents()
        return self._asked

    def _guess(self, wanted: list[Summary]) -> None:
        """Try to rebuild partitions from what is known already.

        Whichever guess a root confirms, the same records are known then; the order is that of what it costs.
        """
        peer = self._peer
        wanted = self._keep([each for each in wanted if peer.is_known(each)], wanted)
        if not peer.claims:
            # Before the peer's first word its tree is of another day, and the roots of our own set are kept.
            wanted = self._predict(wanted)
        wanted = self._keep(peer.tree.agreeing(wanted), wanted)
        if peer.claims:
            wanted = self._predict(wanted)
        said = peer.without_expected(wanted)
        peer.drop_expected([summary.prefix for summary in said])
        self._close(said, wanted)

    def _keep(self, found: list[Summary], wanted: list[Summary]) -> list[Summary]:
        """Take partitions for what was expected of them; return the others."""
        self._peer.keep_partitions([summary.prefix for summary in found])
        return self._close(found, wanted)

    def _predict(self, wanted: list[Summary]) -> list[Summary]:
        """Try what our own send set says of partitions; return those of which something else is true."""
        if not self._predicts or not wanted:
            return wanted
        peer, own = self._peer, self._own
        found = own.mirror.agreeing(wanted)
        peer.set_matched(found, own.mirror, lambda records: own.claims_of(records, peer.source))
        return self._close(found, wanted)

    def _close(self, known: list[Summary], wanted: list[Summary]) -> list[Summary]:
        """Take note that partitions are known; return the others."""
        for summary in known:
            del self._open[summary.prefix]
        return [each for each in wanted if each.prefix in self._open] if known else wanted

    def _choose(self) -> Asked:
        """Choose what to list and what to narrow: whatever is expected to cost fewer bytes.

        Too large a partition is narrowed whatever it costs, and at the deepest level it is listed. The room
        for summaries goes to those who save most by it.
        """
        limits, mean = self._limits, self._peer.mean_bytes or self._own.mean_bytes
        room = limits.max_partition_summaries - self._received
        block = int(limits.max_fact_block_bytes * MARGIN)
        # A listing that does not fit into a block can never be sent: until one was seen, leave it air.
        whole = block if self._peer.mean_bytes else block // UNSEEN
        narrows: list[tuple[float, str]] = []
        for summary, known in self._nearest():
            prefix = summary.prefix
            deepest = len(prefix) - self._start >= limits.max_narrowing_depth or len(prefix) >= PAYLOAD_CHARS
            large = summary.count > limits.max_advertisement_records or summary.count * mean > whole
            saving = float("inf") if large else _saving(summary.count, known, mean)
            if not deepest and saving > 0:
                narrows.append((-saving, prefix))
        chosen: list[str] = []
        expected = 0
        for saving, prefix in sorted(narrows):
            children = min(FAN_OUT, self._open[prefix].count)
            if children <= room and (not chosen or expected + children * SUMMARY_BYTES <= block):
                room -= children
                expected += children * SUMMARY_BYTES
                chosen.append(prefix)
            elif saving == -float("inf") and not chosen:
                raise ExchangeLimit(
                    limit="max_partition_summaries",
                    bound=limits.max_partition_summaries,
                    seen=self._received + children,
                    advice="the set is too large to be told apart with so few",
                )
        aside = {*chosen, *(prefix for saving, prefix in narrows if saving == -float("inf"))}
        lists = self._fill([each for each in sorted(self._open) if each not in aside], mean)
        return Asked(lists, sorted(chosen))

    def _nearest(self) -> Iterator[tuple[Summary, int]]:
        """Yield what is not known, each with how many records the guess that comes nearest has there."""
        prefixes = in_order(self._open)
        guesses = [self._peer.tree.counts(prefixes)]
        if self._predicts:
            guesses.append(self._own.mirror.counts(prefixes))
        for prefix, *counts in zip(prefixes, *guesses, strict=True):
            summary = self._open[prefix]
            yield summary, min(counts, key=lambda each: abs(each - summary.count))

    def _fill(self, prefixes: list[str], mean: float) -> list[str]:
        """Return as many of these as one answer block holds, one at least."""
        lists: list[str] = []
        records = 0
        bound = self._limits.max_advertisement_records
        for prefix in prefixes:
            count = self._open[prefix].count
            if count > bound:
                raise ExchangeLimit(
                    limit="max_advertisement_records",
                    bound=bound,
                    seen=count,
                    advice=f"partition {prefix!r} can be narrowed no further",
                )
            fits = (
                records + count <= bound
                and (records + count) * mean <= self._limits.max_fact_block_bytes * MARGIN
                # The asks themselves make a block too.
                and (len(lists) + 1) * (PAYLOAD_CHARS + 40) <= self._limits.max_fact_block_bytes
            )
            if lists and not fits:
                break
            lists.append(prefix)
            records += count
        return lists

    def accept(self, facts: Sequence[Fact]) -> None:
        """Take the answer to what was asked, or raise what is wrong with it."""
        summaries = [fact for fact in facts if fact[0] == ADVERTISEMENT_PARTITION]
        records = [fact for fact in facts if fact[0] != ADVERTISEMENT_PARTITION] if summaries else facts
        if bool(self._asked) != bool(summaries or records):
            what = "nothing was asked" if summaries or records else "it is empty, and something was asked"
            raise MalformedBlock(reason=f"no answer: {what}")
        if summaries:
            self._accept_children(summaries)
        if records:
            self._accept_listing(records)

    def _accept_children(self, facts: list[Fact]) -> None:
        asked = set(self._asked.narrows)
        families: dict[str, list[Summary]] = {}
        for fact in facts:
            parent = fact[1][:-1]
            if parent not in asked or not fact[1]:
                raise MalformedSummary(prefix=fact[1][:50], reason="nobody asked for it")
            families.setdefault(parent, []).append(read_summary(fact, len(parent) + 1))
        for parent, children in families.items():
            whole = self._open.pop(parent)
            total = sum(child.count for child in children)
            if total != whole.count:
                raise MalformedSummary(prefix=parent, reason=f"its children have {total}, not {whole.count}")
            for child in children:
                self._learn(child)
            self._narrowed[parent] = whole
        # A child that is not named is empty.
        named = {child.prefix for children in families.values() for child in children}
        self._peer.clear(self._peer.tree.child_prefixes([*families]) - named)

    def _accept_listing(self, facts: Sequence[Fact]) -> None:
        claims = read_advertisements(facts, self._peer.source, self._peer.schema)
        bound = self._limits.max_advertisement_records
        if len(claims) > bound:
            raise ExchangeLimit(
                limit="max_advertisement_records", bound=bound, seen=len(claims), advice="in one answer block"
            )
        entries = self._peer.hash_listing(claims)
        found = {self._open[prefix]: held for prefix, held in self._by_partition(entries).items()}
        for wanted, held in found.items():
            _check_listing(wanted, held)
        self._peer.set_listed(found, claims)
        for wanted in found:
            del self._open[wanted.prefix]

    def _by_partition(self, entries: dict[str, bytes]) -> dict[str, dict[str, bytes]]:
        """Return what was listed by the partitions that were to be listed."""
        asked = set(self._asked.lists)
        if "" in asked and entries:  # all there is, in the beginning
            return {"": entries}
        lengths = sorted({len(each) for each in asked})
        listings: dict[str, dict[str, bytes]] = {}
        for record, entry in entries.items():
            prefix = next((p for p in (prefix_of(record, n) for n in lengths) if p in asked), None)
            if prefix is None:
                raise MalformedBlock(reason=f"{record} lies outside every partition that was to be listed")
            listings.setdefault(prefix, {})[record] = entry
        return listings

    def _check_parents(self) -> None:
        """PROFILE 9: "where everything below a narrowed parent is known, the parent's root is checked"."""
        for parent in self._narrowed.values():
            if self._peer.tree.summary(parent.prefix) != parent:
                raise RootMismatch(prefix=parent.prefix, reason="its children give another root")
        self._narrowed.clear()


def _saving(count: int, nearest: int, mean: float) -> float:
    """Return how many bytes narrowing a partition is expected to save."""
    if nearest == 0:
        return -1.0
    # At least one record differs; where counts differ, at least so many.
    differing = max(1, abs(count - nearest))
    still_listed = min(count, differing * max(1.0, count / FAN_OUT))
    return (count - still_listed) * mean - SUMMARY_BYTES * min(FAN_OUT, count)


def _check_listing(wanted: Summary, listed: dict[str, bytes]) -> None:
    """050: "After listing, the receiver verifies that the listed records match … If verification fails,
    interlace MUST abort."
    """
    if len(listed) != wanted.count:
        reason = f"{wanted.count} records were promised, {len(listed)} came"
        raise RootMismatch(prefix=wanted.prefix, reason=reason)
    if summarize(wanted.prefix, listed) != wanted:
        raise RootMismatch(prefix=wanted.prefix, reason="the roots differ")
