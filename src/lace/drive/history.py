"""The history of exchanges: what is noted, and the port that keeps it (docs/design/history.md).

    history.begin(…) ──▶ number
    history.note(number, notes)         as things happen; `durable` before bytes leave
    history.exchanges(), .exchange(n)   what there was
    history.passages(record)            every time that one record moved
    history.find(prefix)                ids that begin so, of whatever moved
    history.forget_before(time)         what nobody will ask about any more

Rules of this file:
1. A history is local. No rule reads it, and nothing of it goes to a peer.
2. What is noted is enough to make a decision again: the texts that decided, and the facts of the moment.
3. Leaving comes before left: a batch without its `Left` may have left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Final, NewType, Protocol, TypeAlias

from lace.errors import Missing, Unavailable
from lace.facts import Fact
from lace.policy import Compose, Exposure, Restriction
from lace.stores import Version
from lace.text import LinkId, PlanId, RecordId, Tai, Verifier, unix_from_tai

ExchangeNumber = NewType("ExchangeNumber", int)
ANONYMOUS: Final = "anonymous"
"""Stands for whoever proved nothing."""


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def write_utc(tai: Tai) -> str:
    """Write TAI text as ISO text in UTC, to the microsecond, for programs that know no TAI.

    >>> write_utc(Tai("1640995200:250000000"))
    '2021-12-31T23:59:23.250000+00:00'
    """
    seconds, nanoseconds = unix_from_tai(tai)
    moment = _EPOCH + timedelta(seconds=seconds, microseconds=nanoseconds // 1000)
    return moment.isoformat(timespec="microseconds")


class NoSuchExchange(Missing):
    """A number that no exchange has."""

    code = "history/no-exchange"
    text = "there is no exchange {number} in the history: `lace history` lists those that there are"


class HistoryReplaced(Unavailable):
    """A history that was damaged, and has another file now."""

    code = "history/replaced"
    text = "the history {where} was damaged ({reason}) and set aside as {aside}; a new one begins"


class NotNoted(Unavailable):
    """Records that were about to leave, and a history that could not take that down."""

    code = "history/not-noted"
    text = "what leaves is noted first, and that failed, so the records that were next stayed here: {reason}"


# What had a say, and stays at home.


class Role(Enum):
    """What a section of a local policy is for."""

    SELECT = "select"
    """A part of our operand; together the parts are what the peer was shown."""
    EXPOSE = "expose"
    SEND = "send"
    RECEIVE = "receive"


@dataclass(frozen=True, slots=True)
class Section:
    """Rules of ours that had a say."""

    role: Role
    text: str
    """Canonical."""
    name: str = ""
    """Where they stand, such as `[expose to anyone] (town.policy:4)`; empty where nobody said so."""


@dataclass(frozen=True, slots=True)
class InForce:
    """What of our own policy had a say about one viewer."""

    sections: tuple[Section, ...] = ()
    union: bool = False
    """Whether one expose section is enough for a record to be shown."""
    trusted: bool = False
    """Whether the viewer's rules read everything."""
    noted: bool = True
    """Whether anybody said what had a say: without, sections that are missing here mean nothing."""

    def of(self, role: Role) -> tuple[Section, ...]:
        """Return the sections of one role."""
        return tuple(section for section in self.sections if section.role is role)


NOT_NOTED: Final = InForce(noted=False)
"""Stands for whatever had a say and was not told."""


def rules_in_force(exposure: Exposure | None, restrictions: Sequence[Restriction], viewer: str) -> InForce:
    """Return what an exposure and restrictions say about a viewer.

    >>> rules_in_force(None, (), "Opq_x")
    InForce(sections=(), union=False, trusted=False, noted=True)
    """
    exposure = exposure or Exposure()
    sections = [Section(Role.EXPOSE, str(each.program)) for each in exposure.in_scope(viewer)]
    for each in restrictions:
        role = Role.SEND if each.gate == "send" else Role.RECEIVE
        sections.append(Section(role, str(each.program)))
    return InForce(tuple(sections), exposure.compose is Compose.UNION, exposure.is_trusted(viewer))


# What is noted while an exchange goes on.


@dataclass(frozen=True, slots=True)
class Beginning:
    """An exchange begins."""

    at: Tai
    address: str | None = None
    """Through which it goes, where there is one."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """A plan was agreed on: whose rules, for whose eyes, over which runtime facts."""

    at: Tai
    epoch: int
    side: int
    """Which operand is ours."""
    plan: PlanId
    transcript: str
    operands: tuple[str, str]
    """Canonical texts, by index."""
    peer: Verifier | None
    here: Verifier | None
    viewer: str
    link_id: LinkId | None
    runtime: tuple[Fact, ...]
    in_force: InForce = NOT_NOTED

    def to_json(self) -> dict[str, Any]:
        """Return what was agreed on as a program reads it."""
        parts = self.in_force.sections
        sections = [{"role": each.role.value, "where": each.name, "text": each.text} for each in parts]
        return {
            "at": self.at, "epoch": self.epoch, "side": self.side, "plan": self.plan, "peer": self.peer,
            "here": self.here, "viewer": self.viewer, "link_id": self.link_id,
            "transcript": self.transcript, "operands": list(self.operands),
            "runtime": [list(fact) for fact in self.runtime], "sections": sections,
            "union": self.in_force.union, "trusted": self.in_force.trusted, "noted": self.in_force.noted,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Leaving:
    """Records are about to leave."""

    at: Tai
    batch: int
    """Which batch of the exchange, from 1."""
    epoch: int
    loop: int
    tick: str
    records: tuple[str, ...]
    version: Version | None = None
    """The state of our store when it was decided."""


@dataclass(frozen=True, slots=True)
class Left:
    """What left of a batch."""

    batch: int
    records: tuple[str, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class Came:
    """Records came, and are stored."""

    at: Tai
    epoch: int
    loop: int
    records: tuple[str, ...]


class Stay(Enum):
    """Why a record did not move."""

    NOT_AVAILABLE = "not-available"
    """We asked, and the peer could no longer send it."""
    DEFERRED = "deferred"
    """We asked, and the peer left it for later."""
    HELD_BACK = "held-back"
    """The peer asked, and it could not or must not be sent."""


@dataclass(frozen=True, slots=True)
class Stayed:
    """Records that somebody asked for and did not get."""

    at: Tai
    epoch: int
    why: Stay
    records: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rejected:
    """Something came for a record and was not kept."""

    at: Tai
    epoch: int
    loop: int
    record: str
    error_code: str
    words: str


@dataclass(frozen=True, slots=True)
class Sums:
    """What an exchange has done so far."""

    loops: int = 0
    turns: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0


@dataclass(frozen=True, slots=True)
class Ending:
    """An exchange is over."""

    at: Tai
    cause: str
    error_code: str | None
    words: str | None
    sums: Sums


Note: TypeAlias = Agreement | Leaving | Left | Came | Stayed | Rejected | Sums | Ending


# What is read later.


class Way(Enum):
    """What became of a record in an exchange."""

    LEFT = "left"
    MAY_HAVE_LEFT = "may-have-left"
    """It was about to leave, and nobody noted whether it did."""
    CAME = "came"
    REJECTED = "rejected"
    NOT_AVAILABLE = "not-available"
    DEFERRED = "deferred"
    HELD_BACK = "held-back"


@dataclass(frozen=True, slots=True)
class Passage:
    """One record, one time."""

    number: ExchangeNumber
    way: Way
    at: Tai
    epoch: int
    loop: int = 0
    tick: str | None = None
    version: Version | None = None
    error_code: str | None = None
    words: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Records that fared alike, at one time."""

    way: Way
    at: Tai
    epoch: int
    loop: int
    records: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExchangeEntry:
    """One exchange as a list shows it."""

    number: ExchangeNumber
    began: Tai
    ended: Tai | None
    """None where it goes on, or where its process was killed."""
    address: str | None
    peer: Verifier | None
    """Of the last agreement, where it was proven."""
    viewer: str | None
    plans: tuple[PlanId, ...]
    """Of all epochs, each once."""
    cause: str | None
    error_code: str | None
    words: str | None
    sums: Sums
    left: int = 0
    may_have_left: int = 0
    came: int = 0
    rejected: int = 0
    not_available: int = 0
    deferred: int = 0
    held_back: int = 0

    @property
    def plan(self) -> PlanId | None:
        """The plan of the last epoch."""
        return self.plans[-1] if self.plans else None

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a program reads it."""
        return {
            **asdict(self),
            "began_utc": write_utc(self.began),
            "ended_utc": None if self.ended is None else write_utc(self.ended),
            "plans": list(self.plans),
        }


@dataclass(frozen=True, slots=True)
class Account:
    """One exchange in full."""

    entry: ExchangeEntry
    agreements: tuple[Agreement, ...]
    batches: tuple[Batch, ...] = ()
    """In the order in which they were noted."""
    rejections: tuple[Rejected, ...] = ()

    def fared(self, way: Way) -> tuple[str, ...]:
        """Return the records that fared in one way, in the order in which they were noted."""
        return tuple(record for batch in self.batches if batch.way is way for record in batch.records)

    def to_json(self) -> dict[str, Any]:
        """Return the exchange as a program reads it."""
        ways = [way for way in Way if way is not Way.REJECTED]
        return {
            **self.entry.to_json(),
            "agreements": [each.to_json() for each in self.agreements],
            "records": {way.value.replace("-", "_"): list(self.fared(way)) for way in ways},
            "rejections": [
                {"record": each.record, "code": each.error_code, "error": each.words, "loop": each.loop}
                for each in self.rejections
            ],
        }


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which exchanges to list."""

    peer: str | None = None
    """A verifier, the beginning of one, a viewer, or a part of an address."""
    since: Tai | None = None
    plan: str | None = None
    """A plan id, or the beginning of one."""
    limit: int | None = None

    def includes(self, entry: ExchangeEntry) -> bool:
        """Tell whether an exchange is one of them; the limit is not looked at."""
        if self.since is not None and entry.began < self.since:
            return False
        if self.plan is not None and not any(plan.startswith(self.plan) for plan in entry.plans):
            return False
        return self.peer is None or is_peer(self.peer, entry)


def is_peer(named: str, entry: ExchangeEntry) -> bool:
    """Tell whether an exchange was with whom this text names."""
    if named == ANONYMOUS:
        return entry.peer is None
    proven = (entry.peer or "").startswith(named)
    return proven or entry.viewer == named or named in (entry.address or "")


class History(Protocol):
    """Where exchanges are noted. Safe to use from several threads; a file also from several processes."""

    def begin(self, beginning: Beginning) -> ExchangeNumber:
        """Give a new exchange its number, and have it on the disk."""
        ...

    def note(self, number: ExchangeNumber, notes: Sequence[Note], *, durable: bool = False) -> None:
        """Keep notes of an exchange, all or none; `durable` ones are on the disk when this returns.

        `HistoryReplaced` where the exchange has to begin anew, any other `StoreError` where nothing was kept.
        """
        ...

    def exchanges(self, wanted: Wanted | None = None) -> Iterator[ExchangeEntry]:
        """Yield exchanges, the newest first."""
        ...

    def exchange(self, number: int, *, records: bool = True) -> Account:
        """Return an exchange in full, or without what moved in it; `NoSuchExchange` where there is none."""
        ...

    def passages(self, record: str) -> list[Passage]:
        """Return every time that a record left, came, or was asked for in vain, the oldest first."""
        ...

    def find(self, prefix: str, limit: int = 10) -> list[RecordId]:
        """Return up to `limit` ids that begin so, in text order; the letter and its dot may be left out."""
        ...

    def forgotten_until(self) -> Tai | None:
        """Return when the newest was noted of what was forgotten; None where nothing was."""
        ...

    def forget_before(self, time: Tai) -> int:
        """Forget what was noted before a time; return how many exchanges are gone.

        An exchange whose end was noted before it goes whole. Of one that goes on, or whose process was
        killed, go the records that were noted before it; that it began and what was agreed on stay.
        """
        ...

    def close(self) -> None:
        """Let go of everything; closing twice is fine."""
        ...
