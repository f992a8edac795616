"""The suite that every history runs: what is noted is what is told, in the same words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lace.drive import (
    Account,
    Agreement,
    Batch,
    Beginning,
    Came,
    Ending,
    ExchangeNumber,
    History,
    InForce,
    Leaving,
    Left,
    NoSuchExchange,
    Passage,
    Rejected,
    Role,
    Section,
    Stay,
    Stayed,
    Sums,
    Wanted,
    Way,
)
from lace.policy import make_plan
from lace.record import make_blob
from lace.stores import Version
from lace.text import Tai, Verifier
from tests.interlace.pair import ALL, module
from tests.interlace.scenarios import GROUP_U
from tests.strategies import SECRETS

IDS = tuple(make_blob(b"%d" % number).id for number in range(12))
PLAN = make_plan(module(ALL), module(GROUP_U))
ALICE: Verifier = SECRETS[0].verifier


def at(second: int) -> Tai:
    return Tai(f"{1640995200 + second}:000000000")


def agreement(epoch: int = 1, peer: Verifier | None = ALICE, in_force: InForce | None = None) -> Agreement:
    return Agreement(
        at=at(1),
        epoch=epoch,
        side=0,
        plan=PLAN.id,
        transcript=str(PLAN.transcript),
        operands=(str(PLAN.operands[0].module), str(PLAN.operands[1].module)),
        peer=peer,
        here=None,
        viewer=peer or "Opq_x",
        link_id=None,
        runtime=(("StartTAI", at(0)), ("Transport", "it's \\ here"), ("TransportEncrypted",)),
        in_force=in_force or InForce((Section(Role.EXPOSE, "x.", "[expose to anyone] (a:1)"),), union=True),
    )


def leaving(batch: int, *records: str, second: int = 2) -> Leaving:
    return Leaving(at(second), batch, 1, batch, at(0), records, Version("g", 7))


class HistoryContract:
    """Say how to open a history in a folder, and what every history promises is tested."""

    def open_history(self, folder: Path) -> History:
        raise NotImplementedError

    @pytest.fixture
    def history(self, tmp_path: Path) -> Iterator[History]:
        history = self.open_history(tmp_path)
        yield history
        history.close()

    def test_nothing_was_noted_yet(self, history: History) -> None:
        assert list(history.exchanges()) == []
        assert history.passages(IDS[0]) == []
        with pytest.raises(NoSuchExchange, match="`lace history` lists"):
            history.exchange(1)

    def test_an_exchange_is_told_as_it_was_noted(self, history: History) -> None:
        number = history.begin(Beginning(at(0), "tcp:host:1"))
        sums = Sums(3, 4, 500, 60)
        rejected = Rejected(at(4), 1, 2, IDS[6], "record/hash-mismatch", "it is another one")
        history.note(number, [agreement()], durable=True)
        history.note(number, [leaving(1, *IDS[:3])], durable=True)
        history.note(number, [Left(1, IDS[:3], 300), leaving(2, *IDS[3:5])])
        history.note(number, [Left(2, IDS[4:5], 200), leaving(3, IDS[9])])
        history.note(number, [Came(at(4), 1, 2, IDS[5:6]), rejected])
        for why, record in zip(Stay, IDS[7:10], strict=True):
            history.note(number, [Stayed(at(5), 1, why, (record,))])
        history.note(number, [Ending(at(9), "protocol", "interlace/block", "what a block", sums)])
        account = history.exchange(number)
        assert account == Account(
            account.entry,
            (agreement(),),
            (
                Batch(Way.LEFT, at(2), 1, 1, IDS[:3]),
                Batch(Way.LEFT, at(2), 1, 2, IDS[4:5]),
                Batch(Way.MAY_HAVE_LEFT, at(2), 1, 3, IDS[9:10]),
                Batch(Way.CAME, at(4), 1, 2, IDS[5:6]),
                Batch(Way.NOT_AVAILABLE, at(5), 1, 0, IDS[7:8]),
                Batch(Way.DEFERRED, at(5), 1, 0, IDS[8:9]),
                Batch(Way.HELD_BACK, at(5), 1, 0, IDS[9:10]),
            ),
            (rejected,),
        )
        entry = account.entry
        assert (entry.number, entry.began, entry.ended, entry.address) == (number, at(0), at(9), "tcp:host:1")
        assert (entry.peer, entry.viewer, entry.plan) == (ALICE, ALICE, PLAN.id)
        assert (entry.cause, entry.error_code, entry.words) == ("protocol", "interlace/block", "what a block")
        assert (entry.sums, entry.left, entry.may_have_left, entry.came) == (sums, 4, 1, 1)
        assert (entry.rejected, entry.not_available, entry.deferred, entry.held_back) == (1, 1, 1, 1)
        assert list(history.exchanges()) == [entry]

    def test_a_record_is_found_every_time_that_it_moved(self, history: History) -> None:
        one, two = history.begin(Beginning(at(0))), history.begin(Beginning(at(0)))
        history.note(two, [leaving(1, *IDS[:4]), Left(1, IDS[1:2], 10)])
        history.note(one, [agreement(), leaving(1, *IDS[:2])])
        history.note(one, [Came(at(3), 1, 1, IDS[1:2]), Rejected(at(4), 1, 2, IDS[0], "a/b", "words")])
        history.note(two, [Stayed(at(5), 1, Stay.HELD_BACK, IDS[:1])])
        version = Version("g", 7)

        def passed(number: ExchangeNumber, way: Way) -> Passage:
            return Passage(number, way, at(2), 1, 1, at(0), version)

        assert history.passages(IDS[1]) == [
            passed(one, Way.MAY_HAVE_LEFT),
            Passage(one, Way.CAME, at(3), 1, 1),
            passed(two, Way.LEFT),
        ]
        assert history.passages(IDS[0]) == [
            passed(one, Way.MAY_HAVE_LEFT),
            Passage(one, Way.REJECTED, at(4), 1, 2, error_code="a/b", words="words"),
            Passage(two, Way.HELD_BACK, at(5), 1),
        ]
        assert history.passages(IDS[2]) == [], "it was about to leave, and did not"
        assert history.passages(IDS[1][:-1]) == history.passages("") == [], "whole ids are looked for"

    def test_exchanges_are_chosen_by_peer_time_and_plan(self, history: History) -> None:
        numbers = []
        for second, peer, address in ((0, ALICE, None), (5, None, "ws://host/interlace"), (9, None, None)):
            numbers.append(history.begin(Beginning(at(second), address)))
            history.note(numbers[-1], [agreement(peer=peer)])
        numbers.append(history.begin(Beginning(at(12))))

        def chosen(wanted: Wanted) -> list[int]:
            return [numbers.index(entry.number) for entry in history.exchanges(wanted)]

        assert chosen(Wanted()) == [3, 2, 1, 0]
        assert chosen(Wanted(limit=2)) == [3, 2]
        assert chosen(Wanted(since=at(5))) == [3, 2, 1]
        assert chosen(Wanted(plan=PLAN.id[:9])) == [2, 1, 0]
        assert chosen(Wanted(peer=ALICE[:9])) == [0]
        assert chosen(Wanted(peer="Opq_x")) == [2, 1]
        assert chosen(Wanted(peer="//host/")) == [1]
        assert chosen(Wanted(peer="anonymous", limit=2)) == [3, 2]
        assert chosen(Wanted(plan="E.none")) == []

    def test_the_last_agreement_and_the_last_sums_are_the_ones_listed(self, history: History) -> None:
        number = history.begin(Beginning(at(0)))
        other = make_plan(module(GROUP_U), module(ALL))
        first = replace(agreement(1, None, InForce()), plan=other.id, transcript=str(other.transcript))
        trusted = InForce((Section(Role.SEND, "y.", "é"), Section(Role.SELECT, "z.")), trusted=True)
        history.note(number, [first, Sums(1, 1, 2, 3), agreement(2, ALICE, trusted), Sums(2, 3, 4, 5)])
        account = history.exchange(number)
        assert account.agreements == (first, agreement(2, ALICE, trusted))
        assert (account.entry.peer, account.entry.sums) == (ALICE, Sums(2, 3, 4, 5))
        assert (account.entry.ended, account.entry.cause) == (None, None)
        assert (account.entry.plans, account.entry.plan) == ((other.id, PLAN.id), PLAN.id)
        assert len(list(history.exchanges(Wanted(plan=other.id)))) == 1
        assert history.exchange(number, records=False) == Account(account.entry, account.agreements)

    def test_what_is_older_than_a_time_is_forgotten(self, history: History) -> None:
        over, later, going = (history.begin(Beginning(at(n))) for n in range(3))
        first = agreement(in_force=InForce((Section(Role.SEND, "only.here", "a"),)))
        history.note(over, [first, leaving(1, *IDS[:2]), Left(1, IDS[:2], 9), Came(at(3), 1, 1, IDS[5:6])])
        history.note(over, [Ending(at(4), "fixed-point", None, None, Sums(1, 1, 1, 1))])
        history.note(later, [agreement(), leaving(1, IDS[0]), Left(1, IDS[:1], 9)])
        history.note(later, [Ending(at(9), "fixed-point", None, None, Sums())])
        history.note(going, [agreement(), leaving(1, IDS[0]), leaving(2, IDS[1], second=6)])
        history.note(going, [Left(1, IDS[:1], 9), Stayed(at(3), 1, Stay.DEFERRED, IDS[3:4])])
        assert history.forget_before(at(2)) == 0
        assert len(history.passages(IDS[0])) == 3
        assert history.forget_before(at(5)) == 1
        assert [entry.number for entry in history.exchanges()] == [going, later]
        with pytest.raises(NoSuchExchange):
            history.exchange(over)
        assert history.passages(IDS[5]) == history.passages(IDS[3]) == history.passages(IDS[0]) == []
        assert [each.way for each in history.passages(IDS[1])] == [Way.MAY_HAVE_LEFT]
        for number in (later, going):
            assert history.exchange(number).agreements == (agreement(),), "what decided is still there"
        history.note(going, [Left(2, IDS[1:2], 9)])
        assert [each.way for each in history.passages(IDS[1])] == [Way.LEFT]
        assert history.begin(Beginning(at(9))) == going + 1, "no number is given twice"
        assert history.forget_before(at(10)) == 1
        assert history.forget_before(at(10)) == 0

    def test_it_keeps_how_far_it_was_cut(self, history: History) -> None:
        assert history.forgotten_until() is None
        over, going = history.begin(Beginning(at(0))), history.begin(Beginning(at(1)))
        history.note(over, [agreement(), leaving(1, IDS[0]), Left(1, IDS[:1], 9)])
        history.note(over, [Ending(at(4), "fixed-point", None, None, Sums())])
        history.note(going, [agreement(), leaving(1, IDS[1], second=6)])
        history.forget_before(at(2))
        assert history.forgotten_until() is None, "nothing was that old"
        history.forget_before(at(5))
        assert history.forgotten_until() == at(4), "what was forgotten, not what might have been"
        history.forget_before(at(50))
        assert history.forgotten_until() == at(6)
        history.forget_before(at(3))
        assert history.forgotten_until() == at(6), "it never was cut less"

    def test_ids_are_found_by_their_beginning(self, history: History) -> None:
        number = history.begin(Beginning(at(0)))
        history.note(number, [agreement(), leaving(1, *IDS[:2]), Came(at(3), 1, 1, IDS[2:3])])
        history.note(number, [Rejected(at(4), 1, 2, IDS[3], "a/b", "words")])
        assert history.find(IDS[0]) == history.find(IDS[0][2:]) == [IDS[0]]
        assert history.find(IDS[0][:4]) == sorted(each for each in IDS[:4] if each.startswith(IDS[0][:4]))
        assert history.find(IDS[3]) == [IDS[3]]
        assert history.find(IDS[4]) == []
        assert history.find(IDS[0][:2], limit=1) == sorted(IDS[:4])[:1]

    def test_nothing_in_force_is_not_the_same_as_nothing_noted(self, history: History) -> None:
        number = history.begin(Beginning(at(0)))
        history.note(number, [agreement(1, in_force=InForce()), agreement(2, in_force=InForce(noted=False))])
        first, second = history.exchange(number).agreements
        assert (first.in_force.noted, second.in_force.noted) == (True, False)
        assert second.to_json()["noted"] is False
