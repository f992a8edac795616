"""kill -9 in the middle of writing loses nothing that was acknowledged."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from lace.record import make_blob
from lace.stores import SqliteStore
from tests.stores.faults.killing import STEPS, THREADS, Killer
from tests.stores.faults.script import check_survivor, make_script, states_around


def kill_many(folder: Path, seed: int, kills: int) -> None:
    """Kill writers of scripts and writers with threads, and check what each one left."""
    with Killer() as killer:
        for number in range(kills):
            path = folder / f"{number}.lace"
            if number % 4 == 3:
                check_threads(path, killer.kill_a_writer(path, seed + number, "threads"))
            else:
                said = killer.kill_a_writer(path, seed + number, "script")
                assert said == [str(n) for n in range(len(said))]
                script = make_script(seed + number, STEPS)
                check_survivor(path, states_around(script, max(len(said) - 1, 0)))


def check_threads(path: Path, said: list[str]) -> None:
    """Check that each thread's records are there up to the last acknowledged one, or the next."""
    acknowledged = Counter(line.split()[0] for line in said if " " in line)
    with SqliteStore(path) as store:
        held = {record_id for _, record_id in store.ids()}
        for thread in range(THREADS):
            ids = [make_blob(b"%d %d" % (thread, n)).id for n in range(acknowledged[str(thread)] + 2)]
            stored = [record_id in held for record_id in ids]
            assert stored in ([True] * (len(ids) - 2) + [False] * 2, [True] * (len(ids) - 1) + [False])
            held.difference_update(ids)
        assert held == set()
        assert store.verify().sound


@pytest.mark.net
def test_twenty_killed_writers_lose_nothing_acknowledged(folder: Path) -> None:
    kill_many(folder, seed=20, kills=20)


@pytest.mark.slow
def test_two_hundred_killed_writers_lose_nothing_acknowledged(folder: Path) -> None:
    kill_many(folder, seed=2000, kills=200)
