"""What Spark raises, as errors of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from lace.algebra import Budget, EvaluationStopped, RelationProgram, show_program
from lace.engines.spark.counting import TOO_MANY
from lace.errors import EngineError

_CALLING = "An error occurred while calling"
_CAUSE = "Caused by: "
_JAVA = re.compile(r"^(Caused by: |: )*([a-z]\w*\.)+[A-Z][\w.$]*(: |$)")
"""The class of an exception of Java in front of what it says."""
_TRACE = "Traceback (most recent call last):"
_MOST = 500
_LACKS = "No module named '"


class SparkFailed(EngineError):
    """A job of Spark failed."""

    code = "engine/spark"
    text = "Spark failed while it ran rules: {reason}"


@contextmanager
def failures(program: RelationProgram, budget: Budget | None = None) -> Iterator[None]:
    """Turn what Spark raises into an error that names the program; the original is its cause."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        said = str(error)
        if budget is not None and TOO_MANY in said:
            bound = budget.limits.steps
            raise EvaluationStopped(limit="steps", bound=bound, where="a join", seen="more") from error
        reason = with_advice(_reason(said)) or type(error).__name__
        raise SparkFailed(reason=reason, program=show_program(program)) from error


def with_advice(reason: str) -> str:
    """Return a reason, and what to do where the workers of a session run another Python than its owner.

    >>> with_advice("the disk is gone")
    'the disk is gone'
    """
    if _LACKS not in reason:
        return reason
    return f"{reason} in the Python of its workers: PYSPARK_PYTHON names it, before the session starts"


def _reason(said: str) -> str:
    """Return what happened: what a worker raised, else the first line of the root cause.

    An error class of Spark, which may name a file, stays in front of it.

    >>> _reason("[X] the disk is gone SQLSTATE: P0001\\nJVM stacktrace:\\nat java")
    '[X] the disk is gone'
    >>> _reason("An error occurred while calling o6.sum.\\n: a.B: it stopped\\n\\tat x")
    'it stopped'
    >>> _reason("a.B: it stopped\\n\\tat x\\nCaused by: c.D: no room\\n\\tat y")
    'no room'
    """
    _, trace, after = said.rpartition(_TRACE)
    told = next((line for line in after.splitlines() if line and not line[0].isspace()), "") if trace else ""
    if told:
        return told[:_MOST]
    lines = [line.partition("SQLSTATE")[0].strip() for line in said.splitlines()]
    lines = [line for line in lines if line and not line.startswith((_CALLING, "at ", "... "))]
    first = _JAVA.sub("", next(iter(lines), ""))
    causes = [_JAVA.sub("", line) for line in lines if line.startswith(_CAUSE)]
    root = next((cause for cause in reversed(causes) if cause), first)
    if first.startswith("[") and root not in first:
        return f"{first[:_MOST]} {root[:_MOST]}"
    return root[:_MOST]
