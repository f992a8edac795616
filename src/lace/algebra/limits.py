"""How much an evaluation may cost, and who counts (030, Limits; PROFILE sections 7 and 10).

Rules of this file:
1. Each number is a quantity of the rewritten relational program and its facts: rows that its nodes put
   out and rounds that its fixpoints take. It does not depend on how an engine goes about it, so the same
   program over the same facts stops at the same limit everywhere.
2. Counts are checked before rows are made. The deadline and memory come after: they depend on the
   machine and only guard it.
3. Only facts after the view are counted: a limit must not tell a peer about facts it may not see.
4. Past a limit there is an error and no result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from lace.errors import InputError, LimitExceeded


@dataclass(frozen=True, slots=True)
class EvaluationLimits:
    """Bounds of one evaluation; the defaults stand well above 030's minimum."""

    base_facts: int = 1 << 26
    """Facts supplied for the predicates that the program reads (030 asks for 2^20)."""
    runtime_facts: int = 1 << 22
    """Facts given for one evaluation only (030 asks for 2^20)."""
    derived_per_predicate: int = 1 << 24
    """Facts that rules derive of one predicate, whether supplied as well or not (030 asks for 2^18)."""
    derived_total: int = 1 << 26
    """Facts that rules derive of all predicates."""
    iterations: int = 1 << 20
    """Rounds of one fixpoint that add something (030 asks for 1000)."""
    steps: int = 1 << 28
    """Rows that all joins put out."""
    seconds: float | None = None
    """Time; a budget with such a limit needs a clock."""
    memory_bytes: int | None = None
    """Rows held at once, derived ones and those that a join is at, as bytes of columns."""


class EvaluationStopped(LimitExceeded):
    """An evaluation that would pass one of its limits."""

    code = "limit/evaluation"
    text = "the evaluation was stopped: {limit} would pass {bound} ({where}); nothing of it is used"


class NoClock(InputError):
    """A limit in seconds for which nobody looks at a clock."""

    code = "limit/no-clock"
    text = (
        "a limit of {seconds} seconds needs a clock, and pure code has none: give one, as in"
        " Budget(limits, now=time.monotonic)"
    )


LIMITS = EvaluationLimits()


@dataclass(slots=True)
class Budget:
    """What is left of the limits during one evaluation."""

    limits: EvaluationLimits = LIMITS
    now: Callable[[], float] | None = None
    """A clock for the deadline; pure code reads none by itself."""
    steps: int = 0
    derived: int = 0
    held: int = field(default=0, compare=False)
    """Bytes of the rows that were derived; a matter of the machine, like time."""
    _deadline: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        seconds = self.limits.seconds
        if seconds is not None:
            if self.now is None:
                raise NoClock(seconds=seconds)
            self._deadline = self.now() + seconds

    def take_steps(self, count: int, where: object) -> None:
        """Count rows that a join is about to put out."""
        self.steps += count
        if self.steps > self.limits.steps:
            raise _stopped("steps", self.limits.steps, where, self.steps)

    def take_derived(self, new: int, held: int, where: object) -> None:
        """Count facts that rules derived: `new` of them, `held` of this predicate in all."""
        limits = self.limits
        self.derived += new
        if held > limits.derived_per_predicate:
            raise _stopped("derived_per_predicate", limits.derived_per_predicate, where, held)
        if self.derived > limits.derived_total:
            raise _stopped("derived_total", limits.derived_total, where, self.derived)

    def has_room(self, steps: int, derived: int) -> bool:
        """Tell whether so many more steps and so many facts of one more predicate pass no limit."""
        limits = self.limits
        return (
            self.steps + steps <= limits.steps
            and derived <= limits.derived_per_predicate
            and self.derived + derived <= limits.derived_total
        )

    def check_base(self, count: int, where: object) -> None:
        """Refuse more base facts than the limit."""
        if count > self.limits.base_facts:
            raise _stopped("base_facts", self.limits.base_facts, where, count)

    def check_runtime(self, count: int, where: object) -> None:
        """Refuse more facts for one evaluation than the limit."""
        if count > self.limits.runtime_facts:
            raise _stopped("runtime_facts", self.limits.runtime_facts, where, count)

    def check_rounds(self, rounds: int, where: object) -> None:
        """Refuse one more round than the limit, and look at the clock."""
        if rounds > self.limits.iterations:
            raise _stopped("iterations", self.limits.iterations, where, rounds)
        self.check_time(where)

    def check_time(self, where: object) -> None:
        """Stop past the deadline."""
        if self._deadline is not None and self.now is not None and self.now() > self._deadline:
            raise _stopped("seconds", self.limits.seconds, where, "more")

    def seconds_left(self) -> float | None:
        """Return how long the evaluation may still take; None where nobody set a time."""
        if self._deadline is None or self.now is None:
            return None
        return max(0.0, self._deadline - self.now())

    def hold(self, size: int, where: object) -> None:
        """Count bytes of rows that stay."""
        self.held += size
        self.check_memory(0, where)

    def check_memory(self, size: int, where: object) -> None:
        """Refuse to hold more bytes of rows at once than the limit: so many, beside those that stay."""
        bound = self.limits.memory_bytes
        if bound is not None and self.held + size > bound:
            raise _stopped("memory_bytes", bound, where, self.held + size)


def rule_name(rule: int, head: object) -> str:
    """Return how a limit names the rule that passed it: by its number, as everywhere, and its head.

    >>> rule_name(0, "Path/2")
    'rule 0, Path/2'
    """
    return f"rule {rule}, {head}"


def _stopped(limit: str, bound: object, where: object, seen: object) -> EvaluationStopped:
    # As text: whoever is told has no use for a whole program.
    return EvaluationStopped(limit=limit, bound=bound, where=str(where), seen=seen)
