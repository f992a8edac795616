"""A history that lives as long as its process: notes in lists, and questions answered by reading them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from threading import Lock

from lace.drive.history import (
    Account,
    Agreement,
    Batch,
    Beginning,
    Came,
    Ending,
    ExchangeEntry,
    ExchangeNumber,
    Leaving,
    Left,
    NoSuchExchange,
    Note,
    Passage,
    Rejected,
    Stayed,
    Sums,
    Wanted,
    Way,
)
from lace.stores import id_prefixes
from lace.text import RecordId, Tai


class MemoryHistory:
    """Notes of exchanges, in memory."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._exchanges: dict[int, tuple[Beginning, list[Note]]] = {}
        self._begun = 0
        self._forgotten_until: Tai | None = None

    def begin(self, beginning: Beginning) -> ExchangeNumber:
        """Give a new exchange its number."""
        with self._lock:
            self._begun += 1
            self._exchanges[self._begun] = beginning, []
            return ExchangeNumber(self._begun)

    def note(self, number: ExchangeNumber, notes: Sequence[Note], *, durable: bool = False) -> None:
        """Keep notes of an exchange; memory is as durable as it gets."""
        with self._lock:
            self._exchanges[number][1].extend(notes)

    def exchanges(self, wanted: Wanted | None = None) -> Iterator[ExchangeEntry]:
        """Yield exchanges, the newest first."""
        wanted = wanted or Wanted()
        numbers = sorted(self._exchanges, reverse=True)
        entries = (self.exchange(number).entry for number in numbers)
        return islice(filter(wanted.includes, entries), wanted.limit)

    def exchange(self, number: int, *, records: bool = True) -> Account:
        """Return an exchange in full, or without what moved in it."""
        if number not in self._exchanges:
            raise NoSuchExchange(number=number)
        beginning, notes = self._exchanges[number]
        account = _account(ExchangeNumber(number), beginning, list(notes))
        return account if records else Account(account.entry, account.agreements)

    def passages(self, record: str) -> list[Passage]:
        """Return every time that a record left, came, or was asked for in vain, the oldest first."""
        found: list[Passage] = []
        for number, (_, notes) in list(self._exchanges.items()):
            found += _passages(ExchangeNumber(number), list(notes), record)
        return found

    def find(self, prefix: str, limit: int = 10) -> list[RecordId]:
        """Return up to `limit` ids that begin so, of whatever moved or was asked for in vain."""
        starts = id_prefixes(prefix)
        noted = [note for _, notes in list(self._exchanges.values()) for note in list(notes)]
        found = {RecordId(each) for note in noted for each in _ids(note) if each.startswith(starts)}
        return sorted(found)[:limit]

    def forgotten_until(self) -> Tai | None:
        """Return when the newest was noted of what was forgotten; None where nothing was."""
        return self._forgotten_until

    def forget_before(self, time: Tai) -> int:
        """Forget what was noted before a time."""
        with self._lock:
            over = [
                number
                for number, (_, notes) in self._exchanges.items()
                if any(isinstance(note, Ending) and note.at < time for note in notes)
            ]
            goes = Leaving | Came | Stayed | Rejected | Ending
            noted = [n.at for _, notes in self._exchanges.values() for n in notes if isinstance(n, goes)]
            newest = max((at for at in noted if at < time), default=None)
            if newest is not None:
                self._forgotten_until = max(newest, self._forgotten_until or newest)
            for number in over:
                del self._exchanges[number]
            for _, notes in self._exchanges.values():
                notes[:] = _noted_since(notes, time)
            return len(over)

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""


def _ids(note: Note) -> tuple[str, ...]:
    """Return the records that a note names."""
    match note:
        case Leaving() | Came() | Stayed():
            return note.records
        case Rejected():
            return (note.record,)
    return ()


def _noted_since(notes: list[Note], time: Tai) -> list[Note]:
    """Return notes without those of records that were made before a time."""
    moved = [note for note in notes if isinstance(note, Leaving | Came | Stayed | Rejected)]
    old = {id(note) for note in moved if note.at < time}
    batches = {note.batch for note in moved if isinstance(note, Leaving) and id(note) in old}
    return [n for n in notes if id(n) not in old and not (isinstance(n, Left) and n.batch in batches)]


def _account(number: ExchangeNumber, beginning: Beginning, notes: list[Note]) -> Account:
    """Tell an exchange from its notes."""
    agreements = tuple(note for note in notes if isinstance(note, Agreement))
    ending = next((note for note in notes if isinstance(note, Ending)), None)
    sums = ending.sums if ending else next((n for n in reversed(notes) if isinstance(n, Sums)), Sums())
    last = agreements[-1] if agreements else None
    batches = tuple(_batches(notes))
    rejections = tuple(note for note in notes if isinstance(note, Rejected))

    def count(way: Way) -> int:
        return sum(len(batch.records) for batch in batches if batch.way is way)

    entry = ExchangeEntry(
        number=number,
        began=beginning.at,
        ended=None if ending is None else ending.at,
        address=beginning.address,
        peer=None if last is None else last.peer,
        viewer=None if last is None else last.viewer,
        plans=tuple(dict.fromkeys(each.plan for each in agreements)),
        cause=None if ending is None else ending.cause,
        error_code=None if ending is None else ending.error_code,
        words=None if ending is None else ending.words,
        sums=sums,
        left=count(Way.LEFT),
        may_have_left=count(Way.MAY_HAVE_LEFT),
        came=count(Way.CAME),
        rejected=len(rejections),
        not_available=count(Way.NOT_AVAILABLE),
        deferred=count(Way.DEFERRED),
        held_back=count(Way.HELD_BACK),
    )
    return Account(entry, agreements, batches, rejections)


def _batches(notes: Iterable[Note]) -> Iterator[Batch]:
    gone = {note.batch: note for note in notes if isinstance(note, Left)}
    for note in notes:
        match note:
            case Leaving():
                left = gone.get(note.batch)
                way = Way.MAY_HAVE_LEFT if left is None else Way.LEFT
                records = note.records if left is None else left.records
                yield Batch(way, note.at, note.epoch, note.loop, records)
            case Came():
                yield Batch(Way.CAME, note.at, note.epoch, note.loop, note.records)
            case Stayed():
                yield Batch(Way(note.why.value), note.at, note.epoch, 0, note.records)


def _passages(number: ExchangeNumber, notes: list[Note], record: str) -> Iterator[Passage]:
    gone = {note.batch: note for note in notes if isinstance(note, Left)}
    for note in notes:
        match note:
            case Leaving():
                left = gone.get(note.batch)
                if record in (note.records if left is None else left.records):
                    way = Way.MAY_HAVE_LEFT if left is None else Way.LEFT
                    yield Passage(number, way, note.at, note.epoch, note.loop, note.tick, note.version)
            case Came() if record in note.records:
                yield Passage(number, Way.CAME, note.at, note.epoch, note.loop)
            case Stayed() if record in note.records:
                yield Passage(number, Way(note.why.value), note.at, note.epoch)
            case Rejected() if record == note.record:
                yield Passage(
                    number,
                    Way.REJECTED,
                    note.at,
                    note.epoch,
                    note.loop,
                    error_code=note.error_code,
                    words=note.words,
                )
