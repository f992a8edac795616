"""The store that every store is compared with: dictionaries, and nothing clever."""

from __future__ import annotations

from collections.abc import Iterable

from lace.facts import RECORD_PREDICATES, Fact, facts_of_record
from lace.record import Record, inner_records
from lace.stores import Added, LogEntry, Outcome, Refused, Removed, Store, Stored, StoreRecordId
from lace.text import RecordId


class Model:
    """What a store must contain."""

    def __init__(self, *, admit_inner: bool = False) -> None:
        self.admit_inner = admit_inner
        self.log: list[LogEntry] = []
        self.records: dict[RecordId, Record] = {}
        self.numbers: dict[RecordId, StoreRecordId] = {}
        self.forgotten: set[RecordId] = set()

    def copy(self) -> Model:
        """Return a copy that goes its own way."""
        other = Model(admit_inner=self.admit_inner)
        other.log, other.records, other.numbers = list(self.log), dict(self.records), dict(self.numbers)
        other.forgotten = set(self.forgotten)
        return other

    def put(self, records: Iterable[Record]) -> list[Outcome]:
        """Store records that arrive."""
        given = list(records)
        outcomes = [self._put_one(record) for record in given]
        if self.admit_inner:
            for record in given:
                for inner in inner_records(record):
                    if record.id not in self.forgotten:
                        self._put_one(inner)
        return outcomes

    def _put_one(self, record: Record) -> Outcome:
        if record.id in self.forgotten:
            return Refused(record.id)
        new = record.id not in self.records
        if new:
            self.records[record.id] = record
            self.numbers[record.id] = StoreRecordId(len(self.log) + 1)
            self.log.append(Added(len(self.log) + 1, record.id))
        return Stored(record.id, self.numbers[record.id], new)

    def remove(self, record_ids: Iterable[RecordId]) -> None:
        """Take records away, the oldest first."""
        for record_id in sorted(set(record_ids) & set(self.records), key=self.numbers.__getitem__):
            del self.records[record_id]
            del self.numbers[record_id]
            self.log.append(Removed(len(self.log) + 1, record_id))

    def forget(self, record_ids: Iterable[RecordId]) -> None:
        """Take records away and keep them out."""
        ids = list(record_ids)
        self.remove(ids)
        self.forgotten.update(ids)

    def allow(self, record_ids: Iterable[RecordId]) -> None:
        """Let records in again."""
        self.forgotten.difference_update(record_ids)

    def facts(self) -> set[Fact]:
        """Return every fact of what is stored."""
        return {fact for record in self.records.values() for fact in facts_of_record(record)}

    def is_in(self, store: Store) -> bool:
        """Tell whether the store is in this state, as far as its log, ids and forgotten records say."""
        return (
            list(store.log()) == self.log
            and list(store.ids()) == [(number, record_id) for record_id, number in self.numbers.items()]
            and store.forgotten() == sorted(self.forgotten)
        )


def facts_by_segments(store: Store) -> list[Fact]:
    """Return the facts of all segments."""
    return [fact for segment in store.segments() for fact in segment.facts()]


def facts_by_iterate(store: Store) -> list[Fact]:
    """Return the facts by asking predicate after predicate."""
    return [(p.name, *values) for p in RECORD_PREDICATES for values in store.iterate(*p)]


def facts_by_query(store: Store) -> list[Fact]:
    """Return the facts by asking record after record."""
    return [
        (p.name, *values)
        for _, record_id in store.ids()
        for p in RECORD_PREDICATES
        for values in store.query(*p, record_id)
    ]


def check_agrees(store: Store, model: Model) -> None:
    """Compare everything that the port lets one see."""
    assert model.is_in(store), (list(store.log()), model.log)
    assert store.version().last == len(model.log)
    for record_id, record in model.records.items():
        assert store.has(record_id)
        assert store.get(record_id).raw == record.raw
    facts = sorted(model.facts())
    assert sorted(facts_by_segments(store)) == facts
    assert sorted(facts_by_iterate(store)) == facts
    assert sorted(facts_by_query(store)) == facts
    for predicate in RECORD_PREDICATES:
        assert store.count(*predicate) == sum(fact[0] == predicate.name for fact in facts)
    numbers = [number for segment in store.segments() for number in segment.store_ids]
    assert numbers == list(model.numbers.values())
