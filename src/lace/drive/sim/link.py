"""One simulated link: two machines, their connections, and the bytes under way between them.

Whatever is said over it is checked when it is said, and whatever is stored because of it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from lace.drive.host import Host
from lace.drive.side import Item, Side
from lace.drive.sim import invariants
from lace.drive.sim.world import SimClock, SimHost, SimWire
from lace.iltp import Connection
from lace.interlace import Begin, InterlaceResult, PeerClosed, RecordReceived, Settings, TimeOver
from lace.record import Record

Fail = Callable[[str | None], None]
"""Stops a simulation where something is wrong; None is nothing."""


class SimLink:
    """Both ends of a link."""

    def __init__(
        self,
        settings: tuple[Settings, Settings],
        hosts: tuple[SimHost, SimHost],
        clocks: tuple[SimClock, SimClock],
        known: Mapping[str, Record],
        fail: Fail,
    ) -> None:
        self.hosts = hosts
        self._known = known
        self._fail = fail
        zero, one = (Side(settings[index], cast(Host, hosts[index]), clocks[index].now) for index in (0, 1))
        self.sides = zero, one
        self.connections = Connection(), Connection()
        self.wire = SimWire()
        self._reported = [False, False]
        for index in (0, 1):
            self._listen(index)
        for side in self.sides:
            side.feed(Begin())

    def _listen(self, index: int) -> None:
        """Check what a side says when it says it; records are checked when they are read."""
        side = self.sides[index]
        append = side.outbox.append

        def checking(item: Item) -> None:
            self._fail(invariants.check_said(side, self.hosts[index], item))
            append(item)

        # The machine says everything by appending: there is no other place to hear it at once.
        side.outbox.append = checking  # type: ignore[method-assign]

    def check(self) -> list[tuple[int, InterlaceResult]]:
        """Check everything that can be seen from outside; return the ends that are new."""
        self._fail(invariants.check_agreement(self.sides))
        ends = []
        for index, side in enumerate(self.sides):
            self._fail(invariants.check_store(self.hosts[index], self._known))
            self._fail(invariants.check_send_set(side, self.hosts[index]))
            if side.result is not None and not self._reported[index]:
                self._reported[index] = True
                ends.append((index, side.result))
                self._fail(invariants.check_result(side, side.result))
                self._fail(invariants.check_blame(side.result, spoiled=any(self.wire.spoiled)))
        return ends

    def push(self, index: int) -> bool:
        """Let a side put what it has to say on the wire; tell whether it had something."""
        side, connection = self.sides[index], self.connections[index]
        moved = False
        while side.outbox:
            item = side.outbox.popleft()
            if isinstance(item, RecordReceived):
                self._fail(invariants.check_said(side, self.hosts[index], item))
            connection.send(item)
            moved = True
        while data := connection.data_to_send():
            self.wire.under_way[index].extend(data)
            moved = True
        return moved

    def pull(self, index: int, size: int) -> bool:
        """Let a side read so many bytes that its peer sent; tell whether anything happened."""
        side, connection = self.sides[index], self.connections[index]
        waiting = self.wire.under_way[1 - index]
        if side.result is not None:
            waiting.clear()
            return False
        moved = False
        if waiting and not connection.waiting:
            connection.receive_data(bytes(waiting[:size]))
            del waiting[:size]
            moved = True
        elif not waiting and not self.wire.ended[index] and self.connections[1 - index].shut:
            self.wire.ended[index] = True
            connection.receive_end()
            moved = True
        while side.result is None and not side.machine.busy:
            event = connection.next_event(side.machine.phase)
            if event is None:
                break
            side.feed(event)
            moved = True
        side.listen()
        return moved

    def move_all(self) -> bool:
        """Move everything that can move."""
        return any([self.push(0), self.push(1), self.pull(0, 1 << 20), self.pull(1, 1 << 20)])

    @property
    def over(self) -> bool:
        """Whether both sides have ended."""
        return all(side.result is not None for side in self.sides)

    def cut(self) -> None:
        """Break the link: what was under way is lost."""
        for index, side in enumerate(self.sides):
            self.wire.under_way[index].clear()
            if side.result is None:
                side.feed(PeerClosed(clean=False))

    def tell_time(self) -> None:
        """Let both sides look at their clocks."""
        for side in self.sides:
            if side.result is None:
                side.feed(TimeOver())
