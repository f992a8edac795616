"""Notes what happens in one exchange: events go in, a history gets notes (docs/design/history.md).

    notes = ExchangeNotes(history, now, address=…, in_force=…, version=store.version)
    Side(settings, host, moment, observe=notes)      or      Party(settings, host, notes)

Rules of this file:
1. What is about to leave is on the disk before the call returns, or the call raises, and it does not leave.
2. Everything else may wait, and no exchange fails because of it: it is tried again with the next note.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from lace.drive.history import (
    NOT_NOTED,
    Agreement,
    Beginning,
    Came,
    Ending,
    ExchangeNumber,
    History,
    HistoryReplaced,
    InForce,
    Leaving,
    Left,
    Note,
    NotNoted,
    Rejected,
    Stay,
    Stayed,
    Sums,
)
from lace.drive.observed import (
    ExchangeEnded,
    Observed,
    PlanChanged,
    RecordArrived,
    RecordRejected,
    RecordsAsked,
    RecordsLeaving,
    RecordsLeft,
    RoundEnded,
)
from lace.errors import StoreError
from lace.interlace import InterlaceResult, told_error
from lace.stores import Version
from lace.text import Tai, Verifier

WAITING_RECORDS: Final = 1000
"""From so many arrivals on they are noted, and those of one commit together."""
STAYED_RECORDS: Final = 10_000
"""So many records that did not move are noted of one exchange, and so many that were rejected: a peer can
make up any number of them, round after round, and must not fill the disk."""


class ExchangeNotes:
    """Watches one exchange."""

    def __init__(
        self,
        history: History,
        now: Callable[[], Tai],
        *,
        address: str | None = None,
        in_force: Callable[[str], InForce] | None = None,
        version: Callable[[], Version] | None = None,
        report: Callable[[StoreError], None] | None = None,
        began: Tai | None = None,
    ) -> None:
        """Note an exchange that begins now, or at `began`, where that is known elsewhere too.

        `in_force` says what of our policy has a say about a viewer, `version` in which state our store is,
        and `report` is told when notes cannot be kept.
        """
        self._history = history
        self._now = now
        self._in_force = in_force
        self._version = version
        self._report = report
        self._beginning = Beginning(began or now(), address)
        self._waiting: list[Note] = []
        self._agreements: list[Agreement] = []
        self._leaving: Leaving | None = None
        self._under_way: dict[int, tuple[ExchangeNumber | None, Leaving]] = {}
        """The batches that are leaving, by part: under which number of the exchange each was noted, and the
        batch without its records."""
        self._decided: Version | None = None
        self._arrived: list[str] = []
        self._arrived_loop = 0
        self._epoch = 0
        self._batches = 0
        self._stayed: set[tuple[Stay, str]] = set()
        self._rejected = 0
        self._done = Sums()
        self.number: ExchangeNumber | None = None
        """Under which the history has this exchange; None before there is anything to say about it."""
        self.fault: StoreError | None = None
        """Why the last notes could not be kept; None where all are."""

    def __call__(self, observed: Observed) -> None:
        """Take in what happened; `NotNoted` is raised where records are about to leave and must not."""
        match observed:
            case RecordArrived(record, loop):
                self.arrive((record,), loop)
            case PlanChanged():
                self._epoch = observed.epoch
                agreement = self._agreement(observed)
                self._agreements.append(agreement)
                self._write(agreement, durable=True)
            case RecordsAsked():
                # All batches of a response are decided in one evaluation, which comes right after this.
                self._decided = observed.version or self._store_version()
            case RecordsLeaving():
                self._leave(observed)
            case RecordsLeft(records, size, _, part):
                number, leaving = self._under_way.pop(part)
                if self._leaving is None or self._leaving.batch != leaving.batch:
                    self._leaving = replace(leaving, records=records)
                # Where another file began since, it does not know the batch.
                again = () if number == self.number else (self._leaving,)
                self._write(*again, Left(leaving.batch, records, size))
                self._leaving = None
            case RecordRejected(record, error, loop) if self._rejected < STAYED_RECORDS:
                self._rejected += 1
                self._flush()
                note = Rejected(self._now(), self._epoch, loop, record, error.code, str(error))
                self._waiting.append(note)
            case RoundEnded(result):
                self._end_round(result)
            case ExchangeEnded(result):
                self._end(result)

    def _leave(self, told: RecordsLeaving) -> None:
        """Have on the disk what is about to leave."""
        self._batches += 1
        leaving = Leaving(
            self._now(), self._batches, self._epoch, told.loop, told.tick, told.records, self._decided
        )
        self._leaving = leaving
        self._write(leaving, durable=True)
        if self.fault is not None:
            self._leaving = None
            self._waiting.remove(leaving)
            raise NotNoted(reason=f"{self.fault} [{self.fault.code}]")
        self._under_way[told.part] = self.number, replace(leaving, records=())

    def _store_version(self) -> Version | None:
        try:
            return None if self._version is None else self._version()
        except StoreError:
            return None

    def arrive(self, records: Sequence[str], loop: int) -> None:
        """Take in that records came, are valid, and are stored."""
        if loop != self._arrived_loop:
            self._flush()
            self._arrived_loop = loop
        self._arrived += records
        if len(self._arrived) >= WAITING_RECORDS:
            self._write()

    def _flush(self) -> None:
        """Make a note of what has arrived."""
        if self._arrived:
            came = tuple(self._arrived)
            self._waiting.append(Came(self._now(), self._epoch, self._arrived_loop, came))
            self._arrived.clear()

    def _agreement(self, changed: PlanChanged) -> Agreement:
        agreed = changed.agreed
        zero, one = (str(operand.module) for operand in agreed.plan.operands)
        viewer = agreed.plan.operands[1 - agreed.side].origin.viewer
        here = next((Verifier(fact[1]) for fact in changed.runtime if fact[0] == "Here"), None)
        return Agreement(
            at=self._now(),
            epoch=changed.epoch,
            side=agreed.side,
            plan=changed.plan,
            transcript=str(agreed.plan.transcript),
            operands=(zero, one),
            peer=changed.peer,
            here=here,
            viewer=viewer,
            link_id=agreed.link_id,
            runtime=tuple(sorted(changed.runtime)),
            in_force=NOT_NOTED if self._in_force is None else self._in_force(viewer),
        )

    def _end_round(self, result: InterlaceResult) -> None:
        """Note what a round of an open exchange did; one that only looked around is not worth a line."""
        done = self._done
        self._done = Sums(
            done.loops + result.loops,
            done.turns + result.turns,
            done.bytes_sent + result.bytes_sent,
            done.bytes_received + result.bytes_received,
        )
        self._stay(result)
        moved = result.bytes_sent or result.bytes_received or self._waiting or self._arrived
        if moved or done == Sums():
            self._write(self._done)

    def _end(self, result: InterlaceResult) -> None:
        self._stay(result)
        sums = Sums(result.loops, result.turns, result.bytes_sent, result.bytes_received)
        error = told_error(result.error)
        code, words = (None, None) if error is None else (error.code, str(error))
        self._write(Ending(self._now(), result.cause.value, code, words, sums), durable=True)

    def _stay(self, result: InterlaceResult) -> None:
        """Note what was asked for in vain, once for each record."""
        self._flush()
        for why, records in (
            (Stay.NOT_AVAILABLE, result.not_available_hashes),
            (Stay.DEFERRED, result.deferred_hashes),
            (Stay.HELD_BACK, result.held_back_hashes),
        ):
            new = tuple(record for record in records if (why, record) not in self._stayed)
            new = new[: STAYED_RECORDS - len(self._stayed)]
            self._stayed.update((why, record) for record in new)
            if new:
                self._waiting.append(Stayed(self._now(), self._epoch, why, new))

    def _write(self, *notes: Note, durable: bool = False) -> None:
        """Hand everything that waits to the history."""
        self._flush()
        self._waiting += notes
        try:
            self._keep(durable)
        except StoreError as fault:
            if self.fault is None and self._report is not None:
                self._report(fault)
            self.fault = fault
        else:
            self.fault = None
            self._waiting.clear()

    def _keep(self, durable: bool) -> None:
        if self.number is None:
            self.number = self._history.begin(self._beginning)
        try:
            self._history.note(self.number, self._waiting, durable=durable)
        except HistoryReplaced as replaced:
            if self._report is not None:
                self._report(replaced)
            self.number = self._history.begin(self._beginning)
            known: list[Note] = [*self._agreements, *([] if self._leaving is None else [self._leaving])]
            told = [each for each in known if each not in self._waiting]
            self._history.note(self.number, [*told, *self._waiting], durable=durable)
            for part, (_, batch) in self._under_way.items():
                if self._leaving is not None and batch.batch == self._leaving.batch:
                    self._under_way[part] = self.number, batch
