"""A state of a store is found again, or nobody claims to know it."""

from __future__ import annotations

import pytest

from lace.datalog import compile_program, parse_program
from lace.facts import Predicate
from lace.porcelain import Lace
from lace.porcelain.past import LATEST, note_state, records_at
from lace.record import Record, make_blob
from lace.stores import Store, Version

A, B, C = map(make_blob, (b"a", b"b", b"c"))
HAD = compile_program(parse_program("Had(P) :- Have(P)."))


def stocked(*records: Record) -> Store:
    lace = Lace()
    for record in records:
        lace.put_records([record])
    return lace.store


def had(store: Store, version: Version | None) -> tuple[set[str], int | None]:
    past = records_at(store, version)
    rows = past.database.evaluate(HAD).result().facts(Predicate("Had", 1))
    return {record for (record,) in rows}, past.lost


def test_what_came_later_is_left_out() -> None:
    store = stocked(A)
    then = note_state(store)
    assert then.generation.startswith(f"{store.version().generation}/")
    Lace(store).put_records([B])
    assert had(store, then) == ({A.id}, 0)
    store.remove([A.id])
    assert had(store, then) == (set(), 1)


def test_a_removal_is_the_last_of_a_state_too() -> None:
    store = stocked(A, B)
    store.remove([A.id])
    then = note_state(store)
    store.remove([B.id])
    assert had(store, then) == (set(), 1)


def as_of(store: Store, then: Version) -> Version:
    """Return a state as it would have been noted of a store of that generation."""
    return then._replace(generation=f"{store.version().generation}/{then.generation.partition('/')[2]}")


@pytest.mark.parametrize("came", [(A, C), (C, B), (C, A, B)])
def test_numbers_that_other_records_have_are_of_another_state(came: tuple[Record, ...]) -> None:
    then, store = note_state(stocked(A, B)), stocked(*came)
    here = {record.id for record in came}
    assert had(store, as_of(store, then)) == (here, None)
    assert had(store, then) == (here, None), "another generation"


def test_the_same_once_more_is_the_same_state() -> None:
    then, store = note_state(stocked(A, B)), stocked(A, B, C)
    assert had(store, as_of(store, then)) == ({A.id, B.id}, 0)


def test_of_a_long_log_the_end_is_looked_at() -> None:
    many = [make_blob(b"%d" % number) for number in range(LATEST + 10)]
    store = stocked(*many)
    then = note_state(store)
    Lace(store).put_records([A])
    assert had(store, then) == ({record.id for record in many}, 0)
    other = stocked(*many[:-LATEST], B, *many[1 - LATEST :])
    assert had(other, as_of(other, then))[1] is None


def test_a_state_that_was_noted_by_its_number_alone_is_found_by_that() -> None:
    store = stocked(A, B)
    assert had(store, Version(store.version().generation, 1)) == ({A.id}, 0)
    assert had(store, None) == ({A.id, B.id}, None)


def test_a_store_in_which_nothing_ever_was_has_a_state_too() -> None:
    store = stocked()
    then = note_state(store)
    Lace(store).put_records([A])
    assert had(store, then) == (set(), 0)
