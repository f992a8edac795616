"""What Spark raises, as errors of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from lace.algebra import Budget, EvaluationStopped, RelationProgram, show_program
from lace.engines.spark.counting import TOO_MANY
from lace.errors import EngineError


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
        reason = _reason(said) or type(error).__name__
        raise SparkFailed(reason=reason, program=show_program(program)) from error


def _reason(said: str) -> str:
    """Return the line that says what happened: of a worker's trace the last, else the first.

    >>> _reason("[X] the disk is gone SQLSTATE: P0001\\nJVM stacktrace:\\nat java")
    '[X] the disk is gone'
    """
    lines = [line.partition("SQLSTATE")[0].strip() for line in said.splitlines()]
    lines = [line for line in lines if line]
    told = [line for line in lines if "Error: " in line and not line.startswith(("at ", "Caused by"))]
    return (told[-1:] or lines[:1] or [""])[0][:500]
