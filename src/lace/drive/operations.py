"""Operation wrappers: get, list and store as ordinary policy (050, Operation wrappers).

    open interlace   keep an exchange open, deliver what arrives and matches
    get one record   select the coordinate, interlace, return the newest
    list records     select by place and time, interlace, return all
    store records    select exactly these, interlace, report what was sent

"They do not add transfer commands or wire messages": an operation is a selector that is composed with what is
in force anyway, and a way to read the store or the result afterwards.

Rules of this file:
1. A wrapper only narrows: it is one more constraint beside the active ones.
2. What it hands out comes from validated records in our own store, never from what a peer claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lace.drive.observed import Observed, Observer, RecordArrived
from lace.drive.side import Side
from lace.facts import write_constant
from lace.interlace import Finish, InterlaceResult, nanoseconds
from lace.policy import Module, compose_selectors, read_module
from lace.record import Record, Seal
from lace.stores import Store
from lace.text import RecordId


@dataclass(frozen=True, slots=True)
class Place:
    """Where records lie; an empty part means any."""

    group: str = ""
    app: str = ""
    name: str = ""

    def fields(self) -> list[tuple[str, str]]:
        """Return the parts that are given, by field name."""
        parts = (("Group", self.group), ("App", self.app), ("Name", self.name))
        return [(field, value) for field, value in parts if value]

    def holds(self, record: Record) -> bool:
        """Tell whether a record lies there."""
        plex = record.plex if isinstance(record, Seal) else record
        return all(getattr(plex, field.lower(), None) == value for field, value in self.fields())


def select_place(place: Place) -> Module:
    """Return the selector of the records that lie in a place.

    >>> print(select_place(Place("u")))
    SelectAdvertised(P,S) :- Advertised(P,S), AdvertisedField(P,S,'Group',_,'u').
    SelectHave(P) :- Have(P), Field(P,'Group',_,'u').
    """
    have, said = ["Have(P)"], ["Advertised(P,S)"]
    for field, value in place.fields():
        have.append(f"Field(P,'{field}',_,{write_constant(value)})")
        said.append(f"AdvertisedField(P,S,'{field}',_,{write_constant(value)})")
    return read_module(f"SelectHave(P) :- {', '.join(have)}.\nSelectAdvertised(P,S) :- {', '.join(said)}.")


def select_records(records: Iterable[RecordId]) -> Module:
    """Return the selector of exactly these records."""
    wanted = "\n".join(f"Chosen({write_constant(record)}) :- true." for record in sorted(set(records)))
    rules = "SelectHave(P) :- Have(P), Chosen(P).\nSelectAdvertised(P,S) :- Advertised(P,S), Chosen(P).\n"
    return read_module(rules + wanted)


def with_operation(active: Module, operation: Module) -> Module:
    """Return the operand of a side that does something besides: what both select."""
    return compose_selectors([active, operation]).module


def get_one(store: Store, place: Place) -> Record | None:
    """Return the newest record of a place after an exchange; None where there is none."""
    if place.group and place.app and place.name:
        found = store.newest(place.group, place.app, place.name)
        return None if found is None else store.get(found)
    return max(list_all(store, place), key=_time, default=None)


def list_all(store: Store, place: Place) -> list[Record]:
    """Return all records of a place after an exchange, oldest first."""
    records = (store.get(record) for _, record in store.ids())
    return sorted((record for record in records if place.holds(record)), key=_time)


def _time(record: Record) -> tuple[str, str]:
    plex = record.plex if isinstance(record, Seal) else record
    return str(getattr(plex, "tai", "")), record.id


def deliver_matching(store: Store, place: Place, deliver: Callable[[Record], None]) -> Observer:
    """Return what watches an open exchange and delivers each newly stored record that lies in a place."""

    def watch(observed: Observed) -> None:
        if isinstance(observed, RecordArrived):
            record = store.get(RecordId(observed.record_id))
            if place.holds(record):
                deliver(record)

    return watch


def finish_after_ticks(side: Side, ticks: int) -> bool:
    """Close an open exchange at its next fixed point once so many ticks are over; tell whether they are.

    050: "An API MAY expose an option for a bounded exchange to wait for one or more ticks before closing, but
    that is a wrapper close condition." Whoever drives the side asks after every step. Ticks go by only where
    a rule reads them.
    """
    if side.result is not None:
        return True
    agreed = side.machine.exchange.epoch.agreed
    if agreed is None:
        return False
    passed = nanoseconds(agreed.ticks.current) - nanoseconds(agreed.ticks.start)
    if passed < ticks * agreed.ticks.interval:
        return False
    side.feed(Finish())
    return True


@dataclass(frozen=True, slots=True)
class StoreReport:
    """What became of records that were to be stored at a peer."""

    sent: tuple[str, ...]
    held_back: tuple[str, ...]
    """The peer asked, and they could not or must not be sent."""
    not_wanted: tuple[str, ...]
    """The peer has them already, or its policy does not ask for them."""
    complete: bool


def report_store(records: Iterable[RecordId], result: InterlaceResult) -> StoreReport:
    """Say what became of records, from the result of the exchange."""
    wanted = list(dict.fromkeys(records))
    sent, held_back = set(result.sent_hashes), set(result.held_back_hashes)
    return StoreReport(
        tuple(record for record in wanted if record in sent),
        tuple(record for record in wanted if record in held_back),
        tuple(record for record in wanted if record not in sent | held_back),
        result.complete,
    )
