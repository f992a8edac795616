"""What an evaluation did: for each component the strategy, the rounds, the rows and the time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lace.facts import Predicate


@dataclass(frozen=True, slots=True)
class ComponentReport:
    """How one component was evaluated."""

    predicates: tuple[Predicate, ...]
    strategy: str
    reason: str
    """Why this strategy, in a few words."""
    iterations: int
    rows: dict[Predicate, int]
    """How many facts were derived for each predicate."""
    seconds: float
    """Components that ran in one task together share its time, and the first of them has it."""

    def to_json(self) -> dict[str, Any]:
        """Return the report as a program reads it."""
        return {
            "predicates": [str(predicate) for predicate in self.predicates],
            "strategy": self.strategy,
            "reason": self.reason,
            "iterations": self.iterations,
            "rows": {str(predicate): rows for predicate, rows in self.rows.items()},
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        rows = ", ".join(f"{predicate} {count:,}" for predicate, count in self.rows.items())
        rounds = "1 round" if self.iterations == 1 else f"{self.iterations:,} rounds"
        return f"{self.strategy} ({self.reason}): {rows} in {rounds}, {self.seconds:.2f} s"


@dataclass(frozen=True, slots=True)
class SparkReport:
    """How a program was evaluated."""

    components: tuple[ComponentReport, ...]
    steps: int
    """Rows that all joins put out; at the most so many where parts found the same facts."""
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return the report as a program reads it."""
        return {
            "components": [component.to_json() for component in self.components],
            "steps": self.steps,
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        return "\n".join(map(str, self.components))
