"""What an engine with resident results saves on w2: facts that come later, and proofs.

    insert        facts that belong to one evaluation, from their texts to the next result
    load          the texts of a fact become facts of the resident database
    evaluation    the database's new version, and the evaluation going on to it

The goals are judged by the inserts. What records take that come while a store is resident, load and
evaluation apart, is told beside them.

Rules of this file:
1. Facts that come later are links drawn as the workload's own were: some reach something new, most do not.
2. A single fact is the mean over many in a row, the first among them, which makes room for the others;
   whoever goes on holds the latest result. Reading the clock between load and evaluation counts.
3. After all of it the answers are those of a full evaluation, and every proof leads to a root.
"""

from __future__ import annotations

from bench.harness import Contender, Spent, real_clock, run_once
from bench.peers.lace import Lace
from bench.workloads import LEVELS, linked, more_links, part
from lace.datalog.explain import Explainer, Proof
from lace.engines import EmbeddedEvaluation, EmbeddedResult
from lace.facts import Fact

SINGLE = 200
BATCH = 1000
PROOFS = 50


def changes(peer: Lace, size: float) -> dict[str, Spent]:
    """Measure single facts, a thousand at once, and proofs of facts 20 links deep."""
    facts: list[Fact] = [("RecordLink", *row) for row in more_links(size, BATCH + SINGLE)]
    batch, singles = [facts[:BATCH]], [[fact] for fact in facts[BATCH:]]
    singly, at_once = Inserts(peer), Inserts(peer)
    first = singly.insert(singles[:1])
    rest = singly.insert(singles[1:])
    singly.check(facts[BATCH:])
    found = {
        "first insert": first,
        "one insert": added(first, rest, SINGLE),
        "batch insert": at_once.insert(batch),
    }
    at_once.check(facts[:BATCH])
    found["why"] = why(peer, size)
    # Last: from here on the database holds more than the workload.
    for what, batches in (("one", singles), ("batch", batch)):
        load, evaluation = followed(peer, batches)
        found[f"{what} load"] = load
        found[f"{what} evaluation"] = evaluation
        found[f"{what} together"] = added(load, evaluation)
    return found


def added(one: Spent, other: Spent, times: int = 1) -> Spent:
    """Return what two took together, for each of so many."""
    return Spent((one.cpu + other.cpu) / times, (one.wall + other.wall) / times)


def followed(peer: Lace, batches: list[list[Fact]]) -> tuple[Spent, Spent]:
    """Measure what batches take that the database gets one after the other: the load, and the evaluation."""
    database = peer.database
    evaluation = database.evaluate(peer.compiled)
    latest = evaluation.result()
    load = going_on = Spent(0.0, 0.0)

    def run(_: object) -> None:
        nonlocal latest, load, going_on
        for batch in batches:
            before = real_clock()
            database.add(batch)
            between = real_clock()
            result = evaluation.follow(database.version())
            after = real_clock()
            assert result is not None, "a database that only grows is followed"
            latest = result
            load = added(load, passed(before, between))
            going_on = added(going_on, passed(between, after))

    run_once(Contender("", run), real_clock)
    full = database.evaluate(peer.compiled).result()
    assert latest.facts(peer.wanted) == full.facts(peer.wanted), "following went another way"
    nothing, times = Spent(0.0, 0.0), len(batches)
    return added(load, nothing, times), added(going_on, nothing, times)


def passed(before: Spent, after: Spent) -> Spent:
    """Return the time between two looks at the clocks."""
    return Spent(after.cpu - before.cpu, after.wall - before.wall)


class Inserts:
    """An evaluation that facts are inserted into."""

    def __init__(self, peer: Lace) -> None:
        self._peer = peer
        self._evaluation: EmbeddedEvaluation = peer.database.evaluate(peer.compiled)
        self._latest: EmbeddedResult = self._evaluation.result()

    def insert(self, batches: list[list[Fact]]) -> Spent:
        """Insert some batches one after the other."""

        def run(_: object) -> None:
            for batch in batches:
                self._latest = self._evaluation.insert(batch)

        return run_once(Contender("", run), real_clock)

    def check(self, facts: list[Fact]) -> None:
        """Compare with a full evaluation."""
        peer = self._peer
        full = peer.database.evaluate(peer.compiled, facts=facts).result()
        assert self._latest.facts(peer.wanted) == full.facts(peer.wanted), "inserts went another way"


def why(peer: Lace, size: float) -> Spent:
    """Measure proofs of facts on the lowest level."""
    result = peer.database.evaluate(peer.compiled).result()
    lowest = [(linked(LEVELS - 1, at),) for at in range(part(5000, size))]
    deep = [row for row in lowest if result.step(peer.wanted, row) is not None][:PROOFS]
    proofs: list[Proof | None] = []

    def run(_: object) -> None:
        explainer = Explainer(peer.compiled, result)
        for row in deep:
            proofs.append(explainer.why((peer.wanted.name, *row)))

    spent = run_once(Contender("", run), real_clock)
    for proof in proofs:
        assert proof is not None
        assert sum(fact[0] == peer.wanted.name for fact in proof.steps) == LEVELS, "a proof of another depth"
    return Spent(spent.cpu / len(deep), spent.wall / len(deep))
