"""Bad days, noted: whatever happens to an exchange, the history has what left before it left."""

from __future__ import annotations

from typing import Any

import pytest

from lace.drive import ExchangeNotes, Item, MemoryHistory, Side, Way
from lace.drive.sim import Simulation, invariants
from lace.interlace import RecordReceived, named_record
from tests.drive.histories import at

NOTED: list[tuple[Side, MemoryHistory, list[str]]] = []


class NotedSide(Side):
    """A side of a simulation that is noted."""

    def __init__(self, *given: Any) -> None:
        history = MemoryHistory()
        super().__init__(*given, observe=ExchangeNotes(history, lambda: at(0)))
        NOTED.append((self, history, []))


def test_bad_days_are_noted_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sent is what the simulated wire was given; noted is what a history says."""
    check_said = invariants.check_said

    def checking(side: Side, host: Any, item: Item) -> str | None:
        if isinstance(item, RecordReceived):
            _, history, handed = next(each for each in NOTED if each[0] is side)
            record = named_record(item.raw)
            ways = {passage.way for passage in history.passages(record)}
            assert ways & {Way.LEFT, Way.MAY_HAVE_LEFT}, "it is noted before its bytes go"
            handed.append(record)
        return check_said(side, host, item)

    monkeypatch.setattr("lace.drive.sim.link.Side", NotedSide)
    monkeypatch.setattr(invariants, "check_said", checking)
    monkeypatch.setattr("lace.drive.departures.LEAVING_RECORDS", 2)
    moved = ends = 0
    for seed in range(4000, 4040):
        NOTED.clear()
        Simulation(seed).run()
        for side, history, handed in NOTED:
            (entry,) = history.exchanges()
            account = history.exchange(entry.number)
            left = account.fared(Way.LEFT)
            # The last one of a response that broke off may have been read and then dropped.
            assert set(handed) <= set(left)
            assert len(left) - len(handed) in (0, 1)
            assert account.fared(Way.MAY_HAVE_LEFT) == ()
            assert side.result is not None
            assert (entry.cause, entry.came) == (side.result.cause.value, len(side.result.received_hashes))
            assert entry.rejected == len(side.result.rejections)
            moved += len(left) + entry.came
            ends += 1
    assert ends > 80
    assert moved > 100
