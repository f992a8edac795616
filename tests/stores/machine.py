"""Random steps on a store and on the model, which must agree after each of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lace.record import make_blob
from lace.stores import Forgotten, Store
from lace.text import RecordId
from tests.stores.model import Model, check_agrees
from tests.stores.samples import sample

NUMBERS = st.integers(0, 15)
CHOICES = st.lists(NUMBERS, max_size=6)


class StoreMachine(RuleBasedStateMachine):
    """Steps in any order, on a store and on the model."""

    store: Store
    opened = False

    def __init__(self, open_store: Callable[[bool], Store], *, durable: bool) -> None:
        super().__init__()
        self.open_store = open_store
        """Opens the store of this run, with or without `admit_inner`."""
        self.durable = durable
        self.model = Model()

    def _ids(self, numbers: list[int]) -> list[RecordId]:
        return [sample(number).id for number in numbers]

    @initialize(admit_inner=st.booleans(), before=st.sampled_from((515, 0, 505)))
    def begin(self, admit_inner: bool, before: int) -> None:
        self.model = Model(admit_inner=admit_inner)
        self.store = self.open_store(admit_inner)
        self.opened = True
        # Enough to be just below, or above, where a store may begin to keep facts in another way.
        records = [make_blob(b"%d" % n) for n in range(before)]
        assert self.store.put_many(records) == self.model.put(records)

    @rule(number=NUMBERS)
    def put(self, number: int) -> None:
        record = sample(number)
        if record.id in self.model.forgotten:
            with pytest.raises(Forgotten):
                self.store.put(record)
        else:
            assert [self.store.put(record)] == self.model.put([record])

    @rule(numbers=CHOICES)
    def put_many(self, numbers: list[int]) -> None:
        records = [sample(number) for number in numbers]
        assert self.store.put_many(records, arriving=True) == self.model.put(records)

    @rule(numbers=CHOICES)
    def remove(self, numbers: list[int]) -> None:
        there = set(self.model.records)
        assert set(self.store.remove(self._ids(numbers))) == there & set(self._ids(numbers))
        self.model.remove(self._ids(numbers))

    @rule(start=st.integers(0, 500))
    def remove_early(self, start: int) -> None:
        ids = [entry.record_id for entry in self.model.log[start : start + 8]]
        self.store.remove(ids)
        self.model.remove(ids)

    @rule(numbers=CHOICES)
    def forget(self, numbers: list[int]) -> None:
        self.store.forget(self._ids(numbers))
        self.model.forget(self._ids(numbers))

    @rule(numbers=CHOICES)
    def allow(self, numbers: list[int]) -> None:
        there = self.model.forgotten & set(self._ids(numbers))
        assert set(self.store.allow(self._ids(numbers))) == there
        self.model.allow(self._ids(numbers))

    @rule()
    def verify(self) -> None:
        assert self.store.verify().sound
        check_agrees(self.store, self.model)

    @precondition(lambda self: self.durable)
    @rule()
    def open_again(self) -> None:
        self.store.close()
        self.store = self.open_store(self.model.admit_inner)

    @invariant()
    def agrees(self) -> None:
        if self.opened:
            assert self.model.is_in(self.store)

    def teardown(self) -> None:
        if self.opened:
            check_agrees(self.store, self.model)
            self.store.close()
