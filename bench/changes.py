"""What an engine with resident results saves on w2: inserts that go on from there, and proofs.

Rules of this file:
1. Inserted facts are links drawn as the workload's own were: some reach something new, most do not.
2. A single insert is the mean over many in a row, the first among them, which makes room for the others;
   whoever inserts holds the latest result.
3. After the inserts the answers are those of a full evaluation, and every proof leads to a root.
"""

from __future__ import annotations

from bench.harness import Contender, Spent, real_clock, run_once
from bench.peers.lace import Lace
from bench.workloads import LEVELS, linked, more_links, part
from lace.datalog.explain import Explainer, Proof
from lace.engines import EmbeddedEvaluation, EmbeddedResult
from lace.facts import Fact

SINGLE = 200
PROOFS = 50


def changes(peer: Lace, size: float) -> dict[str, Spent]:
    """Measure single inserts, a batch of a thousand, and proofs of facts 20 links deep."""
    facts: list[Fact] = [("RecordLink", *row) for row in more_links(size)]
    singly, at_once = Inserts(peer), Inserts(peer)
    first = singly.insert([[facts[0]]])
    rest = singly.insert([[fact] for fact in facts[1:SINGLE]])
    singly.check(facts[:SINGLE])
    batch = at_once.insert([facts])
    at_once.check(facts)
    return {
        "first insert": first,
        "one insert": Spent((first.cpu + rest.cpu) / SINGLE, (first.wall + rest.wall) / SINGLE),
        "batch": batch,
        "why": why(peer, size),
    }


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
