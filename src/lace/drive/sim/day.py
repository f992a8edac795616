"""Runs two real machines through a bad day, and then through a good one; everything from one seed.

    faults ──▶ bytes cut, late, lost or spoiled, clocks that jump, stores that fail, writers, new operands
    then   ──▶ a quiet exchange that must reach the fixed point

After every step the invariants are checked. A failure names its seed, and the same seed fails again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Final, cast

from lace.drive.sim import invariants
from lace.drive.sim.invariants import InvariantBroken
from lace.drive.sim.link import SimLink
from lace.drive.sim.policies import POLICIES, SimPolicy, make_sim_record
from lace.drive.sim.world import EPOCH_SECONDS, SimClock, SimHost, SimStore
from lace.interlace import (
    Cancel,
    Cause,
    Dice,
    ExchangeLimits,
    Finish,
    InterlaceResult,
    LocalLimits,
    OperandChanged,
    Settings,
    Wake,
)
from lace.record import MARK, Record
from lace.text import digest, write_tai

STEPS: Final = 250
DAY: Final = 86_000
QUIET_STEPS: Final = 20_000


@dataclass
class Outcome:
    """What a simulation saw."""

    seed: int
    steps: int = 0
    exchanges: int = 0
    causes: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    trace: list[str] = field(default_factory=list)


class Simulation:
    """Two peers, a wire, and one generator for all chance."""

    def __init__(self, seed: int, *, trace: bool = False) -> None:
        self.random = Random(seed)
        self.outcome = Outcome(seed)
        self._traces = trace
        random = self.random
        self.clocks = SimClock(), SimClock(jump=random.choice([0, 0, 3, -40, 5000]))
        self.stores = SimStore(), SimStore()
        self.known: dict[str, Record] = {}
        """Every record that was ever made; nothing else may be stored."""
        self._number = 0
        self.policies: list[SimPolicy] = [random.choice(list(POLICIES.values())) for _ in range(2)]
        self.shows_all = [random.random() < 0.8 for _ in range(2)]
        for _ in range(random.choice([0, 2, 6, 15])):
            record = self.make_record()
            for store in self.stores:
                if random.random() < 0.6:
                    store.records[record.id] = record
        self.open = random.random() < 0.5
        self._connect()

    # Making things.

    def make_record(self, link: str | None = None) -> Record:
        """Make a record that nobody has yet, perhaps with a link to another."""
        self._number += 1
        random = self.random
        if link is None and self.known and random.random() < 0.3:
            link = random.choice(sorted(self.known))
        links = () if link is None else (link,)
        tai = write_tai(EPOCH_SECONDS + random.randrange(-50, 120), 0)
        record = make_sim_record(self._number, random.choice(["u", "u", "X"]), tai, links)
        self.known[record.id] = record
        return record

    def _connect(self, *, quiet: bool = False) -> None:
        random = self.random
        partitions = random.random() < 0.7
        start = random.choice([None, 0, 1])
        limits = ExchangeLimits(
            max_loop_iterations=60 if quiet else random.choice([3, 16, 60]),
            max_total_transferred_bytes=1 << 20 if quiet else random.choice([1 << 20, 1 << 20, 900]),
            max_advertisement_records=random.choice([100_000, 20])
            if partitions and start is not None
            else 100_000,
        )
        local = LocalLimits(service_records=random.choice([10**6, 10**6, 2]), round_seconds=10_000.0)
        self.outcome.exchanges += 1
        for clock in self.clocks:
            # Two clocks that are days apart would end every exchange at once.
            clock.jump = clock.jump if abs(clock.jump) < DAY else 0
        both = self.policies[0], self.policies[1]
        hosts = (
            SimHost(self.stores[0], both, 0, self.shows_all[0]),
            SimHost(self.stores[1], both, 1, self.shows_all[1]),
        )

        def settings(index: int) -> Settings:
            seed = b"%d %d %d" % (self.outcome.seed, self.outcome.exchanges, index)
            return Settings(
                index=index,
                module=self.policies[index].module(),
                dice=Dice(digest(seed)),
                stays_open=self.open and not quiet,
                limits=limits,
                local=local,
                partitions=partitions,
                partition_start=start,
                predicts=random.random() < 0.8,
                tick_interval=10_000_000_000,
            )

        self.link = SimLink((settings(0), settings(1)), hosts, self.clocks, self.known, self.fail)
        self.note("connect", f"{both[0].name} / {both[1].name}, open={self.open and not quiet}")

    def note(self, what: str, more: str = "") -> None:
        """Write a line of the trace."""
        if self._traces:
            phases = "/".join(side.machine.phase.value for side in self.link.sides)
            self.outcome.trace.append(f"{self.outcome.steps:5} {what:14} {phases:26} {more}")

    def fail(self, what: str | None) -> None:
        """Stop where an invariant is broken."""
        if what is not None:
            raise InvariantBroken(seed=self.outcome.seed, step=self.outcome.steps, what=what)

    # Steps.

    def check(self) -> None:
        """Check everything that can be seen from outside, and count what ended."""
        for index, result in self.link.check():
            self.outcome.causes[result.cause.value] += 1
            self.note("end", f"side {index}: {result.cause.value} {result.error or ''}")

    def step(self) -> None:
        """Do one thing of a bad day."""
        self.outcome.steps += 1
        random = self.random
        index = random.randrange(2)
        what = random.choices(list(FAULTS), weights=list(FAULTS.values()))[0]
        link = self.link
        side = link.sides[index]
        alive = side.result is None
        match what:
            case "move":
                link.push(index)
                link.pull(1 - index, random.choice([1, 60, 500, 1 << 16, 1 << 16]))
            case "write":
                self.stores[index].records.update({r.id: r for r in [self.make_record()]})
                self.stores[index].changes += 1
            case "block" if self.stores[index].records:
                # Where links block, what was just advertised may no longer be sent.
                record = self.make_record(random.choice(sorted(self.stores[index].records)))
                self.stores[index].records[record.id] = record
                self.stores[index].changes += 1
            case "remove" if self.stores[index].records:
                self.stores[index].remove(random.choice(sorted(self.stores[index].records)))
            case "store fault":
                self.stores[index].faults += 1
            case "wake" if alive and link.hosts[index].has_news():
                side.feed(Wake())
            case "operand" if alive:
                self._change_operand(index)
            case "clock jump":
                self.clocks[index].jump += random.choice([-30, -1, 1, 30, 200_000, -200_000])
            case "time":
                self._pass_time(random.choice([0.5, 3.0, 11.0]))
            case "pause":
                # In the middle of something, and too short for anything else to be late.
                link.push(index)
                link.pull(1 - index, 500)
                self._pass_time(0.5)
            case "stall":
                self._pass_time(31.0)
            case "flip" if data := link.wire.under_way[index]:
                data[random.randrange(len(data))] ^= 1 << random.randrange(8)
                link.wire.spoiled[index] = True
            case "spoil record" if (at := _data_of_a_record(link.wire.under_way[index])) is not None:
                link.wire.under_way[index][at] ^= 1
                link.wire.spoiled[index] = True
            case "cut":
                link.cut()
            case "finish" if alive:
                side.feed(Finish())
            case "cancel" if alive:
                side.feed(Cancel())
            case _:
                return
        self.outcome.faults[what] += 1
        self.note(what, f"side {index}")
        self.check()
        if link.over:
            self._connect()

    def _change_operand(self, index: int) -> None:
        if not self.open:
            return
        policy = self.random.choice(list(POLICIES.values()))
        self.policies[index] = policy
        self.link.sides[index].feed(OperandChanged(policy.module()))

    def _pass_time(self, seconds: float) -> None:
        for clock in self.clocks:
            clock.seconds += seconds
        self.link.tell_time()
        for side, host in zip(self.link.sides, self.link.hosts, strict=True):
            self.fail(invariants.check_pause(side, host))

    def run(self) -> Outcome:
        """Live through the bad day and the good one."""
        for _ in range(self.random.choice([0, 30, STEPS])):
            self.step()
        self.be_quiet()
        return self.outcome

    def be_quiet(self) -> None:
        """Let the faults stop, and see that a new exchange gets where it should."""
        for store in self.stores:
            store.faults = 0
        self.link.cut()
        self.check()
        for clock in self.clocks:
            clock.jump = 0
        self._connect(quiet=True)
        for _ in range(QUIET_STEPS):
            self.outcome.steps += 1
            moved = self.link.move_all()
            self.check()
            if not moved:
                break
        self.fail(None if self.link.over else "a quiet exchange does not come to an end")
        self._check_fixed_point()

    def _check_fixed_point(self) -> None:
        results = [cast(InterlaceResult, side.result) for side in self.link.sides]
        for index, result in enumerate(results):
            if result.cause is Cause.LOOP_LIMIT and not all(policy.monotonic for policy in self.policies):
                return  # what takes back what it gave need not come to rest
            self.fail(
                None
                if result.complete
                else f"side {index} of a quiet exchange ends with {result.cause.value}: {result.error}"
            )
        for index, side in enumerate(self.link.sides):
            mine, other = (self.link.hosts[each].evaluation for each in (index, 1 - index))
            assert mine is not None
            assert other is not None
            for record in mine.may_request & side.machine.exchange.agreed.advertised.claims.keys():
                if record not in self.stores[index].records and record in other.may_send:
                    self.fail(
                        f"{record} is requestable, advertised, missing and sendable after the fixed point"
                    )


def _data_of_a_record(data: bytearray) -> int | None:
    """Return where the data of a record under way begins, where there is one."""
    mark = data.find(MARK)
    at = data.find(b"\n\n", mark) + 2
    return at if mark >= 0 and 2 <= at < len(data) else None


FAULTS: Final = {
    "move": 300, "write": 5, "block": 5, "remove": 3, "store fault": 2, "wake": 12, "operand": 3,
    "clock jump": 2, "time": 4, "pause": 8, "stall": 1, "flip": 2, "spoil record": 60, "cut": 2,
    "finish": 1, "cancel": 1,
}  # fmt: skip
"""What happens on a bad day, and how often."""


def simulate(seed: int, *, trace: bool = False) -> Outcome:
    """Run one simulation; `InvariantBroken` where 050 does not hold."""
    return Simulation(seed, trace=trace).run()
