"""Hands on the wire: change what a side sends before it arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lace.drive import Item
from lace.facts import Fact
from lace.interlace import BlockReceived, RecordReceived
from tests.interlace.pair import Meddler

Change = Callable[[list[Fact]], Iterable[Fact]]


def change_block(holding: str, change: Change, *, sender: int = 0, times: int = 1) -> Meddler:
    """Change the first blocks of a sender that hold a fact of this name."""
    left = times

    def meddle(who: int, item: Item) -> list[Item]:
        nonlocal left
        if (
            who == sender
            and left
            and isinstance(item, BlockReceived)
            and any(fact[0] == holding for fact in item.facts)
        ):
            left -= 1
            return [BlockReceived(tuple(change(list(item.facts))))]
        return [item]

    return meddle


def change_nth(number: int, change: Change, *, sender: int = 0) -> Meddler:
    """Change the block with this number of a sender, counted from 0; empty ones count."""
    seen = -1

    def meddle(who: int, item: Item) -> list[Item]:
        nonlocal seen
        if who == sender and isinstance(item, BlockReceived):
            seen += 1
            if seen == number:
                return [BlockReceived(tuple(change(list(item.facts))))]
        return [item]

    return meddle


def change_records(change: Callable[[bytes], Iterable[bytes]], *, sender: int = 0) -> Meddler:
    """Change the records of a sender."""

    def meddle(who: int, item: Item) -> list[Item]:
        if who == sender and isinstance(item, RecordReceived):
            return [RecordReceived(raw) for raw in change(item.raw)]
        return [item]

    return meddle


def replace_fact(name: str, *values: str) -> Change:
    """Put other values into every fact of a name."""

    def change(facts: list[Fact]) -> list[Fact]:
        return [(name, *values) if fact[0] == name else fact for fact in facts]

    return change


def add_facts(*more: Fact) -> Change:
    """Add facts to a block."""
    return lambda facts: [*facts, *more]


def drop_facts(name: str) -> Change:
    """Take the facts of a name out of a block."""
    return lambda facts: [fact for fact in facts if fact[0] != name]
