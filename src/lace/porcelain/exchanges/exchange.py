"""One side of one exchange, made of an open lace, a policy, and what a transport proves.

    exchanges = Exchanges(lace.store, history=…, cursors=…)
    end = exchanges.begin(policy, stream.proven.link(), index=stream.index, choices=…, observe=…)
    result = await transports.exchange(stream, end)

Rules of this file:
1. All exchanges of one store share its resident facts. Each end is driven by one thread, its own.
2. Who the peer is decides which sections of a policy are in force; see `peerpolicy`.
3. Somebody who is expected must prove to be there, by the transport or by the signer proof, before anything
   is evaluated or advertised.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, MutableMapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock, Semaphore
from typing import Final, Literal

from lace.drive import (
    Ahead,
    ExchangeNotes,
    History,
    Host,
    Observed,
    Observer,
    PlanChanged,
    SendSets,
    Side,
    StoreSnapshots,
    Wired,
    watch_all,
)
from lace.errors import LaceError, PolicyError
from lace.facts import ALL_FACTS
from lace.iltp import Connection, StreamLimits
from lace.interlace import (
    Cursor,
    Dice,
    Evaluated,
    EvaluationFailed,
    ExchangeLimits,
    Link,
    LocalLimits,
    Moment,
    NeedEvaluation,
    PlanAgreed,
    Prepared,
    Settings,
)
from lace.policy import ExchangePlan, Lowered, Module, OperandLimits, Precompiled, Restriction, Views
from lace.porcelain.clock import now_tai
from lace.porcelain.exchanges.checkahead import CHILDREN, CheckAhead
from lace.porcelain.exchanges.cursors import KeptCursors
from lace.porcelain.exchanges.history import report_fault
from lace.porcelain.exchanges.peerpolicy import ASKS_FOR_NOTHING, PolicyBook, Presented, present
from lace.porcelain.exchanges.sharedevaluation import SharedEvaluation
from lace.porcelain.exchanges.sharing import Share, Sharing
from lace.porcelain.exchanges.turns import Turn, Turns
from lace.porcelain.past import note_state
from lace.porcelain.place import cursors_file
from lace.porcelain.policies.file import PolicyFile
from lace.signing import Secret
from lace.stores import Store
from lace.text import Verifier

ME: Final = "this lace"
SEED_BYTES: Final = 32
OPENING_BYTES: Final = 1 << 20
"""Of a setup or hello block, which have some hundred bytes. Until they are over the peer may be anybody, and
a block takes several times its bytes while it is read."""

LONG_TEXT: Final = 64 << 10
"""Peers that bring more text of rules than this are read one after the other: to read and compile a mebibyte
takes seconds, and hundreds of mebibytes of memory meanwhile."""


class PeerNotProven(PolicyError):
    """A peer that is not, or does not prove to be, whom we expect."""

    code = "exchange/peer-not-proven"
    text = "the peer was expected to prove that it is {expected}, and {found}; nothing was exchanged"


@dataclass(frozen=True, slots=True)
class ExchangeChoices:
    """How one side wants an exchange to go."""

    stays_open: bool = False
    """Idle at the fixed point and go on when something changes, instead of ending there."""
    secret: Secret | None = field(default=None, repr=False)
    """Prove with it who we are, where the link allows that."""
    expected: Verifier | None = None
    """Whom the peer must prove to be."""
    operation: Module | None = None
    """A selector that narrows our operand: what one get, list or put is about."""
    limits: ExchangeLimits = field(default_factory=ExchangeLimits)
    local: LocalLimits = field(default_factory=LocalLimits)
    evaluation: OperandLimits = field(default_factory=OperandLimits)
    partitions: bool = True
    partition_start: int | Literal["usual"] | None = "usual"
    """How many characters the prefixes of the first partitions have, as this side offers it; None offers
    nothing. Usual are 0, one root for everything, and 1 where the exchange stays open, a root for each first
    character."""
    all_fields: bool = False
    tick_interval: int = 10_000_000_000
    dice: Dice | None = field(default=None, repr=False)
    """Randomness that was thrown before, where an exchange is to be repeated exactly."""

    @property
    def offered_start(self) -> int | None:
        """How many characters our partitions are to begin with."""
        if self.partition_start != "usual":
            return self.partition_start
        # After a new record, half of the hashes below its root are made anew on both sides: seconds, where
        # one root is over a million records. 64 roots make that little, for five kilobytes in each loop.
        return OPEN_START if self.stays_open else 0


OPEN_START: Final = 1
CHOICES: Final = ExchangeChoices()


def moment_now() -> Moment:
    """Read both clocks; the second one is that of an event loop."""
    return Moment(now_tai(), time.monotonic())


class Guard:
    """Watches over one exchange and may stop it; this one lets everything happen.

    It is called in the thread that drives the end.
    """

    def admit(self, peer: Verifier | None) -> OperandLimits | None:
        """Raise where nothing is to be exchanged with whom the peer proved to be; None changes no limits."""
        return None

    def may_store(self) -> bool:
        """Tell whether anything may be asked for in the epoch that begins."""
        return True

    def store(self, size: int) -> None:
        """Raise where so many bytes of records are not to be stored."""

    def settle(self) -> None:
        """Be told that what was let in last is stored, or will not be."""

    def evaluated(self, seconds: float) -> None:
        """Take note of how long an evaluation took, without the time spent waiting for others."""


NOBODY: Final = Guard()


class SharedPrograms(Precompiled):
    """Lowered programs for the threads of all exchanges; a program is compiled when it is first used."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()

    def lower(
        self, plan: ExchangePlan, side: int, restrictions: tuple[Restriction, ...] = (), trusted: bool = False
    ) -> Lowered:
        """Return the lowered plan, one thread at a time."""
        with self._lock:
            return super().lower(plan, side, restrictions, trusted)


class PolicyHost(Host):
    """A host whose policy is chosen when the peer is known, over facts that it shares with others."""

    def __init__(
        self,
        store: Store,
        presented: Presented,
        choices: ExchangeChoices,
        *,
        sharing: Sharing,
        snapshots: StoreSnapshots,
        precompiled: Precompiled,
        send_sets: SendSets,
        cursors: MutableMapping[str, Cursor] | None = None,
        cursor_key: str | None = None,
        guard: Guard = NOBODY,
        narrows: bool = False,
        sends_only: bool = False,
    ) -> None:
        """Answer for a store; `narrows` where facts that no rule of the exchange reads need not be held.

        Where it `sends_only`, nothing is asked for, whatever the policy says.
        """
        super().__init__(
            store,
            owner=ME,
            limits=choices.evaluation,
            now=self._time,
            cursors=cursors,
            cursor_key=cursor_key,
            precompiled=precompiled,
            snapshots=snapshots,
            send_sets=send_sets,
        )
        self._presented = {presented.module.id: presented}
        self.presented = presented
        """What is presented from the next epoch on."""
        self.agreed_on = presented
        """What we presented for the plan of this epoch; `presented` may have changed since."""
        self._expected = choices.expected
        self._sharing = sharing
        self._share: Share | None = None
        self._guard = guard
        self._narrows = narrows
        self._sends_only = sends_only
        self.have: AbstractSet[str] = frozenset()
        """The records of the last evaluation."""

    def _time(self) -> float:
        return time.monotonic() if self._share is None else self._share.now()

    def present(self, presented: Presented) -> None:
        """Go on with another policy from the next epoch on."""
        self.presented = presented
        self._presented[presented.module.id] = presented

    def agree(self, agreed: PlanAgreed) -> None:
        """Find what we presented for a plan that was agreed on: it names our operand."""
        self.agreed_on = self._presented[agreed.plan.operands[agreed.side].module.id]

    def prepare(self, agreed: PlanAgreed) -> Prepared | EvaluationFailed:
        """Choose the policy for whom the peer proved to be, and compile it for the plan."""
        peer = agreed.peer
        self.agree(agreed)
        try:
            self._check_expected(peer)
            self._limits = self._guard.admit(peer) or self._limits
            active = self.agreed_on.active(peer)
            self._asks = not self._sends_only and self._guard.may_store()
        except LaceError as error:
            return EvaluationFailed(error)
        self._views = Views(ME, active.exposure)
        self._restrictions = (*active.restrictions, *([] if self._asks else [ASKS_FOR_NOTHING]))
        return super().prepare(agreed)

    def _narrow(self, agreed: PlanAgreed) -> None:
        # The rules are compiled by now, which may take seconds: only from here on others have to wait.
        reads = self._excerpt(agreed) if self._narrows else ALL_FACTS
        with self._sharing.held():
            self._snapshots.narrow(reads)

    def _check_expected(self, peer: Verifier | None) -> None:
        if self._expected is not None and peer != self._expected:
            found = "it proved nothing" if peer is None else f"it is {peer}"
            raise PeerNotProven(expected=self._expected, found=found)

    def evaluate(self, need: NeedEvaluation) -> Evaluated | EvaluationFailed:
        """Evaluate the policy over the store as it is now, beside other exchanges."""
        with self._sharing.held() as share:
            self._share = share
            began = share.now()
            try:
                answer = super().evaluate(need)
                if isinstance(answer, Evaluated):
                    self.have = answer.evaluation.have
                    answer = Evaluated(SharedEvaluation(answer.evaluation, self._sharing))
            finally:
                self._share = None
                seconds = share.now() - began
        self._guard.evaluated(seconds)
        return answer

    def sendable(self) -> frozenset[str]:
        """Return what is here and may be sent by the last decision."""
        if self.decision is None:
            return frozenset()
        with self._sharing.held():
            return self.decision.may_send & self.have

    def passed_over(self) -> frozenset[str]:
        """Return what is here and for the peer by the last decision of ours, and not by its own rules."""
        if self.decision is None:
            return frozenset()
        with self._sharing.held():
            return self.decision.passed_over() & self.have

    def _admit(self, size: int) -> None:
        self._guard.store(size)

    def _settle(self) -> None:
        self._guard.settle()

    def remember(self, cursor: Cursor | None) -> None:
        """Keep what the peer advertised, unless our own send set says the same without being told."""
        if cursor is None or self._cursors is None or self._key is None:
            return
        if self.decision is not None:
            with self._sharing.held():
                ours = self.decision.may_send
            if ours.issuperset(cursor.claims):
                with suppress(KeyError):
                    del self._cursors[self._key]
                return
        super().remember(cursor)


class ExchangeEnd(Wired):
    """What a pump drives: one side, whose policy can be changed while it runs."""

    def __init__(
        self, side: Side, host: PolicyHost, known: Verifier | None, ahead: Ahead, turns: Turns
    ) -> None:
        """Begin; `turns` are shared by all ends, for those with much text to read."""
        # The machine has the same limit, but is given a block only when all of it is in memory.
        most = side.machine.exchange.settings.limits.max_fact_block_bytes
        limits = StreamLimits(block_bytes=most, opening_bytes=OPENING_BYTES)
        super().__init__(side, Connection(limits), ahead)
        self.host = host
        self._known = known
        self._turn = Turn(turns)
        self._reads_much = False
        """Whether the peer brought more than `LONG_TEXT`: from then on it waits for its turns."""

    def receive_data(self, data: bytes) -> None:
        """Take bytes from the peer; where it brings much text, wait for its turn first."""
        text = self.side.machine.exchange.epoch.resource_bytes + self._connection.held_of_resource
        self._reads_much = self._reads_much or text > LONG_TEXT
        if not self._reads_much:
            super().receive_data(data)
            return
        with self._turn.held() as mine:
            if mine:
                super().receive_data(data)
            else:
                self.cancel()

    def wait_no_more(self) -> None:
        """Break off instead of waiting for a turn, now and later; to be called in any thread."""
        self._turn.give_up()

    def change_policy(self, policy: PolicyFile | PolicyBook, *, quietly: bool = False) -> None:
        """Renegotiate an open exchange under another policy; a bounded one ends under the old one.

        `quietly` where it is the same for whom the peer is now: what is presented may be as well, and then
        the next epoch is soon enough. To be called in the thread of the end:
        `pump.post(lambda: end.change_policy(policy))`.
        """
        if self.side.machine.exchange.settings.stays_open:
            before = self.host.presented
            presented = present(policy, self._known, before.operation)
            self.host.present(presented)
            if not quietly or presented.module.id != before.module.id:
                self.change_operand(presented.module)


class Exchanges:
    """What all exchanges of one store share."""

    def __init__(
        self,
        store: Store,
        *,
        history: History | None = None,
        cursors: MutableMapping[str, Cursor] | None = None,
        sends_only: bool = False,
    ) -> None:
        """Share a store; what moves is noted in `history`, what peers advertised remembered in `cursors`.

        A store that may not be written to `sends_only`: whatever a policy says, nothing is asked for.
        """
        self.store = store
        self.history = history
        self._sends_only = sends_only
        self._cursors = cursors
        self._snapshots = StoreSnapshots(store)
        self._sharing = Sharing()
        self._turns = Turns()
        self._precompiled = SharedPrograms()
        self._send_sets = SendSets()
        self._children = Semaphore(CHILDREN)

    def load(self) -> None:
        """Load the facts of the store now: a peer that waits for an answer may run out of patience."""
        with self._sharing.held():
            self._snapshots.take((), ())

    def renew(self, change: Callable[[], None]) -> None:
        """Change the store as a whole, and load its facts; exchanges that begin meanwhile wait until then.

        To be called while no exchange goes on: one that has evaluated already would go on with the old facts.
        """
        with self._sharing.held():
            change()
            self._snapshots.take((), ())

    def close(self) -> None:
        """Let go of what was remembered."""
        if isinstance(self._cursors, KeptCursors):
            self._cursors.close()

    def begin(
        self,
        policy: PolicyFile | PolicyBook,
        link: Link,
        *,
        index: int,
        choices: ExchangeChoices = CHOICES,
        observe: Observer | None = None,
        now: Callable[[], Moment] = moment_now,
        guard: Guard = NOBODY,
    ) -> ExchangeEnd:
        """Make one side of an exchange: `index` is 0 for the connecting side and 1 for the accepting one.

        `observe` is told what happens, in the thread that drives the end; `guard` may refuse it there.
        """
        known = link.peer or choices.expected
        presented = present(policy, known, choices.operation)
        settings = Settings(
            index=index,
            module=presented.module,
            dice=choices.dice or Dice(secrets.token_bytes(SEED_BYTES)),
            stays_open=choices.stays_open,
            limits=choices.limits,
            local=choices.local,
            link=link,
            secret=choices.secret,
            all_fields=choices.all_fields,
            partitions=choices.partitions,
            partition_start=choices.offered_start,
            tick_interval=choices.tick_interval,
        )
        host = PolicyHost(
            self.store,
            presented,
            choices,
            sharing=self._sharing,
            snapshots=self._snapshots,
            precompiled=self._precompiled,
            send_sets=self._send_sets,
            cursors=self._cursors,
            # What is advertised at an address that we dial is mostly what was; who dials us may be anybody.
            cursor_key=link.transport if index == 0 else None,
            guard=guard,
            # One who dials meets the same rules again and again; one who is dialled, those of any peer.
            narrows=index == 0,
            sends_only=self._sends_only,
        )
        notes = None if self.history is None else self._notes(self.history, link, host, now)
        # A side that is dialled notes an exchange once there is one: strangers must not fill its history.
        noting = None if notes is None else _Noting(notes, host, at_once=index == 0)
        side = Side(settings, host, now, watch_all(noting, observe))
        return ExchangeEnd(side, host, known, CheckAhead(self._children), self._turns)

    def _notes(
        self, history: History, link: Link, host: PolicyHost, now: Callable[[], Moment]
    ) -> ExchangeNotes:
        return ExchangeNotes(
            history,
            lambda: now().tai,
            address=link.transport,
            in_force=lambda viewer: host.agreed_on.in_force(viewer),
            version=partial(note_state, self.store),
            report=report_fault,
        )


def open_exchanges(
    store: Store, history: History, beside: Path | None, *, sends_only: bool = False
) -> Exchanges:
    """Return what exchanges of a store share; cursors lie beside the history file, where there is one."""
    like = getattr(store, "path", None)
    cursors = None if beside is None else KeptCursors(cursors_file(beside), like=like)
    return Exchanges(store, history=history, cursors=cursors, sends_only=sends_only)


class _Noting:
    """Passes on to notes what happens, when it is known which of our policies it happens under."""

    def __init__(self, notes: ExchangeNotes, host: PolicyHost, *, at_once: bool) -> None:
        """Pass everything on `at_once`, or from the first agreement on."""
        self._notes = notes
        self._host = host
        self._passes_on = at_once

    def __call__(self, observed: Observed) -> None:
        if isinstance(observed, PlanChanged):
            self._host.agree(observed.agreed)
            self._passes_on = True
        if self._passes_on:
            self._notes(observed)

    def arrive(self, records: Sequence[str], loop: int) -> None:
        self._notes.arrive(records, loop)
