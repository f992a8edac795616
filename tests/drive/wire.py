"""Two wired sides and a wire that carries bytes in pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lace.drive import Side, Wired
from lace.interlace import InterlaceResult, Phase
from tests.interlace.pair import Pair, make_pair

Cut = Callable[[int], int]
"""Says how many of so many bytes arrive in one piece."""


@dataclass
class Wire:
    """Both ends, and everything that went over the wire."""

    pair: Pair
    ends: tuple[Wired, Wired]
    cut: Cut = max
    sent: tuple[bytearray, bytearray] = field(default_factory=lambda: (bytearray(), bytearray()))
    taken: list[int] = field(default_factory=lambda: [0, 0])
    told: list[bool] = field(default_factory=lambda: [False, False])
    deepest: int = 0
    """The most bytes that were ever under way at once."""

    def begin(self) -> None:
        """Start both sides."""
        for end in self.ends:
            end.begin()

    def move(self, sender: int) -> bool:
        """Move what there is from one end to the other; tell whether anything moved."""
        source, target = self.ends[sender], self.ends[1 - sender]
        moved = False
        while len(self.sent[sender]) - self.taken[sender] < 1 << 16 and (data := source.data_to_send()):
            self.sent[sender].extend(data)
            moved = True
        waiting = len(self.sent[sender]) - self.taken[sender]
        self.deepest = max(self.deepest, waiting)
        if waiting and target.wants_data:
            size = min(waiting, max(1, self.cut(waiting)))
            at = self.taken[sender]
            self.taken[sender] += size
            target.receive_data(bytes(self.sent[sender][at : at + size]))
            return True
        if not waiting and source.shut and not self.told[sender] and target.result is None:
            self.told[sender] = True
            target.receive_end()
            return True
        return moved

    def flow(self) -> None:
        """Move until nothing moves any more."""
        for _ in range(2_000_000):
            if not any([self.move(0), self.move(1)]):
                return
        raise AssertionError("the exchange does not come to rest")

    def run(self) -> tuple[InterlaceResult, InterlaceResult]:
        """Run to the end of both sides."""
        self.begin()
        self.flow()
        return self.results

    @property
    def results(self) -> tuple[InterlaceResult, InterlaceResult]:
        """How it ended."""
        zero, one = (end.result for end in self.ends)
        assert zero is not None
        assert one is not None
        return zero, one


def wire(pair: Pair, cut: Cut | None = None) -> Wire:
    """Put a pair on a wire."""
    sides: tuple[Side, Side] = pair.sides
    return Wire(pair, (Wired(sides[0]), Wired(sides[1])), cut or (lambda size: size))


def make_wire(*records: Any, cut: Cut | None = None, **more: Any) -> Wire:
    """Make a pair and put it on a wire."""
    return wire(make_pair(*records, **more), cut)


def until(over: Wire, phase: Phase) -> Wired:
    """Move until the right end is in a phase; return it."""
    over.begin()
    while over.ends[1].side.machine.phase is not phase:
        over.move(0), over.move(1)
    return over.ends[1]


def bring(over: Wire, size: int) -> None:
    """Bring so many bytes of the left end's records to the right one, and no more."""
    at = over.taken[0]
    while len(over.sent[0]) < at + size:
        over.move(1)
        over.sent[0].extend(over.ends[0].data_to_send())
    over.taken[0] += size
    over.ends[1].receive_data(bytes(over.sent[0][at : at + size]))


def pause(over: Wire) -> list[float]:
    """Let time pass as a transport does, until only patience is left; return when the end was asked."""
    end, clock, times = over.ends[1], over.pair.clocks[1], []
    while end.result is None and (due := end.timer()) is not None and due < clock.seconds + 10.0:
        clock.seconds = max(clock.seconds, due)
        times.append(clock.seconds)
        end.time_over()
    return times
