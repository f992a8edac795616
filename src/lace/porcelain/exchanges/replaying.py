"""A captured peer against a fresh machine and store: what its bytes do, again and again the same.

    capture ─┬─ the bytes of one side ───────────────────────▶ machine, memory store ──▶ events, result
             └─ the other side: its operand, nonce, hello, and the records it sent ──▶ who the machine is

Rules of this file:
1. Nothing is random and no clock is read: the nonce, the time and the pauses are those of the capture.
2. The machine takes the part of the side that is not played. Its records are those that this side sent, and
   whatever is given besides; they are all exposed. What else decided in its place is not in a capture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Final

from lace.drive import Host, Observed, Side, Wired
from lace.errors import InputError, RecordError
from lace.facts import Fact
from lace.iltp import LACEGRAM, FactBlock, Reader, RecordBytes, Resource
from lace.interlace import (
    Dice,
    ExchangeLimits,
    InterlaceResult,
    Link,
    Moment,
    Offer,
    Settings,
    read_hello,
)
from lace.policy import Exposure, Module, read_expose, receive_module
from lace.porcelain.exchanges.capture import Capture, Piece
from lace.record import Record
from lace.stores import MemoryStore
from lace.text import Tai, parse_tai

NANOSECONDS: Final = 10**9
_EXPOSE: Final = "AllowQueryRecord(V,P) :- _Viewer(V), Have(P)."
_WITHOUT_DATE: Final = Tai("1640995200:000000000")


class CannotReplay(InputError):
    """A capture that does not say enough to take the other side's part."""

    code = "capture/replay"
    text = "the side that the replay takes the part of {reason}: there is nothing to replay against"


@dataclass(slots=True)
class Part:
    """What a capture says about the side that the machine stands for."""

    module: Module | None = None
    nonce: str | None = None
    offer: Offer | None = None
    hello_seconds: float = 0.0
    records: list[Record] = field(default_factory=list)
    ticks: bool = False
    """Whether it announced ticks, which only open exchanges do."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of a replay."""

    result: InterlaceResult | None
    """None where the exchange was still going on at the end of the capture."""
    phase: str
    """Where the machine stood then."""
    played_bytes: int
    unread_bytes: int
    """Of the played side, behind the end of the exchange."""
    said_bytes: int
    differs_at: int | None
    """The first byte at which the machine said something else than the captured side; None where nothing."""
    differs: str
    """What was said there, and what was captured."""


def read_part(capture: Capture, forth: bool) -> Part:
    """Find out who one side of a capture was."""
    part, reader, modules = Part(), Reader(), {}
    for piece in capture.pieces():
        if piece.forth is not forth:
            continue
        for item in reader.feed(piece.data):
            if isinstance(item, Resource) and item.kind == LACEGRAM:
                modules[str(item.id)] = item.raw
            elif isinstance(item, RecordBytes):
                try:
                    part.records.append(item.parse())
                except RecordError:
                    continue
            elif isinstance(item, FactBlock):
                _read_block(part, list(item.facts()), modules, piece)
    return part


def _read_block(part: Part, facts: list[Fact], modules: dict[str, bytes], piece: Piece) -> None:
    names = {fact[0] for fact in facts}
    part.ticks = part.ticks or "TickReady" in names
    for fact in facts:
        if part.module is None and fact[0] == "ExchangeOperand" and fact[2] in modules:
            part.module = receive_module(modules[fact[2]])
            part.nonce = next((each[1] for each in facts if each[0] == "SetupNonce"), None)
    if part.offer is None and "HelloTAI" in names:
        part.offer = read_hello(facts)
        part.hello_seconds = piece.seconds


def replay_capture(
    opening: Callable[[], BinaryIO],
    *,
    forth: bool = True,
    records: Iterable[Record] = (),
    observe: Callable[[Observed], None] | None = None,
) -> Replay:
    """Play one side of a capture: the connecting one, or with `forth=False` the accepting one.

    `opening` opens the capture, which is read twice.
    """
    with opening() as file:
        part = read_part(Capture(file), not forth)
    if part.module is None:
        raise CannotReplay(reason="has no setup block with a module")
    store = MemoryStore()
    store.put_many([*part.records, *records])
    with opening() as file, opening() as again:
        capture = Capture(file)
        return _Playing(capture, part, store, forth, observe).run(_said(Capture(again), not forth))


def _said(capture: Capture, forth: bool) -> Iterator[bytes]:
    return (piece.data for piece in capture.pieces() if piece.forth is forth)


class _Playing:
    """One run."""

    def __init__(
        self,
        capture: Capture,
        part: Part,
        store: MemoryStore,
        forth: bool,
        observe: Callable[[Observed], None] | None,
    ) -> None:
        self._capture = capture
        self._forth = forth
        self._seconds = 0.0
        self._start = _WITHOUT_DATE if part.offer is None else part.offer.tai
        self._hello_seconds = part.hello_seconds
        host = Host(store, Exposure((read_expose(_EXPOSE),)), owner="the replay")
        self._wired = Wired(Side(_settings(capture, part, forth), host, self._now, observe))

    def _now(self) -> Moment:
        """Return the time of the capture; the hello says what time it was then."""
        passed = round(max(0.0, self._seconds - self._hello_seconds) * NANOSECONDS)
        total = int(self._start[:10]) * NANOSECONDS + int(self._start[11:]) + passed
        tai = parse_tai(f"{total // NANOSECONDS:010d}:{total % NANOSECONDS:09d}")
        return Moment(tai, self._seconds)

    def run(self, captured: Iterator[bytes]) -> Replay:
        wired, comparing = self._wired, _Comparing(captured)
        played = unread = 0
        ended = False
        wired.begin()
        self._drain(comparing)
        for piece in self._capture.pieces():
            if piece.forth is not self._forth:
                continue
            if wired.result is not None:
                unread += len(piece.data)
                continue
            self._wait_until(piece.seconds)
            played += len(piece.data)
            if piece.is_end:
                ended = True
                wired.receive_end()
            elif piece.data:
                wired.receive_data(piece.data)
            self._drain(comparing)
        if wired.result is None and not ended:
            wired.receive_end()
            self._drain(comparing)
        phase = wired.side.machine.phase.value
        return Replay(
            wired.result, phase, played, unread, comparing.said, comparing.differs_at, comparing.differs
        )

    def _wait_until(self, seconds: float) -> None:
        """Let time go on, and what is due in between happen."""
        while self._wired.result is None and (due := self._wired.timer()) is not None and due <= seconds:
            if due <= self._seconds:
                self._wired.time_over()
                break
            self._seconds = due
            self._wired.time_over()
        self._seconds = max(self._seconds, seconds)

    def _drain(self, comparing: _Comparing) -> None:
        while data := self._wired.data_to_send():
            comparing.take(data)


class _Comparing:
    """Compares what a machine says with what was captured in its place."""

    def __init__(self, captured: Iterator[bytes]) -> None:
        self._captured = captured
        self._ahead = b""
        self.said = 0
        self.differs_at: int | None = None
        self.differs = ""

    def take(self, data: bytes) -> None:
        while data and self.differs_at is None:
            if not self._ahead:
                self._ahead = next(self._captured, b"")
                if not self._ahead:
                    self._differ(self.said, data, b"")
                    break
            size = min(len(data), len(self._ahead))
            ours, theirs = data[:size], self._ahead[:size]
            if ours != theirs:
                at = next(n for n in range(size) if ours[n] != theirs[n])
                self._differ(
                    self.said + at, data[_line_start(data, at) :], self._ahead[_line_start(ours, at) :]
                )
                break
            self.said += size
            data, self._ahead = data[size:], self._ahead[size:]
        self.said += len(data)

    def _differ(self, at: int, ours: bytes, theirs: bytes) -> None:
        self.differs_at = at
        self.differs = f"the replay said {_shown(ours)}, the capture has {_shown(theirs)}"


def _line_start(data: bytes, at: int) -> int:
    return data.rfind(b"\n", 0, at) + 1


def _shown(data: bytes) -> str:
    line = data.split(b"\n", 1)[0][:100].decode(errors="replace")
    return repr(line) if data else "nothing"


def _settings(capture: Capture, part: Part, forth: bool) -> Settings:
    """Return the settings of the side that the machine stands for."""
    assert part.module is not None
    offer = part.offer
    limits, partitions = ExchangeLimits(), True
    if offer is not None:
        partitions = "max_partition_summaries" in offer.limits
        limits = replace(limits, **offer.limits)
    reads_ticks = "TickTAI" in str(part.module)
    return Settings(
        index=1 if forth else 0,
        module=part.module,
        dice=Dice(bytes(32), first_nonce=part.nonce),
        stays_open=part.ticks or not reads_ticks,
        limits=limits,
        # It was captured, so it was accepted or refused on a link that only the capture knows.
        link=Link(transport=capture.addresses.get(forth), prove_in_clear=True),
        sends_nonce=part.nonce is not None or offer is None,
        formats=frozenset({"H3"}) if offer is None else offer.formats,
        all_fields=offer is not None and offer.fields is None,
        more_fields=frozenset() if offer is None or offer.fields is None else offer.fields,
        partitions=partitions,
        partition_start=0 if offer is None else offer.partition_start,
        tick_interval=10 * NANOSECONDS if offer is None else offer.tick_interval,
    )
