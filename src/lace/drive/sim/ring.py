"""A ring of peers that gossip: what one stores reaches all of them, whatever happens on the way."""

from __future__ import annotations

from random import Random
from typing import Final

from lace.drive.sim.day import Outcome
from lace.drive.sim.invariants import InvariantBroken
from lace.drive.sim.link import SimLink
from lace.drive.sim.policies import POLICIES, make_sim_record
from lace.drive.sim.world import EPOCH_SECONDS, SimClock, SimHost, SimStore
from lace.interlace import Dice, Settings, Wake
from lace.record import Record
from lace.text import digest, write_tai

PEERS: Final = 5
STEPS: Final = 400
QUIET_STEPS: Final = 5_000


class Ring:
    """Stores in a circle, and an open exchange between each two neighbours."""

    def __init__(self, seed: int, peers: int = PEERS) -> None:
        self.random = Random(seed)
        self.outcome = Outcome(seed)
        self.known: dict[str, Record] = {}
        self.policy = POLICIES[self.random.choice(["all", "all", "group"])]
        self.stores = [SimStore() for _ in range(peers)]
        self.clocks = [SimClock(jump=self.random.choice([0, 1, -2])) for _ in range(peers)]
        self._connections = 0
        self.links = [self._connect(at) for at in range(peers)]

    def _connect(self, at: int) -> SimLink:
        other = (at + 1) % len(self.stores)
        self._connections += 1
        self.outcome.exchanges += 1
        both = self.policy, self.policy
        start = self.random.choice([None, 0, 1])

        def settings(index: int) -> Settings:
            seed = b"%d %d %d" % (self.outcome.seed, self._connections, index)
            return Settings(
                index=index,
                module=self.policy.module(),
                dice=Dice(digest(seed)),
                stays_open=True,
                partition_start=start,
            )

        hosts = SimHost(self.stores[at], both, 0, True), SimHost(self.stores[other], both, 1, True)
        clocks = self.clocks[at], self.clocks[other]
        return SimLink((settings(0), settings(1)), hosts, clocks, self.known, self.fail)

    def fail(self, what: str | None) -> None:
        """Stop where something is wrong."""
        if what is not None:
            raise InvariantBroken(seed=self.outcome.seed, step=self.outcome.steps, what=what)

    def write(self) -> None:
        """Store something new somewhere."""
        random, number = self.random, len(self.known)
        tai = write_tai(EPOCH_SECONDS + number, 0)
        record = make_sim_record(number, random.choice(["u", "u", "X"]), tai)
        self.known[record.id] = record
        store = random.choice(self.stores)
        store.records[record.id] = record
        store.changes += 1

    def look(self, link: SimLink) -> bool:
        """Wake the sides of a link that have news; tell whether one had."""
        woken = False
        for index, side in enumerate(link.sides):
            if side.result is None and link.hosts[index].has_news():
                side.feed(Wake())
                woken = True
        return woken

    def step(self) -> None:
        """Do one thing somewhere in the ring."""
        self.outcome.steps += 1
        random = self.random
        at = random.randrange(len(self.links))
        link = self.links[at]
        what = random.choices(["move", "look", "write", "cut"], [100, 15, 4, 1])[0]
        self.outcome.faults[what] += 1
        if what == "move":
            index = random.randrange(2)
            link.push(index)
            link.pull(1 - index, random.choice([20, 500, 1 << 16]))
        elif what == "look":
            self.look(link)
        elif what == "write":
            self.write()
        else:
            link.cut()
        self._mend(at)

    def _mend(self, at: int) -> None:
        for _, result in self.links[at].check():
            self.outcome.causes[result.cause.value] += 1
        if self.links[at].over:
            self.links[at] = self._connect(at)

    def run(self) -> Outcome:
        """Gossip through faults, then in peace; in the end all that is selected is everywhere."""
        for _ in range(STEPS):
            self.step()
        for _ in range(QUIET_STEPS):
            self.outcome.steps += 1
            moved = [link.move_all() or self.look(link) for link in self.links]
            for at in range(len(self.links)):
                self._mend(at)
            if not any(moved):
                break
        else:
            self.fail("a ring in peace does not come to rest")
        wanted = {record for store in self.stores for record in self.policy.have(store.records, {}, "")}
        for at, store in enumerate(self.stores):
            missing = wanted - store.records.keys()
            self.fail(f"peer {at} never got {sorted(missing)}" if missing else None)
        return self.outcome


def simulate_ring(seed: int, peers: int = PEERS) -> Outcome:
    """Run one ring; `InvariantBroken` where something is wrong."""
    return Ring(seed, peers).run()
