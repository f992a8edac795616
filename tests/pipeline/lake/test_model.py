"""A lake behaves like a list of dictionaries, whatever is done to it in whatever order."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lace.facts import facts_of_record
from lace.pipeline import Change, Overtaken, create_lake, open_lake
from lace.pipeline.lake.erase import allow, erase
from lace.pipeline.lake.fsck import fsck
from lace.pipeline.lake.optimize import optimize
from lace.pipeline.lake.vacuum import vacuum
from tests.pipeline.lake.filling import facts, ids, rows, written
from tests.stores.samples import sample

numbers = st.integers(0, 24)


class LakeMachine(RuleBasedStateMachine):
    """Commits, stale commits, erasing, forgetting, merging and vacuum, against plain sets."""

    @initialize()
    def start(self) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="lace-model-"))
        self.lake = create_lake(self.place / "lake")
        self.held: dict[int, set[int]] = {0: set()}
        self.forgotten: set[int] = set()
        self.batches = 0
        self.last: Any = None

    def teardown(self) -> None:
        if hasattr(self, "place"):
            shutil.rmtree(self.place)

    @property
    def newest(self) -> int:
        return max(self.held)

    def step(self, now: set[int]) -> None:
        self.held[self.newest + 1] = now

    @rule(wanted=st.sets(numbers, max_size=6))
    def add(self, wanted: set[int]) -> None:
        new = wanted - self.held[self.newest] - self.forgotten
        self.batches += 1
        change = Change("ingest", f"batch {self.batches}", written(self.lake, [sample(n) for n in new]))
        base = self.lake.snapshot()
        done = self.lake.commit(base, change)
        self.step(self.held[self.newest] | new)
        self.last = (base, change, done)
        assert done.version == self.newest

    @precondition(lambda self: self.last)
    @rule()
    def add_again(self) -> None:
        base, change, done = self.last
        again = self.lake.commit(base, change)
        assert again == done or done.version not in self.held

    @precondition(lambda self: self.newest > min(self.held))
    @rule(data=st.data())
    def add_late(self, data: st.DataObject) -> None:
        old = data.draw(st.sampled_from(sorted(self.held)[:-1]))
        base = self.lake.snapshot(old)
        with pytest.raises(Overtaken) as caught:
            self.lake.commit(base, Change("ingest", f"late {old} {self.newest}"))
        assert caught.value.winner.version == self.newest

    @rule(wanted=st.sets(numbers, max_size=4), forget=st.booleans())
    def erase(self, wanted: set[int], forget: bool) -> None:
        gone = wanted & self.held[self.newest]
        done = erase(self.lake, [sample(n).id for n in wanted], forget=forget)
        assert set(done.ids) == {sample(n).id for n in gone}
        if gone or (forget and wanted - self.forgotten):
            self.step(self.held[self.newest] - gone)
        if forget:
            self.forgotten |= wanted

    @rule(wanted=st.sets(numbers, max_size=4))
    def allow(self, wanted: set[int]) -> None:
        back = wanted & self.forgotten
        assert set(allow(self.lake, [sample(n).id for n in wanted]).ids) == {sample(n).id for n in back}
        if back:
            self.step(self.held[self.newest])
            self.forgotten -= back

    @rule()
    def optimize(self) -> None:
        done = optimize(self.lake)
        while self.newest < done.snapshot.version:
            self.step(self.held[self.newest])
        assert done.after <= 8

    @rule(keep=st.integers(1, 4))
    def vacuum(self, keep: int) -> None:
        done = vacuum(self.lake, keep=keep, older_than=0, grace=0)
        kept = sorted(self.held)[-keep:]
        assert done.kept == tuple(kept)
        self.held = {version: self.held[version] for version in kept}

    @rule()
    def open_again(self) -> None:
        self.lake = open_lake(self.lake.where)

    @rule()
    def check(self) -> None:
        assert fsck(self.lake).is_sound
        now = self.lake.snapshot()
        expected = [fact for n in self.held[self.newest] for fact in facts_of_record(sample(n))]
        assert facts(now) == sorted(expected)
        assert rows(now, "forgotten") == sorted((sample(n).id,) for n in self.forgotten)

    @invariant()
    def every_version_is_as_it_was(self) -> None:
        if not hasattr(self, "held"):
            return
        assert self.lake.versions() == sorted(self.held)
        for version in sorted(self.held)[-3:]:
            assert ids(self.lake.snapshot(version)) == sorted(sample(n).id for n in self.held[version])


TestLake = LakeMachine.TestCase
TestLake.settings = settings(max_examples=20, stateful_step_count=25)
