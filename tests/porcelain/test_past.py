"""A state of a store is found again, or nobody claims to know it."""

from __future__ import annotations

from lace.datalog import compile_program, parse_program
from lace.facts import Predicate
from lace.porcelain import Lace
from lace.porcelain.past import note_state, records_at
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
    assert then.generation == f"{store.version().generation}/{A.id}"
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


def test_a_number_that_another_record_has_is_of_another_state() -> None:
    then, store = note_state(stocked(A, B)), stocked(A, C)
    same = then._replace(generation=then.generation.replace(then.generation[:32], store.version().generation))
    assert had(store, same) == ({A.id, C.id}, None)
    assert had(store, then) == ({A.id, C.id}, None)


def test_a_state_that_was_noted_by_its_number_alone_is_found_by_that() -> None:
    store = stocked(A, B)
    assert had(store, Version(store.version().generation, 1)) == ({A.id}, 0)
    assert had(store, None) == ({A.id, B.id}, None)


def test_a_store_in_which_nothing_ever_was_is_noted_as_it_is() -> None:
    store = stocked()
    assert note_state(store) == store.version()
    Lace(store).put_records([A])
    assert had(store, Version(store.version().generation, 0)) == (set(), 0)
