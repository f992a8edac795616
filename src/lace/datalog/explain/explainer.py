"""Ask a result why, and why not."""

from __future__ import annotations

from lace.algebra import Budget, EvaluationLimits, RelationProgram, Result
from lace.datalog.explain.proof import Proof
from lace.datalog.explain.search import Search
from lace.datalog.explain.why import Prover
from lace.datalog.explain.whynot import WhyNot, refute
from lace.facts import Fact, Predicate

EXPLAINING = EvaluationLimits(steps=1 << 22)
"""What one explanation may cost by default: some seconds at the most."""
CANDIDATES = 10_000
"""How many facts a why-not looks at for each rule by default."""


class Explainer:
    """A compiled program beside one version of what an engine made of it.

    >>> from lace.datalog import compile_program, parse_program
    >>> from lace.engines import Database
    >>> compiled = compile_program(parse_program("Old(X) :- Seen(X), not New(X)."))
    >>> result = Database([("Seen", "a"), ("Seen", "b"), ("New", "b")]).evaluate(compiled).result()
    >>> explainer = Explainer(compiled, result)
    >>> explainer.why(("Old", "a")) is None, explainer.why(("Old", "b")) is None
    (False, True)
    >>> explainer.why_not(("Old", "b")).rules[0].failed.found
    1
    """

    def __init__(self, compiled: RelationProgram, result: Result) -> None:
        self._search = Search(compiled, result)
        self._prover = Prover(self._search)

    def why(self, fact: Fact, budget: Budget | None = None) -> Proof | None:
        """Return a proof of a fact, or None where it does not hold."""
        budget = budget or Budget(EXPLAINING)
        return self._prover.prove(fact, budget) if self._knows(fact, budget) else None

    def why_not(self, fact: Fact, candidates: int = CANDIDATES, budget: Budget | None = None) -> WhyNot:
        """Say for each rule that could derive a fact what stops it; of a fact that holds, why it does."""
        budget = budget or Budget(EXPLAINING)
        if self._knows(fact, budget):
            return WhyNot(fact, self._prover.prove(fact, budget), ())
        return WhyNot(fact, None, refute(self._search, fact, candidates, budget))

    def _knows(self, fact: Fact, budget: Budget) -> bool:
        return self._search.knows(Predicate(fact[0], len(fact) - 1), fact[1:], budget)
