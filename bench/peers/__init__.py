"""Engines under measurement, one a file, all with the same verbs.

Rules of this folder:
1. An engine gets the facts as lists of tuples of text and keeps them in whatever form serves it best.
   What that takes is its load, files that it has to write included.
2. A program is written by hand in the engine's own language, as somebody who knows the engine would write
   it, with the engine's own text functions; sets stay sets. Where a program can be prepared, it is.
3. An evaluation ends when the answers exist inside the engine. Where an engine can count them without
   handing them out, counting them is part of it; reading them as text is measured apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version

from bench.harness import Spent
from bench.workloads import Facts, Row, Workload

NAMES = ("lace", "clingo", "cozo", "nemo", "duckdb", "souffle")


NOTHING = Spent(0.0, 0.0)


class Unavailable(Exception):
    """An engine that is not here, or a workload that it does not run; the text says why."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What an evaluation tells about itself."""

    count: int | None
    """How many answers, where the engine can tell without handing them out."""
    rows: Sequence[Row] | None = None
    """The answers as text, where they were asked for."""
    loading: Spent = NOTHING
    """What of the time went into reading facts and belongs to the load."""
    spent: Spent | None = None
    """The whole time, where another process did the work."""


class Peer(ABC):
    """One engine with the facts of one workload."""

    package: str
    """Its distribution, for the version."""
    threads: str
    """How it is kept to one thread."""
    about: str
    """What its evaluation includes."""
    prepares = True
    """Whether a program can be made ready once and evaluated many times."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload

    def version(self) -> str:
        """Return the installed version."""
        return version(self.package)

    @abstractmethod
    def load(self, facts: Facts) -> None:
        """Take in the facts."""

    def prepare(self) -> None:
        """Make the program ready for these facts; nobody measures this."""
        return

    @abstractmethod
    def evaluate(self, *, read: bool = False) -> Evaluated:
        """Evaluate the prepared program, and hand out the answers where they are wanted."""

    def evaluate_text(self) -> Evaluated:
        """Evaluate the program, starting from its text."""
        return self.evaluate()

    def others(self, facts: Facts) -> Mapping[str, Callable[[], int]]:
        """Return other ways that are worth knowing; each returns how many answers, or facts, there were."""
        return {}

    def close(self) -> None:
        """Let go of everything."""
        return


def open_peer(name: str, workload: Workload) -> Peer:
    """Return an engine without facts."""
    try:
        peer: Peer = import_module(f"bench.peers.{name}").PEER(workload)
    except ImportError as missing:
        raise Unavailable(f"not installed ({missing.name})") from missing
    return peer
