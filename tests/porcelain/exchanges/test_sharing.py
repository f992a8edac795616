"""Facts that several threads share: one at a time, in the order of asking, and nobody for long."""

from __future__ import annotations

from threading import Event, Thread

from lace.porcelain import Sharing


class Clock:
    """A clock that goes on by a second whenever it is looked at."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        self.time += 1.0
        return self.time


def test_nobody_else_has_the_facts_and_whoever_waits_gets_them_in_order() -> None:
    sharing, order = Sharing(), []
    inside = False

    def evaluate(number: int) -> None:
        nonlocal inside
        with sharing.held():
            assert not inside
            inside = True
            order.append(number)
            inside = False

    threads = []
    with sharing.held():
        for number in range(5):
            threads.append(Thread(target=evaluate, args=(number,)))
            threads[-1].start()
            while len(sharing._waiting) <= number:
                pass
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]


def test_a_long_evaluation_lets_others_in_and_is_not_charged_for_it() -> None:
    clock = Clock()
    sharing = Sharing(clock)
    told, waits = [], Event()

    def other() -> None:
        waits.set()
        with sharing.held():
            told.append("other")
            clock.time += 1000.0

    with sharing.held() as share:
        before = share.now()
        thread = Thread(target=other)
        thread.start()
        waits.wait()
        while not sharing.wanted:
            pass
        after = share.now()
        told.append("first again")
    thread.join()
    assert told == ["other", "first again"]
    assert after - before < 10.0


def test_whoever_is_alone_keeps_the_facts() -> None:
    sharing = Sharing(Clock())
    with sharing.held() as share:
        assert share.now() < share.now()
    assert not sharing.wanted
