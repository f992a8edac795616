"""What a policy says about the time holds in an exchange that stays open, also where it is not presented."""

from __future__ import annotations

from typing import Final

import pytest

from lace.drive import Wired
from lace.interlace import Dice, Link, Moment
from lace.porcelain import ExchangeChoices, Lace, parse_policy, plan_exchange, present
from lace.record import Record, make_plex
from lace.text import Tai, digest, write_tai
from tests.porcelain.policy_texts import ALICE, BOB, SELECT_ALL

START: Final = 1640995200
UNTIL: Final = f"TickTAI(T), LexCompare(T,'<','{START + 100}:000000000')"
SEND: Final = f"[expose selected]\n[send]\nAllowSend(P) :- Have(P), {UNTIL}.\n"
EXPOSE: Final = f"[expose to anyone]\nAllowQueryRecord(V,P) :- _Viewer(V), Have(P), {UNTIL}.\n"
RECEIVE: Final = f"[expose selected]\n[receive]\nAllowRequest(P,S) :- Advertised(P,S), {UNTIL}.\n"
TIMED: Final = SELECT_ALL.replace("Have(P).", f"Have(P), {UNTIL}.")
OPEN: Final = f"[select]\n{SELECT_ALL}[expose selected]\n"


class Day:
    """Two open exchanges' ends and their clock."""

    def __init__(self, ours: str, theirs: str = OPEN) -> None:
        self.seconds = 0.0
        self.laces = Lace(), Lace()
        self.ends: list[Wired] = [
            lace.exchanges.begin(
                parse_policy(text),
                Link(transport="unix:/x"),
                index=index,
                choices=ExchangeChoices(stays_open=True, dice=Dice(digest(b"%d" % index))),
                now=self.now,
            )
            for index, (lace, text) in enumerate(zip(self.laces, (ours, theirs), strict=True))
        ]
        for end in self.ends:
            end.begin()
        self.flow()

    def now(self) -> Moment:
        """Read the clock."""
        return Moment(write_tai(START + int(self.seconds), 0), self.seconds)

    def flow(self) -> None:
        """Carry bytes until nobody says anything more."""
        left, right = self.ends
        while True:
            there, back = left.data_to_send(), right.data_to_send()
            if not there and not back:
                return
            right.receive_data(there) if there else None
            left.receive_data(back) if back else None

    def wait(self, seconds: int) -> None:
        """Let time pass, as a transport does."""
        until = self.seconds + seconds
        while (due := min((end.timer() or until for end in self.ends), default=until)) < until:
            self.seconds = max(self.seconds, due)
            for end in self.ends:
                end.time_over()
            self.flow()
        self.seconds = until

    def put(self, side: int, name: str) -> Record:
        """Store a record on one side, and let both sides see to it."""
        record = make_plex("u", "notes", name, Tai(f"{START}:000000000"), name.encode())
        self.laces[side].put_records([record])
        self.ends[side].look()
        self.flow()
        return record

    def both_have(self, record: Record) -> bool:
        """Tell whether a record came to the other side."""
        return all(lace.store.has(record.id) for lace in self.laces)


@pytest.mark.parametrize("section", [SEND, EXPOSE, RECEIVE], ids=["send", "expose", "receive"])
def test_a_time_that_is_over_is_over_in_an_open_exchange(section: str) -> None:
    giving, taking = (1, 0) if section is RECEIVE else (0, 1)
    day = Day(f"[select]\n{SELECT_ALL}{section}")
    assert day.both_have(day.put(giving, "in time"))
    day.wait(3600)
    late = day.put(giving, "too late")
    day.wait(60)
    assert not day.laces[taking].store.has(late.id)
    assert [end.result for end in day.ends] == [None, None]


def test_a_time_that_has_come_lets_records_go_without_anything_else() -> None:
    day = Day(f"[select]\n{SELECT_ALL}{SEND}".replace("'<'", "'>'"))
    record = day.put(0, "later")
    assert not day.both_have(record)
    day.wait(120)
    assert day.both_have(record)


@pytest.mark.parametrize(
    ("section", "asks"),
    [
        (SEND, True),
        (EXPOSE, True),
        (RECEIVE, True),
        (EXPOSE.replace("to anyone", f"to {ALICE}"), True),
        (f"[expose selected]\n[select for {ALICE}]\n{TIMED}", True),
        (SEND.replace("TickTAI", "StartTAI"), False),
        ("[expose selected]\n", False),
    ],
    ids=["send", "expose", "receive", "to somebody", "late", "another time", "none"],
)  # fmt: skip
def test_ticks_are_asked_for_where_a_section_that_stays_here_reads_them(section: str, asks: bool) -> None:
    policy = parse_policy(f"[select]\n{SELECT_ALL}{section}")
    assert ("TickTAI" in str(present(policy).module)) is asks
    told = plan_exchange(policy, parse_policy(OPEN)).discloses[0][-1]
    assert told.endswith("but for that they read the time, which it asks for as well") is asks


def test_ticks_are_not_asked_for_twice_or_for_sections_about_somebody_else() -> None:
    policy = parse_policy(f"[select]\n{TIMED}{SEND}")
    assert present(policy).asking is None
    policy = parse_policy(f"[select]\n{SELECT_ALL}" + EXPOSE.replace("to anyone", f"to {ALICE}"))
    assert present(policy, BOB).asking is None
    assert present(policy, ALICE).asking is not None
