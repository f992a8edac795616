"""What a peer can observe of one side, and the check that hidden facts do not change it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lace.algebra import EvaluationLimits
from lace.engines import Database
from lace.facts import Fact
from lace.policy import Exposure, LocalPolicy, OperandLimits, OperandStopped, Precompiled, Snapshot
from tests.policy.sides import ALICE, Store, policy, snapshot
from tests.policy.worlds import Pair


def observe(side: LocalPolicy, moment: Snapshot) -> dict[str, Any]:
    """Return all of an evaluation that depends on the peer's rules, or the limit that stopped it."""
    try:
        decision = side.evaluate(moment)
    except OperandStopped as stopped:
        return {"stopped": stopped.to_json()}
    index = 1 - side.side
    have, advertised = decision.selected(index)
    return {
        "view": decision.view,
        "have": have,
        "advertised": advertised,
        "may_send": decision.may_send,
        "may_request": decision.may_request,
        "steps": decision.steps[index],
        "counts": decision.counts(),
    }


def told(seen: dict[str, Any]) -> tuple[Any, ...]:
    """Return what an evaluation shows on the wire."""
    return seen.get("may_send"), seen.get("may_request"), seen.get("stopped")


class Exchange:
    """One side's policy over one store after another."""

    def __init__(
        self,
        local: str,
        peer: str,
        exposure: Exposure,
        *,
        steps: int | None = None,
        precompiled: Precompiled | None = None,
        resident: bool = False,
    ) -> None:
        """With `resident` facts are in a database of their own, whose versions an evaluation follows."""
        self._made = (local, peer, exposure)
        self._resident = resident
        self._limits = OperandLimits(peer=EvaluationLimits(steps=steps)) if steps is not None else None
        self._precompiled = precompiled or Precompiled()

    def side(self) -> LocalPolicy:
        """Return a policy that has seen nothing yet."""
        local, peer, exposure = self._made
        return policy(local, peer, exposure, limits=self._limits, precompiled=self._precompiled)

    def observe(self, pair: Pair, facts: Iterable[Fact]) -> dict[str, Any]:
        """Observe one store."""
        records = Database(facts) if self._resident else Store(facts)
        return observe(self.side(), Snapshot(records, pair.runtime, pair.advertised))

    def observe_later(self, pair: Pair, facts: tuple[Fact, ...], more: tuple[Fact, ...]) -> dict[str, Any]:
        """Observe a store to which hidden records were added while the exchange went on."""
        side = self.side()
        if not self._resident:
            first = snapshot(facts, pair.runtime, pair.advertised)
            observe(side, first)
            return observe(side, first.next(added=more, records=Store(facts + more)))
        database = Database(facts)
        first = Snapshot(database, pair.runtime, pair.advertised)
        observe(side, first)
        database.add(more)
        return observe(side, first.next(records=database))

    def check(self, pair: Pair) -> None:
        """Fail where the peer can tell the two stores apart."""
        left, right = self.observe(pair, pair.left), self.observe(pair, pair.right)
        assert left == right, f"{self._made[1]}\n{left}\n{right}"

    def check_later(self, pair: Pair) -> None:
        """Fail where it can do so after both stores have grown."""
        left = self.observe_later(pair, pair.left, pair.more_left)
        right = self.observe_later(pair, pair.right, pair.more_right)
        assert left == right, f"{self._made[1]}\n{left}\n{right}"

    def check_reread(self, pair: Pair) -> None:
        """Fail where it can tell that all facts were read anew, with other hidden records among them."""
        seen = []
        for anew in (False, True):
            side, first = self.side(), Snapshot(Database(pair.left), pair.runtime, pair.advertised[:1])
            observe(side, first)
            later = Snapshot(Database(pair.right), pair.runtime, pair.advertised)
            seen.append(observe(side, later if anew else first.next(advertised=pair.advertised)))
        assert seen[0] == seen[1], f"{self._made[1]}\n{seen[0]}\n{seen[1]}"

    def raw_tells(self, pair: Pair) -> bool:
        """Tell whether the same rules over the whole stores would show a difference."""
        local, peer, _ = self._made
        everything = Exposure(trusted=frozenset({ALICE}))
        raw = Exchange(local, peer, everything, precompiled=self._precompiled, resident=self._resident)
        return told(raw.observe(pair, pair.left)) != told(raw.observe(pair, pair.right))
