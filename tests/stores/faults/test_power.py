"""No acknowledged record is lost when the power goes, and the store opens whole."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import pytest

from lace.errors import StoreError
from lace.stores import SqliteStore
from tests.stores.faults.power import Acknowledged, Disk, Event, TapeVfs, write_folder
from tests.stores.faults.script import Step, check_survivor, make_script, states_of
from tests.stores.model import Model

NAME = "a.lace"
STEPS = 30
LOSSES_PER_TAPE = 20


@contextmanager
def checkpoints_often() -> Iterator[None]:
    """Merge the log every few pages, so that a short script sees many merges."""

    def hook(connection: apsw.Connection) -> None:
        connection.wal_autocheckpoint(12)

    apsw.connection_hooks.append(hook)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(hook)


Start = tuple[Model, dict[str, bytes]]
"""The state that a tape begins with, and the files that hold it."""


@dataclass
class Campaign:
    """Power losses, tape after tape, each tape beginning where the power went in the one before."""

    folder: Path
    seed: int
    losses: int = 0
    found: list[Exception] = field(default_factory=list)
    """What was wrong with survivors."""

    def run(self, losses: int) -> Campaign:
        """Lose the power so many times."""
        start: Start = (Model(), {})
        with checkpoints_often():
            for tape in range(losses // LOSSES_PER_TAPE):
                start = self._run_tape(self.seed + tape, start if tape % 5 else (Model(), {}))
        return self

    def _run_tape(self, seed: int, start: Start) -> Start:
        dice = random.Random(seed)
        home = self.folder / str(seed)
        home.mkdir()
        state, files = start
        write_folder(home, files)
        script = make_script(seed, STEPS, bulk=0)
        states = states_of(script, state)
        tape = record_tape(home / NAME, script)
        disk, acknowledged, at, survivor = Disk(files), -1, 0, start
        for moment in sorted(dice.sample(range(len(tape) + 1), LOSSES_PER_TAPE)):
            for event in tape[at:moment]:
                disk.apply(event)
                acknowledged += isinstance(event, Acknowledged)
            at = moment
            # The first acknowledgement is the opening's: until then nothing was to be stored.
            done = max(acknowledged, 0)
            left = disk.survivors(dice)
            lost = home / str(moment)
            lost.mkdir()
            write_folder(lost, left)
            self.losses += 1
            try:
                state = check_survivor(lost / NAME, states[done : done + 2])
            except (AssertionError, StoreError) as error:
                self.found.append(error)
            else:
                survivor = (state.copy(), left) if dice.random() < 0.3 else survivor
            shutil.rmtree(lost)
        shutil.rmtree(home)
        return survivor


def record_tape(path: Path, script: list[Step]) -> list[Event]:
    """Run a script on a store and return everything that reached its files."""
    vfs = TapeVfs(f"tape-{path.parent.name}")
    try:
        with SqliteStore(path, vfs=vfs.name) as store:
            vfs.acknowledge()
            for step in script:
                step.run(store)
                vfs.acknowledge()
    finally:
        vfs.unregister()
    return vfs.tape


@pytest.fixture(autouse=True)
def _small_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a short script write, read again and shrink many segments."""
    monkeypatch.setattr("lace.stores.commit.TAIL_RECORDS", 12)


def test_two_hundred_power_losses_lose_nothing_acknowledged(folder: Path) -> None:
    campaign = Campaign(folder, seed=1000).run(200)
    assert campaign.losses == 200
    assert campaign.found == []


@pytest.mark.slow
def test_ten_thousand_power_losses_lose_nothing_acknowledged(folder: Path) -> None:
    campaign = Campaign(folder, seed=100_000).run(10_000)
    assert campaign.losses == 10_000
    assert campaign.found == []


@pytest.mark.parametrize("level", ["NORMAL", "OFF"])
def test_the_harness_finds_the_losses_of_weaker_settings(
    folder: Path, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lace.stores.connections.SYNCHRONOUS", level)
    campaign = Campaign(folder, seed=1000).run(200)
    assert len(campaign.found) > 20
