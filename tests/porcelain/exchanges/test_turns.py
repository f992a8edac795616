"""Turns: one at a time, in the order of asking, and nobody has to wait who is told not to."""

from __future__ import annotations

from threading import Thread

from lace.porcelain.exchanges.turns import Turn, Turns


def waiting(turns: Turns, turn: Turn, got: list[tuple[Turn, bool]]) -> Thread:
    """Ask for a turn in a thread of its own; return it when it waits."""

    def run() -> None:
        with turn.held() as mine:
            got.append((turn, mine))

    thread = Thread(target=run)
    asked = len(turns.queue)
    thread.start()
    while len(turns.queue) <= asked:
        pass
    return thread


def test_turns_come_in_the_order_of_asking() -> None:
    turns, got = Turns(), []
    others = [Turn(turns) for _ in range(5)]
    with Turn(turns).held() as mine:
        assert mine
        threads = [waiting(turns, turn, got) for turn in others]
        assert not got
    for thread in threads:
        thread.join()
    assert got == [(turn, True) for turn in others]
    assert not turns.queue


def test_who_gives_up_waits_no_more_and_those_behind_it_have_their_turns() -> None:
    turns, got = Turns(), []
    first, second = Turn(turns), Turn(turns)
    with Turn(turns).held():
        threads = [waiting(turns, first, got), waiting(turns, second, got)]
        first.give_up()
        threads[0].join()
        assert got == [(first, False)]
        with first.held() as mine:
            assert not mine, "nor does it later"
    threads[1].join()
    assert got == [(first, False), (second, True)]
    with first.held() as mine:
        assert mine, "where nobody is before it there is nothing to wait for"
    assert not turns.queue
