"""Exchanges with other laces for applications: with asyncio, and without.

    async with lace.interlace("tcp:example.com", policy="town.policy") as exchange:
        async for event in exchange:            RecordArrived, RecordRejected, PlanChanged, RoundEnded …
            …
        result = await exchange.result()

    result = lace.sync("tcp:example.com", policy="town.policy")

Rules of this file:
1. An exchange that was begun ends with a result, whatever happens; what keeps it from beginning is raised.
2. Events are kept for whoever iterates, and for nobody else. Whoever iterates slowly slows the exchange down.
3. Leaving the block early ends the exchange: an open one at its next fixed point, after an error at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import replace
from types import TracebackType
from typing import Final, NamedTuple, Self, TypeAlias, TypedDict, Unpack

from lace.drive import Observed, Observer, tell_arrivals
from lace.errors import InputError
from lace.iltp import parse_address
from lace.interlace import Cause, ExchangeLimits, InterlaceResult, LocalLimits
from lace.policy import Module
from lace.porcelain.arguments import SECRET, Kind, check_kinds, check_options, check_text
from lace.porcelain.exchanges.eventqueue import EventQueue
from lace.porcelain.exchanges.exchange import CHOICES, ExchangeChoices, ExchangeEnd, Exchanges
from lace.porcelain.exchanges.outcome import Introduction, Outcome, introduce, outcome_of
from lace.porcelain.exchanges.peerpolicy import PolicyBook, given_policies
from lace.porcelain.policies.file import PolicyFile
from lace.porcelain.policies.parse import GivenPolicy
from lace.signing import Secret
from lace.text import parse_verifier
from lace.transports import OPTIONS, Options, Proven, Pump, Stream, Tap, connect

LOOK_SECONDS: Final = 1.0
"""How often an open exchange looks whether somebody stored something."""
PROGRESS_SECONDS: Final = 0.1
LEAVE_SECONDS: Final = 1.0
"""How long the other's close, or the end of a child, is waited for where the exchange has gone wrong."""
GONE_WRONG: Final = frozenset({Outcome.PEER_ERROR, Outcome.LOCAL_ERROR, Outcome.TIMEOUT, Outcome.CANCELLED})


Connecting: TypeAlias = Callable[[str, Options], AbstractAsyncContextManager[Stream]]
"""Makes a connection: `lace.transports.connect`, or whatever else has a stream."""


class NotBegun(InputError):
    """An exchange that is asked for something before it was entered."""

    code = "exchange/not-begun"
    text = "the exchange with {address} has not begun: enter it, `async with lace.interlace(…) as exchange`"


class BegunBefore(InputError):
    """An exchange that is entered a second time."""

    code = "exchange/begun-before"
    text = "the exchange with {address} was begun before: for another one, call lace.interlace(…) again"


class InsideALoop(InputError):
    """A call that would stop the event loop of its thread."""

    code = "exchange/inside-a-loop"
    text = (
        "this thread runs an event loop, which would stand still: use `async with lace.interlace(…) as"
        " exchange` and `await exchange.result()`, or asyncio.to_thread; nothing was done"
    )


class ExchangeProgress(NamedTuple):
    """How far an exchange has come, for people to look at."""

    phase: str
    loop: int
    partitions: int
    """Summarized by the peer, and not known yet."""
    advertised: int
    """Records that the peer is known to advertise."""
    wanted: int
    """Asked for, and not here yet."""
    received: int
    sent: int
    rejected: int
    bytes_received: int
    """Of the stream, with everything in it."""
    bytes_sent: int


class Standing(NamedTuple):
    """What of our own records was for the peer by the last evaluation, and of its records for us."""

    stored: int
    exposed: int
    """How many of them its rules could see."""
    may_send: int
    words: str | None
    """What a person should be told about that."""
    passed_over: int = 0
    """How many our rules select, and the peer's, which can see them, do not."""
    advertised: int = 0
    """How many records the peer is known to advertise."""
    kept_out: int = 0
    """How many of those are not asked for because they were forgotten here."""


class Interlacing:
    """An exchange with one peer, while it goes on."""

    def __init__(
        self,
        exchanges: Exchanges,
        policy: PolicyFile | PolicyBook,
        address: str,
        *,
        choices: ExchangeChoices = CHOICES,
        options: Options = OPTIONS,
        prove_in_clear: bool = False,
        observe: Observer | None = None,
        tap: Tap | None = None,
        look_every: float = LOOK_SECONDS,
        over: Connecting = connect,
    ) -> None:
        """Make an exchange ready; `over` makes the connection, by default to the address."""
        self.address = address
        self._over = over
        self._exchanges = exchanges
        self._policy = policy
        self._choices = choices
        self._options = options
        self._prove_in_clear = prove_in_clear
        self._observe = observe
        self._tap = tap
        self._look_every = look_every
        self._events = EventQueue()
        self._around = AsyncExitStack()
        self._stop = asyncio.Event()
        self._stream: Stream | None = None
        self._end: ExchangeEnd | None = None
        self._pump: Pump | None = None
        self._running: asyncio.Task[InterlaceResult] | None = None

    def __repr__(self) -> str:
        state = "not begun" if self._end is None else self._end.side.machine.phase.value
        return f"<Interlacing {self.address}: {state}>"

    async def __aenter__(self) -> Self:
        """Connect, and let the exchange begin; `TransportError` where nobody is reached."""
        if self._running is not None:
            raise BegunBefore(address=self.address)
        stream = await self._around.enter_async_context(self._over(self.address, self._options))
        try:
            self._begin(stream)
        except BaseException:
            stream.abort()
            await self._around.aclose()
            raise
        return self

    def _begin(self, stream: Stream) -> None:
        self._events.bind(asyncio.get_running_loop())
        self._stream = stream
        self._end = self._exchanges.begin(
            self._policy,
            stream.proven.link(prove_in_clear=self._prove_in_clear),
            index=stream.index,
            choices=self._choices,
            observe=_Told(self._observe, self._events),
        )
        looks = self._look_every if self._choices.stays_open else None
        self._pump = Pump(stream, self._end, look_every=looks, stop=self._stop, tap=self._tap)
        self._running = asyncio.create_task(self._pump.run())
        self._running.add_done_callback(lambda _: self._events.end())

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for the end of a bounded exchange, finish an open one; after an error stop at once."""
        assert self._running is not None
        self._events.leave()
        soon = True
        try:
            if kind is None:
                self.finish()
                soon = outcome_of(await self._running) in GONE_WRONG
            else:
                self._running.cancel()
                # Its cancellation is not ours: whoever cancels this task meanwhile is heard.
                await asyncio.wait({self._running})
                if not self._running.cancelled():
                    self._running.result()
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(LEAVE_SECONDS if soon else None):
                    await self._around.aclose()

    @property
    def introduced(self) -> Introduction:
        """What the peer is told about who we are; `words_of` knows more about a refusal with it."""
        return introduce(self.address, self._choices.secret, prove_in_clear=self._prove_in_clear)

    @property
    def proven(self) -> Proven:
        """What the transport proves about the connection."""
        if self._stream is None:
            raise NotBegun(address=self.address)
        return self._stream.proven

    def __aiter__(self) -> AsyncIterator[Observed]:
        """Iterate over what happens from here on, until the exchange is over."""
        if self._running is None:
            raise NotBegun(address=self.address)
        return self._events.listen()

    async def result(self) -> InterlaceResult:
        """Wait for the end of the exchange, and return how it ended."""
        if self._running is None:
            raise NotBegun(address=self.address)
        self._events.leave(asyncio.current_task())
        await asyncio.wait({self._running})
        if self._running.cancelled():
            # The block was left by an error. Whoever asks was not cancelled, and must not be taken for it.
            assert self._end is not None
            return self._end.result or InterlaceResult(Cause.CANCELLED)
        return self._running.result()

    def finish(self) -> None:
        """Let an open exchange end at its next fixed point; a bounded one ends there anyway."""
        self._stop.set()

    def change_policy(self, policy: GivenPolicy | PolicyBook) -> None:
        """Go on under another policy, in an open exchange."""
        end, other = self._end, given_policies(policy)
        if end is None or self._pump is None:
            raise NotBegun(address=self.address)
        self._pump.post(lambda: end.change_policy(other))

    def standing(self) -> Standing | None:
        """Return what was for the peer of ours, and for us of its; None before anything was evaluated."""
        end = self._end
        decision = None if end is None else end.host.decision
        if end is None or decision is None:
            return None
        host, agreed = end.host, end.side.machine.exchange.epoch.agreed
        stored, seen = len(host.have), decision.view.records
        return Standing(
            stored,
            stored if seen is None else len(seen),
            len(host.sendable()),
            decision.words,
            len(host.passed_over()),
            0 if agreed is None else len(agreed.advertised.claims),
            len(host.kept_out),
        )

    def progress(self) -> ExchangeProgress:
        """Look how far the exchange has come; it goes on meanwhile."""
        if self._end is None or self._stream is None:
            raise NotBegun(address=self.address)
        machine = self._end.side.machine
        known = machine.exchange
        loop, total, round = known.loop, known.total, known.round
        agreed, left = known.epoch.agreed, loop.reconciliation
        return ExchangeProgress(
            machine.phase.value,
            total.loops + round.loops,
            0 if left is None else left.unknown,
            0 if agreed is None else len(agreed.advertised.claims),
            len(loop.requested) + len(loop.storing),
            len(total.received) + len(round.received),
            len(total.sent) + len(round.sent),
            len(total.rejections) + len(round.rejections),
            self._stream.bytes_received,
            self._stream.bytes_sent,
        )


class _Told:
    """Whoever observes an exchange, and whoever iterates over it."""

    def __init__(self, observe: Observer | None, events: EventQueue) -> None:
        self._observe = observe
        self._events = events

    def __call__(self, observed: Observed) -> None:
        if self._observe is not None:
            self._observe(observed)
        self._events.tell(observed)

    def arrive(self, records: Sequence[str], loop: int) -> None:
        if self._observe is not None:
            tell_arrivals(self._observe, records, loop)
        self._events.arrive(records, loop)


class Asked(TypedDict, total=False):
    """What can be said about an exchange besides its address and its policy."""

    sign: Secret | None
    """Prove with it who we are."""
    expected: str | None
    """The verifier that the peer must prove."""
    timeout: float | None
    """Seconds for one round, the whole of a bounded exchange; what came until then stays."""
    look_seconds: float
    """How often an exchange that stays open looks for what was stored here meanwhile (1)."""
    limits: ExchangeLimits
    operation: Module | None
    """A selector that narrows the exchange: see `lace.drive.operations`."""
    options: Options
    """Of the transport: TLS, the command of stdio, times."""
    prove_in_clear: bool
    """Let signer proofs go over plain tcp and ws too, where a relay could not be seen."""
    observe: Observer | None
    """Told what happens, in the thread of the exchange."""
    tap: Tap | None
    """Sees the bytes of both directions."""
    over: Connecting
    """Makes the connection, where it is not made by the address."""


_KINDS: Final = {
    "sign": Kind(Secret, SECRET),
    "expected": Kind(str, "the verifier of the peer as text, V.….H3"),
    "timeout": Kind((int, float), "a number of seconds"),
    "look_seconds": Kind((int, float), "a number of seconds", optional=False),
    "limits": Kind(ExchangeLimits, "ExchangeLimits", optional=False),
    "operation": Kind(Module, "a Module, such as select_reference gives"),
    "options": Kind(Options, "Options of the transport", optional=False),
    "prove_in_clear": Kind(bool, "True or False", optional=False),
    "stays_open": Kind(bool, "True or False", optional=False),
}


def check_asked(asked: Mapping[str, object], *, also: Sequence[str] = (), but: Sequence[str] = ()) -> None:
    """Refuse options that an exchange does not have, or that are not what they must be."""
    check_options(asked, {*Asked.__annotations__, *also}.difference(but))
    check_kinds(asked, _KINDS)


def open_interlacing(
    exchanges: Exchanges,
    address: str,
    policy: GivenPolicy | PolicyBook,
    *,
    stays_open: bool = False,
    **asked: Unpack[Asked],
) -> Interlacing:
    """Make an exchange ready to be entered: the policy is read, nobody is connected to yet."""
    check_asked({**asked, "stays_open": stays_open}, also=("stays_open",))
    check_text("address", address, "text such as tcp:example.com")
    expected, timeout = asked.get("expected"), asked.get("timeout")
    options = asked.get("options", OPTIONS)
    local = LocalLimits()
    if timeout is not None:
        local = replace(local, round_seconds=timeout)
        options = replace(options, connect_seconds=min(options.connect_seconds, timeout))
    return Interlacing(
        exchanges,
        given_policies(policy),
        str(parse_address(address)),
        choices=ExchangeChoices(
            stays_open=stays_open,
            secret=asked.get("sign"),
            expected=None if expected is None else parse_verifier(expected),
            operation=asked.get("operation"),
            limits=asked.get("limits", ExchangeLimits()),
            local=local,
        ),
        options=options,
        prove_in_clear=asked.get("prove_in_clear", False),
        observe=asked.get("observe"),
        tap=asked.get("tap"),
        look_every=asked.get("look_seconds", LOOK_SECONDS),
        over=asked.get("over", connect),
    )


def run_sync(
    interlacing: Interlacing, progress: Callable[[ExchangeProgress], None] | None = None
) -> InterlaceResult:
    """Run a bounded exchange to its end, and return how it ended; `progress` is told the last state too."""
    check_no_loop()

    async def run() -> InterlaceResult:
        async with interlacing as exchange:
            ending = asyncio.create_task(exchange.result())
            while progress is not None and not ending.done():
                progress(exchange.progress())
                await asyncio.wait({ending}, timeout=PROGRESS_SECONDS)
            result = await ending
            if progress is not None:
                progress(exchange.progress())
            return result

    return asyncio.run(run())


def check_no_loop() -> None:
    """Refuse to wait for an exchange in a thread that runs an event loop."""
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        raise InsideALoop
