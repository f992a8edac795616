"""One side over a byte stream, whatever carries the bytes (050 over 060).

    wired.begin()
    wired.receive_data(data) / receive_end()     what came
    wired.lose(error)                            that nothing more will come or go, and why
    wired.data_to_send(), wired.shut             what goes, and whether that was all
    wired.timer(), wired.time_over()             when to come back
    wired.look()                                 an open exchange: has somebody stored something?
    wired.close()                                at last, however it ended

It waits for nothing: a transport reads, writes and sleeps, and asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from lace.drive.side import PAUSE_SECONDS, Item, Side
from lace.errors import RemoteProtocolError, StoreError
from lace.iltp import Connection, RecordBytes
from lace.interlace import (
    Begin,
    Cancel,
    Event,
    Finish,
    InterlaceResult,
    Moment,
    OperandChanged,
    PeerClosed,
    Phase,
    StreamFailed,
    TimeOver,
    Unchecked,
    Wake,
)
from lace.policy import Module

RUN_BYTES: Final = 64 << 10
"""Records go out together up to so many bytes; one that is larger goes alone."""


class Ahead(Protocol):
    """Checks records before the machine asks whether they are valid, beside whatever else is done."""

    def expect(self, records: int) -> None:
        """Get ready: so many records were asked for."""
        ...

    def give(self, came: Sequence[RecordBytes]) -> Sequence[Unchecked]:
        """Take records that came; return the next ones for the machine, perhaps none."""
        ...

    def rest(self) -> Sequence[Unchecked]:
        """Wait a little for all that were given and not returned."""
        ...

    def close(self) -> Sequence[Unchecked]:
        """Let go of everything without waiting; return what was given and not returned, checked or not.

        More may be given later.
        """
        ...


class Wired:
    """A side and its connection."""

    def __init__(self, side: Side, connection: Connection | None = None, ahead: Ahead | None = None) -> None:
        self.side = side
        self._connection = connection or Connection()
        self._ahead = ahead
        self._came_at: Moment | None = None
        """When the last records came."""
        self._checking = 0
        """So many of them are being checked ahead."""
        self._unseen = False
        """Whether somebody may have changed the store since it was looked at."""
        self._parted = False
        self._aborted = False

    @property
    def result(self) -> InterlaceResult | None:
        """How the exchange ended; None while it goes on."""
        return self.side.result

    @property
    def wants_data(self) -> bool:
        """Whether to read on: what came before is understood, and nothing waits for an answer of ours."""
        return self.result is None and not self._connection.waiting

    @property
    def shut(self) -> bool:
        """Whether everything is sent and the sending half is to be closed."""
        return self._connection.shut and not self.side.outbox

    @property
    def aborted(self) -> bool:
        """Whether the exchange broke off: known when `data_to_send` was asked after its end."""
        return self._aborted

    def begin(self) -> None:
        """Start the exchange."""
        self._give(Begin())

    def receive_data(self, data: bytes) -> None:
        """Take bytes from the peer."""
        self._connection.receive_data(data)
        self._hear()
        self.side.listen()

    def receive_end(self) -> None:
        """Take the end of the peer's direction."""
        self._connection.receive_end()
        self._hear()

    def lose(self, error: RemoteProtocolError) -> None:
        """Take it that the connection is over, in the middle of whatever is going on."""
        # After the fixed point nothing is lost with it.
        closing = self.side.machine.phase is Phase.CLOSING
        self._give(PeerClosed(clean=False) if closing else StreamFailed(error))

    def data_to_send(self) -> bytes:
        """Return the next bytes for the peer; empty where there are none at the moment."""
        if self.result is not None:
            # After an abort the connection must hear of it before it gives away what is queued; and behind
            # the end of our direction no record is read any more.
            while not self._parted and self.side.outbox:
                self._tell(self.side.outbox.popleft())
            self.side.outbox.clear()
        while True:
            data = self._connection.data_to_send()
            if data:
                return data
            raws = self.side.outbox.take_records(RUN_BYTES)
            if raws:
                self._tell_records(raws)
                continue
            if not self.side.outbox:
                # Reading the last record may have been what the machine waited for.
                self._hear()
                if not self.side.outbox:
                    return b""
            self._tell(self.side.outbox.popleft())

    def timer(self) -> float | None:
        """Return when to call `time_over`, on the clock of `Moment.seconds`."""
        due = self.side.timer()
        if not self._checking or self._came_at is None:
            return due
        # By then they are checked; and as long as nobody asks for them, they cannot be stored.
        checked = self._came_at.seconds + PAUSE_SECONDS
        return checked if due is None else min(due, checked)

    def time_over(self) -> None:
        """Say that the time is there."""
        self._give(TimeOver())

    def look(self) -> None:
        """Wake an open exchange where somebody else changed the store, and something follows from that.

        In the middle of a round nobody looks: its next loop sees what is there, and the rest is seen later.
        """
        self._unseen = True
        self._look_if_idle()

    def _look_if_idle(self) -> None:
        if self._unseen and self.result is None and self.side.machine.phase is Phase.IDLE:
            self._unseen = False
            if self._has_news() and self.side.stirs():
                self._give(Wake())

    def _has_news(self) -> bool:
        try:
            return self.side.host.has_news()
        except StoreError:
            return True  # where the store still fails a round finds out, and says what is wrong

    def change_operand(self, module: Module) -> None:
        """Go on with another selector: a new epoch of an open exchange."""
        self._give(OperandChanged(module))

    def finish(self) -> None:
        """Close at the next fixed point."""
        self._give(Finish())

    def cancel(self) -> None:
        """Stop now."""
        self._give(Cancel())

    def close(self) -> None:
        """Let go of whoever checks records: to be called when nothing more is asked of this end."""
        if self._ahead is not None:
            self._checking = 0
            self._ahead.close()

    def _tell(self, item: Item) -> None:
        if isinstance(item, PeerClosed):
            self._parted = True
            self._aborted = not item.clean
        self._connection.send(item)

    def _tell_records(self, raws: list[bytes]) -> None:
        self._connection.send_records(raws)

    def _give(self, event: Event) -> None:
        if self.result is None and self.side.machine.phase is not Phase.CLOSED:
            # What came before it is heard before it; who breaks off does not wait until it is checked.
            self._hear_rest(waits=not isinstance(event, (Cancel, PeerClosed, StreamFailed)))
            self.side.feed(event)
            self._hear()

    def _hear(self) -> None:
        self._hear_all()
        self._look_if_idle()

    def _hear_all(self) -> None:
        machine = self.side.machine
        while self.result is None and not machine.busy:
            if machine.phase is Phase.TRANSFER and self._hear_records():
                continue
            event = self._connection.next_event(machine.phase)
            if event is None:
                return
            self.side.feed(event)
            if machine.phase is Phase.REQUEST and self._ahead is not None:
                self._ahead.expect(len(machine.exchange.loop.requested))
            elif machine.phase is not Phase.TRANSFER:
                # Nobody is kept for a transfer that may come, in an exchange that may stay open for days.
                self.close()
        if self.result is not None:
            self.close()

    def _hear_records(self) -> bool:
        """Hear the records that are next; tell whether there were any."""
        came = self._connection.take_records()
        if not came:
            # Where something else is next, all records have come.
            return self._connection.waiting and self._hear_rest()
        self._came_at = self.side.moment()
        checked: Sequence[Unchecked] = came
        if self._ahead is not None:
            checked = self._ahead.give(came)
            self._checking += len(came) - len(checked)
        self.side.feed_records(checked, self._came_at)
        return True

    def _hear_rest(self, *, waits: bool = True) -> bool:
        """Hear the records that are being checked; tell whether there were any."""
        if self._ahead is None:
            return False
        rest = self._ahead.rest() if waits else self._ahead.close()
        self._checking = 0
        if self.result is None:
            # PROFILE 10: the timeout "restarts with each record", when it comes and not when it is checked.
            self.side.feed_records(rest, self._came_at)
        return bool(rest)
