"""Partition summaries over advertisement records (050, Reconciliation facts; PROFILE 9).

    Zg7xQ…  lies in  ''  'Z'  'Zg'  'Zg7'  …     children append one B64A character to their parent

Rules of this file:
1. Only advertisement records of one effective send set come in; whoever owns it decides which.
2. A summary is a disclosure: a prefix, a count and a root, and nothing else leaves.
3. A record's type has no part in its prefix: 050, "records of different record types with the same digest
   payload prefix are in the same partition".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from lace.facts import Fact
from lace.interlace.merkle import SortedEntries, merkle_root
from lace.text import ALPHABET, encode

STANDARD_START: Final = 2
"""050: "The standard starting `k` is 2"."""
PAYLOAD: Final = 2
"""Where a record id's payload begins."""
FAN_OUT: Final = 64
ADVERTISEMENT_PARTITION: Final = "AdvertisementPartition"
_LARGE: Final = 512
"""From so many records on the sorted entries are kept: sorting fewer is little beside hashing them."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What is said of one partition."""

    prefix: str
    count: int
    root: bytes

    def fact(self) -> Fact:
        """Return the summary as a fact."""
        return ADVERTISEMENT_PARTITION, self.prefix, str(self.count), encode(self.root)


def prefix_of(record: str, length: int) -> str:
    """Return the partition prefix of a record.

    >>> prefix_of("P.DkRkhybHdFhSIYyA~lLfijyfe5iqE6m4lg2z1AFdM9C.H3", 2)
    'Dk'
    """
    return record[PAYLOAD : PAYLOAD + length]


def in_order(prefixes: Iterable[str]) -> list[str]:
    """Sort prefixes so that those of one length in one bucket stand next to each other.

    >>> in_order(["abc", "b", "abb", "ab"])
    ['b', 'ab', 'abb', 'abc']
    """
    return sorted(prefixes, key=lambda prefix: (len(prefix), prefix))


def summarize(prefix: str, entries: Mapping[str, bytes]) -> Summary:
    """Summarize records of one partition that are given whole."""
    return Summary(prefix, len(entries), merkle_root(entries.values()))


Piece = tuple[Mapping[str, bytes], Mapping[str, bytes]]
"""Entries by record of one set, and those of another in the same place."""
Groups = dict[str, dict[str, bytes]]
"""Entries by record, by prefix."""
Touched = dict[str, tuple[list[bytes], list[bytes]]]
"""By bucket, or by the empty prefix for all together: entries that came and entries that went."""


class Partitions:
    """A set of advertisement records by id, with their entries, that answers for every prefix.

    Records lie together while nobody asks about a part of them, then in buckets of two characters. The
    sorted entries of a large partition are kept once its root was asked for, and follow the set. A root
    that was computed or confirmed is remembered until something below its prefix changes; those that only
    `agreeing` looked at, below the buckets, are not.

    Sets that hold the same can hold it together: a bucket is copied before it changes in one of them. Nobody
    changes what others may hold, so a set that is only copied may be copied by many at once.
    """

    __slots__ = ("_buckets", "_deeper", "_kept", "_known", "_mine", "_size", "_together")

    def __init__(self, entries: Mapping[str, bytes] | None = None) -> None:
        self._together: dict[str, bytes] | None = {}
        """All entries, while nothing is in buckets; then no prefix but the empty one is known or kept."""
        self._buckets: dict[str, dict[str, bytes]] = {}
        self._kept: dict[str, SortedEntries] = {}
        self._known: dict[str, Summary] = {}
        self._deeper: dict[str, set[str]] = {}
        """By bucket: the longer prefixes of which something is known."""
        self._size = 0
        self._mine: set[str] | None = None
        """The buckets that nobody else holds, or the empty prefix for all together; None where all are."""
        if entries:
            self.change(entries, ())

    def copy(self) -> Partitions:
        """Return a set of its own that holds the same, and knows as much."""
        other = Partitions()
        other._together, other._buckets = self._together, self._buckets.copy()
        other._kept = {prefix: kept.copy() for prefix, kept in self._kept.items()}
        other._known = self._known.copy()
        other._deeper = {bucket: prefixes.copy() for bucket, prefixes in self._deeper.items()}
        other._size = self._size
        self._mine, other._mine = set(), set()
        return other

    def share(self, other: Partitions, prefixes: Iterable[str]) -> None:
        """Hold what another set has the same of partitions together with it: it takes room once."""
        if self._together is None and other._together is None:
            mine, theirs = self._buckets, other._buckets
            wanted = [prefix for prefix in prefixes if len(prefix) <= STANDARD_START]
            found = (bucket for prefix in wanted for bucket in other._buckets_under(prefix))
            shared = [bucket for bucket in found if mine.get(bucket) == theirs[bucket]]
            for bucket in shared:
                mine[bucket] = theirs[bucket]
        elif self._together is not None and self._together == other._together and "" in prefixes:
            self._together, shared = other._together, [""]
        else:
            return
        for prefix, kept in other._kept.items():
            known = other._known.get(prefix)
            if known is not None and known == self._known.get(prefix):
                self._kept[prefix] = kept.copy()
        for each in (self, other):
            alone = {"", *each._buckets} if each._mine is None else each._mine
            each._mine = alone.difference(shared)

    def _to_change(self, bucket: str, held: dict[str, bytes]) -> dict[str, bytes]:
        """Return what is held in a bucket, or all together, in a dict that nobody else holds."""
        if self._mine is None or bucket in self._mine:
            return held
        self._mine.add(bucket)
        return held.copy()

    @property
    def in_parts(self) -> bool:
        """Whether somebody asked about a part."""
        return self._together is None

    def __len__(self) -> int:
        return self._size

    def __contains__(self, record: str) -> bool:
        return record in self._holding(record)

    def __iter__(self) -> Iterator[str]:
        for held in self._buckets.values() if self._together is None else (self._together,):
            yield from held

    def _holding(self, record: str) -> Mapping[str, bytes]:
        """Return those among which a record is, if it is in the set."""
        return self._buckets.get(record[2:4], {}) if self._together is None else self._together

    def entry_of(self, record: str) -> bytes | None:
        """Return the entry of a record's advertisement, where it is in the set."""
        return self._holding(record).get(record)

    def entries_of(self, records: Sequence[str]) -> dict[str, bytes]:
        """Return the entries of those records that are in the set, by id."""
        if self._together is not None:
            held = self._together
            return {record: held[record] for record in records if record in held}
        found: dict[str, bytes] = {}
        bucket = self._buckets.get
        for record in records:
            inside = bucket(record[2:4])
            if inside is not None and record in inside:
                found[record] = inside[record]
        return found

    def change(self, added: Mapping[str, bytes], removed: Iterable[str]) -> None:
        """Take records out, then put others in; one that is there already is put in anew."""
        if self._together is None:
            touched = self._change_buckets(added, removed)
        else:
            touched = self._change_together(self._together, added, removed)
        self._forget(touched)
        if self._kept:
            self._follow(touched)

    def _change_together(
        self, held: dict[str, bytes], added: Mapping[str, bytes], removed: Iterable[str]
    ) -> Touched:
        gone = {record for record in removed if record in held}
        if not added and not gone:
            return {}
        held = self._together = self._to_change("", held)
        went = [held.pop(record) for record in gone]
        if held:
            went += [held[record] for record in held.keys() & added.keys()]
        held.update(added)
        self._size = len(held)
        return {"": ([*added.values()], went)}

    def part(self) -> None:
        """Put everything into buckets: somebody asks about a part."""
        if self._together is not None:
            held, self._together, self._size = self._together, None, 0
            self._change_buckets(held, ())

    def _change_buckets(self, added: Mapping[str, bytes], removed: Iterable[str]) -> Touched:
        touched: Touched = {}
        for record in removed:
            self._take(record, touched)
        groups: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
        for record, entry in added.items():
            groups[record[2:4]][record] = entry
        for bucket, group in groups.items():
            came, went = touched.setdefault(bucket, ([], []))
            came += group.values()
            held = self._buckets.get(bucket)
            if held is None:
                self._buckets[bucket] = group
                if self._mine is not None:
                    self._mine.add(bucket)
                self._size += len(group)
                continue
            held = self._buckets[bucket] = self._to_change(bucket, held)
            went += [held[record] for record in group if record in held]
            self._size -= len(held)
            held.update(group)
            self._size += len(held)
        return touched

    def _take(self, record: str, touched: Touched) -> None:
        bucket = record[2:4]
        held = self._buckets.get(bucket, {})
        if record not in held:
            return
        held = self._buckets[bucket] = self._to_change(bucket, held)
        entry = held.pop(record)
        self._size -= 1
        if not held:
            del self._buckets[bucket]
        touched.setdefault(bucket, ([], []))[1].append(entry)

    def _forget(self, touched: Iterable[str]) -> None:
        """Forget the roots above and below what changed."""
        for bucket in touched if self._known else ():
            for length in range(STANDARD_START + 1):
                self._known.pop(bucket[:length], None)
            for prefix in self._deeper.pop(bucket, ()):
                self._known.pop(prefix, None)

    def _follow(self, touched: Touched) -> None:
        """Bring the sorted entries that are kept up to date."""
        for length in range(STANDARD_START + 1 if self._together is None else 1):
            merged: Touched = {}
            for bucket, (came, went) in touched.items():
                if bucket[:length] in self._kept:
                    both = merged.setdefault(bucket[:length], ([], []))
                    both[0].extend(came)
                    both[1].extend(went)
            for prefix, (came, went) in merged.items():
                fleeting = set(came) & set(went)
                self._kept[prefix].change(
                    [each for each in came if each not in fleeting],
                    [each for each in went if each not in fleeting],
                )

    def under(self, prefix: str) -> dict[str, bytes]:
        """Return the entries of all records of a partition, by id; they are not to be changed."""
        if self._together is not None:
            if not prefix:
                return self._together
            self.part()
        if len(prefix) == STANDARD_START:
            return self._buckets.get(prefix, {})
        if len(prefix) > STANDARD_START:
            end = PAYLOAD + len(prefix)
            held = self._buckets.get(prefix[:STANDARD_START], {})
            return {record: entry for record, entry in held.items() if record[PAYLOAD:end] == prefix}
        found: dict[str, bytes] = {}
        for bucket in self._buckets_under(prefix):
            found.update(self._buckets[bucket])
        return found

    def _buckets_under(self, prefix: str) -> Iterable[str]:
        """Return the buckets of a partition that is not smaller than one."""
        if not prefix:
            return self._buckets
        wanted = [prefix + each for each in ALPHABET] if len(prefix) < STANDARD_START else [prefix]
        return filter(self._buckets.__contains__, wanted)

    def _entries_under(self, prefix: str) -> Iterable[bytes]:
        """Return the entries of a partition that is not smaller than a bucket."""
        if self._together is not None:
            return self.under(prefix).values()
        held = (self._buckets[bucket].values() for bucket in self._buckets_under(prefix))
        return chain.from_iterable(held)

    def under_each(self, prefixes: Iterable[str]) -> Iterator[dict[str, bytes]]:
        """Yield what is under each of some prefixes.

        A bucket is taken apart once for all prefixes in it that stand next to each other: see `in_order`.
        """
        at: tuple[str, int] | None = None
        groups: Groups = {}
        for prefix in prefixes:
            if len(prefix) <= STANDARD_START:
                yield self.under(prefix)
                continue
            bucket = prefix[:STANDARD_START]
            if at != (bucket, len(prefix)):
                at = (bucket, len(prefix))
                groups = _group(self.under(bucket), len(prefix))
            yield groups.get(prefix, {})

    def pieces(self, other: Partitions, prefixes: Iterable[str]) -> Iterator[Piece]:
        """Yield what this set and another one hold of some partitions, side by side as they are kept.

        Nothing is put together for it where both are in buckets, so that comparing two large sets costs a
        comparison and no copies.
        """
        deep: list[str] = []
        for prefix in prefixes:
            if len(prefix) > STANDARD_START:
                deep.append(prefix)
            elif len(prefix) == STANDARD_START or self._together is not None or other._together is not None:
                yield self.under(prefix), other.under(prefix)
            else:
                for bucket in {*self._buckets_under(prefix), *other._buckets_under(prefix)}:
                    yield self._buckets.get(bucket, {}), other._buckets.get(bucket, {})
        yield from zip(self.under_each(deep), other.under_each(deep), strict=True)

    def learn_from(self, other: Partitions) -> None:
        """Take over the root over everything, where another set has it at hand and holds the same."""
        known = other.known("")
        if known is None or "" in self._known or known.count != len(self):
            return
        if all(here == there for here, there in self.pieces(other, ("",))):
            self.learn(known, other)

    def agreeing(self, wanted: Sequence[Summary]) -> list[Summary]:
        """Return those of some summaries that this set gives.

        A partition of another size is not even hashed.
        """
        found: list[Summary] = []
        deep: list[Summary] = []
        for each in wanted:
            if len(each.prefix) > STANDARD_START:
                deep.append(each)
            # Counted first: one that is large takes its time to be put together.
            elif self.count(each.prefix) == each.count and self.summary(each.prefix) == each:
                found.append(each)
        for each, entries in zip(deep, self.under_each([each.prefix for each in deep]), strict=True):
            if len(entries) == each.count and summarize(each.prefix, entries) == each:
                found.append(each)
        return found

    def records(self, prefix: str) -> list[str]:
        """Return the records of a partition, sorted."""
        return sorted(self.under(prefix))

    def learn(self, summary: Summary, like: Partitions | None = None) -> None:
        """Take over the summary of a partition whose records were just found to give it.

        Where another set holds the same there and keeps it sorted, that is taken over too: whoever asks for
        the root after the next change then neither sorts nor hashes what did not change.
        """
        if summary.prefix:
            self.part()
        if like is not None and summary.prefix in like._kept:
            self._kept[summary.prefix] = like._kept[summary.prefix].copy()
        self._known[summary.prefix] = summary
        if len(summary.prefix) > STANDARD_START:
            self._deeper.setdefault(summary.prefix[:STANDARD_START], set()).add(summary.prefix)

    def known(self, prefix: str) -> Summary | None:
        """Return the summary of a partition where it is at hand."""
        return self._known.get(prefix)

    def summary(self, prefix: str) -> Summary:
        """Return the summary of a partition, which may be empty."""
        known = self._known.get(prefix)
        if known is None:
            kept = self._kept.get(prefix)
            if kept is None and len(prefix) <= STANDARD_START and self.count(prefix) >= _LARGE:
                kept = self._kept[prefix] = SortedEntries(self._entries_under(prefix))
            if kept is None:
                known = summarize(prefix, self.under(prefix))
            else:
                known = Summary(prefix, len(kept), kept.root())
            self.learn(known)
        return known

    def count(self, prefix: str) -> int:
        """Return how many records a partition has, without hashing anything."""
        if not prefix:
            return self._size
        self.part()
        if len(prefix) >= STANDARD_START:
            return len(self.under(prefix))
        return sum([len(self._buckets[bucket]) for bucket in self._buckets_under(prefix)])

    def counts(self, prefixes: Sequence[str]) -> list[int]:
        """Return how many records each of some partitions has; quick for many that are `in_order`."""
        deep = self.under_each([prefix for prefix in prefixes if len(prefix) > STANDARD_START])
        return [
            len(next(deep)) if len(prefix) > STANDARD_START else self.count(prefix) for prefix in prefixes
        ]

    def prefixes(self, length: int) -> set[str]:
        """Return the prefixes of this length that are not empty."""
        if not length:
            return {""} if self._size else set()
        self.part()
        if length <= STANDARD_START:
            return {bucket[:length] for bucket in self._buckets}
        return {prefix_of(record, length) for record in self}

    def child_prefixes(self, parents: Sequence[str]) -> set[str]:
        """Return the prefixes of all children of some partitions that are not empty."""
        self.part()
        found: set[str] = set()
        for parent in parents:
            if len(parent) < STANDARD_START:
                found.update(bucket[: len(parent) + 1] for bucket in self._buckets_under(parent))
        deep = [parent for parent in in_order(parents) if len(parent) >= STANDARD_START]
        for parent, held in zip(deep, self.under_each(deep), strict=True):
            found.update(prefix_of(record, len(parent) + 1) for record in held)
        return found

    def summaries(self, length: int = STANDARD_START) -> list[Summary]:
        """Return one summary for each non-empty partition of a prefix length, sorted by prefix."""
        if length <= STANDARD_START:
            return [self.summary(prefix) for prefix in sorted(self.prefixes(length))]
        buckets = sorted(self.prefixes(STANDARD_START))
        groups = (_group(self.under(bucket), length) for bucket in buckets)
        return [summary for each in groups for summary in _summarize_groups(each)]

    def children(self, parents: Sequence[str]) -> Iterator[list[Summary]]:
        """Yield, for each of some partitions, a summary of each child that is not empty, sorted by prefix.

        Quick for many that are `in_order`.
        """
        if parents:
            self.part()
        deep = self.under_each([parent for parent in parents if len(parent) >= STANDARD_START])
        for parent in parents:
            if len(parent) < STANDARD_START:
                yield [self.summary(prefix) for prefix in sorted(self.child_prefixes([parent]))]
            else:
                yield _summarize_groups(_group(next(deep), len(parent) + 1))


def _group(entries: Mapping[str, bytes], length: int) -> Groups:
    """Put entries together by prefixes of this length."""
    groups: Groups = {}
    end = PAYLOAD + length
    for record, entry in entries.items():
        prefix = record[PAYLOAD:end]
        if prefix in groups:
            groups[prefix][record] = entry
        else:
            groups[prefix] = {record: entry}
    return groups


def _summarize_groups(groups: Groups) -> list[Summary]:
    return [summarize(prefix, groups[prefix]) for prefix in sorted(groups)]
