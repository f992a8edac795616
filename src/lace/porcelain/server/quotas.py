"""How much peers may have of a server, at once and in a day.

    quotas.enter(account, host) ──▶ Stay ──move_to(account)──▶ … ──store(bytes), carry(bytes)──▶ leave()

Rules of this file:
1. What is counted at once is given back when a connection ends; what is counted by the day is not.
2. A day is one of UTC. The books are kept in memory: a server that starts again begins a new day.
3. Strangers cannot make the books grow: accounts of those who are not here are dropped, the smallest first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Final

from lace.errors import LimitExceeded

DAY_SECONDS: Final = 86_400
MOST_ACCOUNTS: Final = 10_000
"""Of those who are not connected; an account is about 100 bytes."""


class TooMany(LimitExceeded):
    """More exchanges at once than there is room for."""

    code = "serve/busy"
    text = "{limit}: {who} would have {seen} exchanges at once, and {bound} is the limit"


class QuotaSpent(LimitExceeded):
    """A peer that has had what it may have in a day, or would have more with what came."""

    code = "serve/quota"
    text = "{limit}: {who} has had {seen} of {bound} bytes today{more}"


@dataclass(frozen=True, slots=True)
class DayLimits:
    """How much of a day's bytes one may have; None is no limit."""

    stored: int | None = None
    """Bytes of records that came from a peer and were stored."""
    traffic: int | None = None
    """Bytes on the wire, both ways."""


NO_LIMITS: Final = DayLimits()


class Quotas:
    """The books of one server; every thread may write to them."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Keep books by the clock `now`, in seconds of UTC."""
        self._now = now
        self._lock = Lock()
        self._day = 0
        self._here: Counter[str] = Counter()
        self._hosts: Counter[str] = Counter()
        self._stored: Counter[str] = Counter()
        self._traffic: Counter[str] = Counter()
        self._stored_in_all = 0

    @property
    def stored_today(self) -> int:
        """How many bytes everybody has stored today."""
        with self._lock:
            self._turn_page()
            return self._stored_in_all

    @property
    def open(self) -> int:
        """How many exchanges there are."""
        return self._here.total()

    def enter(self, account: str, host: str | None, bounds: Bounds, *, final: bool = True) -> Stay:
        """Let an exchange begin, or say what is full.

        What the account had today counts only where the account is final: somebody who may yet prove another
        name must not pay for its neighbours.
        """
        with self._lock:
            self._turn_page()
            _check_room("exchanges", "everybody", self._here.total(), bounds.exchanges)
            if host is not None:
                _check_room("exchanges-per-host", host, self._hosts[host], bounds.per_host)
            _check_room("exchanges-per-peer", account, self._here[account], bounds.per_peer)
            if final:
                self._check_day(account, bounds)
            self._here[account] += 1
            if host is not None:
                self._hosts[host] += 1
        return Stay(self, account, host, bounds)

    def _check_day(self, account: str, bounds: Bounds, more: int = 0) -> None:
        for limit, bound, had in (
            ("stored-per-day", bounds.day.stored, self._stored[account]),
            ("traffic-per-day", bounds.day.traffic, self._traffic[account]),
        ):
            if bound is not None and had >= bound:
                raise QuotaSpent(limit=limit, who=account, seen=had, bound=bound, more="")
        if bounds.stored_in_all is not None and self._stored_in_all + more > bounds.stored_in_all:
            raise QuotaSpent(
                limit="stored-per-day-in-all",
                who="everybody",
                seen=self._stored_in_all,
                bound=bounds.stored_in_all,
                more=_with(more),
            )

    def _turn_page(self) -> None:
        day = int(self._now() // DAY_SECONDS)
        if day != self._day:
            self._day = day
            self._stored.clear()
            self._traffic.clear()
            self._stored_in_all = 0
        for book in (self._stored, self._traffic):
            if len(book) > 2 * MOST_ACCOUNTS:
                for account, _ in book.most_common()[MOST_ACCOUNTS:]:
                    if not self._here[account]:
                        del book[account]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What holds for one exchange."""

    exchanges: int
    per_host: int
    per_peer: int
    day: DayLimits = NO_LIMITS
    stored_in_all: int | None = None


class Stay:
    """One exchange in the books."""

    def __init__(self, quotas: Quotas, account: str, host: str | None, bounds: Bounds) -> None:
        self._quotas = quotas
        self._host = host
        self._bounds = bounds
        self._carried = 0
        self.account = account

    def move_to(self, account: str, bounds: Bounds) -> None:
        """Go on under the name that is final now; or say what is full there."""
        quotas = self._quotas
        with quotas._lock:
            self._bounds = bounds
            quotas._turn_page()
            quotas._check_day(account, bounds)
            if account != self.account:
                _check_room("exchanges-per-peer", account, quotas._here[account], bounds.per_peer)
                quotas._here[account] += 1
                self._give_back()
                self.account = account

    def store(self, size: int) -> None:
        """Count bytes that are about to be stored, or say that there is no room for them."""
        quotas, bound = self._quotas, self._bounds.day.stored
        with quotas._lock:
            quotas._turn_page()
            had = quotas._stored[self.account]
            if bound is not None and had + size > bound:
                raise QuotaSpent(
                    limit="stored-per-day", who=self.account, seen=had, bound=bound, more=_with(size)
                )
            quotas._check_day(self.account, self._bounds, size)
            quotas._stored[self.account] += size
            quotas._stored_in_all += size

    def carry(self, total: int) -> None:
        """Count what the connection has carried, and say when that was all for today."""
        with self._quotas._lock:
            # Who stays overnight begins a new day too, also where nobody else comes.
            self._quotas._turn_page()
            self._quotas._traffic[self.account] += total - self._carried
            self._carried = total
            self._quotas._check_day(self.account, self._bounds)

    @property
    def room(self) -> int | None:
        """How many bytes may still be stored today, as a peer may be told; None is any number.

        What everybody has left is told roughly: to the byte, whoever asks twice would read how many bytes of
        records others brought in between, whatever of them it may see.
        """
        bound, quotas = self._bounds.day.stored, self._quotas
        rooms = [] if bound is None else [bound - quotas._stored[self.account]]
        if self._bounds.stored_in_all is not None:
            rooms.append(_roughly(self._bounds.stored_in_all - quotas._stored_in_all))
        return max(0, min(rooms)) if rooms else None

    def leave(self) -> None:
        """End."""
        with self._quotas._lock:
            self._give_back()
            if self._host is not None:
                _give_back(self._quotas._hosts, self._host)
                self._host = None

    def _give_back(self) -> None:
        _give_back(self._quotas._here, self.account)


def _check_room(limit: str, who: str, there: int, bound: int) -> None:
    if there >= bound:
        raise TooMany(limit=limit, who=who, seen=there + 1, bound=bound)


def _roughly(left: int) -> int:
    """Return a number of bytes cut to four binary digits: an eighth less at most.

    >>> _roughly(100_000), _roughly(98_304), _roughly(15), _roughly(-1)
    (98304, 98304, 15, 0)
    """
    cut = max(left, 0).bit_length() - 4
    return left >> cut << cut if cut > 0 else max(left, 0)


def _with(more: int) -> str:
    return f", and {more} more came, which are not stored" if more else ""


def _give_back(book: Counter[str], name: str) -> None:
    book[name] -= 1
    if book[name] <= 0:
        del book[name]
