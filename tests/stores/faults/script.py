"""What a writer does in the fault tests: a seeded list of steps, and the state after each of them.

Rules of this file:
1. The same seed is the same script, in every process.
2. After a fault the store must be in the state after the last acknowledged step, or after the one that was
   under way: never in between, never before, never elsewhere.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import apsw

from lace.record import make_blob
from lace.stores import SqliteStore, Store
from tests.stores.model import Model
from tests.stores.samples import sample


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a store: a verb and the numbers of the samples it is about."""

    verb: Literal["put", "put_many", "remove", "forget", "allow", "bulk"]
    numbers: tuple[int, ...]

    def run(self, store: Store | Model) -> None:
        """Do it."""
        if self.verb == "bulk":
            records = [make_blob(b"bulk %d" % n) for n in range(*self.numbers)]
            store.put_many(records, arriving=True) if not isinstance(store, Model) else store.put(records)
        elif self.verb in ("put", "put_many"):
            given = [sample(number) for number in self.numbers]
            store.put_many(given, arriving=True) if not isinstance(store, Model) else store.put(given)
        else:
            getattr(store, self.verb)([sample(number).id for number in self.numbers])


def make_script(seed: int, steps: int, *, bulk: float = 0.01) -> list[Step]:
    """Return a random script; `bulk` is the share of steps that store enough to write segments."""
    dice = random.Random(seed)
    script = []
    for _ in range(steps):
        verb = dice.choices(
            ("put", "put_many", "remove", "forget", "allow", "bulk"), (50, 25, 12, 5, 6, bulk * 100)
        )[0]
        if verb == "bulk":
            start = dice.randrange(1000)
            numbers: tuple[int, ...] = (start, start + dice.randrange(450, 700))
        else:
            numbers = tuple(dice.randrange(60) for _ in range(1 if verb == "put" else dice.randrange(1, 9)))
        script.append(Step(verb, numbers))
    return script


def states_of(script: Sequence[Step], start: Model | None = None) -> list[Model]:
    """Return the state before each step, and after the last."""
    states = [start.copy() if start is not None else Model()]
    for step in script:
        states.append(states[-1].copy())
        step.run(states[-1])
    return states


def states_around(script: Sequence[Step], done: int) -> list[Model]:
    """Return the states in which a store may be when `done` steps were acknowledged."""
    before = Model()
    for step in script[:done]:
        step.run(before)
    return states_of(script[done : done + 1], before)


def check_survivor(path: Path, allowed: Sequence[Model]) -> Model:
    """Open what a fault left; check that it is whole, usable and in one of these states; return which."""
    with SqliteStore(path) as store:
        state = next((model for model in allowed if model.is_in(store)), None)
        assert state is not None, f"{store.version()} is none of {[len(model.log) for model in allowed]}"
        found = store.verify()  # every byte is that of its record, every segment says what its records say
        assert found.sound, found
        assert found.checked == len(state.records)
        assert [n for segment in store.segments() for n in segment.store_ids] == list(state.numbers.values())
        extra = make_blob(b"after the fault")
        assert store.put(extra).store_id == len(state.log) + 1
        assert store.remove([extra.id]) == [extra.id]
    assert apsw.Connection(str(path)).execute("PRAGMA integrity_check").get == "ok"
    return state
