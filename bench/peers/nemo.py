"""Nemo: a program names its files, and one engine runs it once.

Nemo reads a file when the first rule needs it, so reading is part of its run. To tell the two apart, the
program starts with a rule for each relation that reads it and keeps nothing, and Nemo's own clocks say what
each rule took: those rules are the load, with the writing of the files, and the others the evaluation. Facts
do not stay: every evaluation is a new engine that reads them again.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import nmo_python  # type: ignore[import-untyped]

from bench.harness import Spent
from bench.peers import Evaluated, Peer
from bench.workloads import Facts, Row, Workload

SELECTION = (
    'Selected(?P) :- Have(?P), Field(?P,"Group",_,"u"), Field(?P,"App",_,"ding"), Field(?P,"Name",_,?K), '
    'STRSTARTS(?K,"links/") = true .\n'
)
CLOSURE = "Path(?X,?Y) :- Edge(?X,?Y) .\nPath(?X,?Z) :- Path(?X,?Y), Edge(?Y,?Z) .\n"
SPREAD = 'Member(?Q) :- Member(?P), RecordLink(?P,"evidence",_,_,?Q), Have(?Q) .\n'
PROGRAMS = {
    "w1": SELECTION,
    "w2": "Member(?P) :- Root(?P), Have(?P) .\n" + SPREAD,
    "w3_dense": CLOSURE,
    "w3_chain": CLOSURE,
    "w4": "Blocked(?P) :- Author(?P,?A), BlockedAuthor(?A) .\nVisible(?P) :- Have(?P), ~Blocked(?P) .\n",
    "w5": (
        "Before(?P,?Q) :- Candidate(?P,?T), Candidate(?Q,?T), COMPARE(?Q,?P) = 1 .\n"
        "Before(?P,?Q) :- Candidate(?P,?TP), Candidate(?Q,?TQ), COMPARE(?TQ,?TP) = 1 .\n"
        "Ahead(?P,#count(?Q)) :- Before(?P,?Q) .\n"
        "Late(?P) :- Ahead(?P,?N), ?N >= 100 .\n"
        "Newest(?P) :- Candidate(?P,_), ~Late(?P) .\n"
    ),
    "w6": SELECTION
    + "Member(?P) :- Selected(?P) .\n"
    + SPREAD
    + 'Blocked(?P) :- Field(?P,"Author",_,?A), BlockedAuthor(?A) .\nOut(?P) :- Member(?P), ~Blocked(?P) .\n',
}


class Nemo(Peer):
    """Facts in files; each evaluation reads them."""

    package = "nemo-python"
    threads = "reasons in one thread"
    about = "set up an engine and run the program's rules; the answers are not counted or handed out"

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        self._text = ""
        self._relations = 0
        self._program: nmo_python.NemoProgram | None = None
        self._folder: TemporaryDirectory[str] | None = None

    def load(self, facts: Facts) -> None:
        self.close()
        self._folder = TemporaryDirectory(prefix="lace-bench-")
        folder = Path(self._folder.name)
        for name, rows in facts.items():
            text = "".join(["\t".join(row) + "\n" for row in rows])
            (folder / f"{name}.tsv").write_text(text, encoding="utf-8")
        self._relations = len(facts)
        self._text = "".join(imports(folder, facts)) + PROGRAMS[self.workload.name]

    def prepare(self) -> None:
        self._program = nmo_python.load_string(self._text)

    def evaluate(self, *, read: bool = False) -> Evaluated:
        engine = nmo_python.NemoEngine(self._program)
        engine.reason()
        rows = list(map(plain, engine.result(self.workload.wanted))) if read else None
        return Evaluated(None, rows, self._reading(engine))

    def evaluate_text(self) -> Evaluated:
        self.prepare()
        return self.evaluate()

    def _reading(self, engine: nmo_python.NemoEngine) -> Spent:
        rules = engine.timing().subnode("Reasoning/Rules")
        first = [rules.subnode(f"Rule {at}") for at in range(self._relations)]
        return Spent(
            sum(rule.process_time.total_seconds() for rule in first),
            sum(rule.system_time.total_seconds() for rule in first),
        )

    def close(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def imports(folder: Path, facts: Facts) -> Iterable[str]:
    """Yield what reads the files: the directives, then a rule for each that looks for a text nobody has."""
    for name, rows in facts.items():
        kinds = ", ".join(["string"] * len(rows[0]))
        yield f'@import {name} :- tsv{{resource="{folder / name}.tsv", format=({kinds})}} .\n'
    for name, rows in facts.items():
        others = ",_" * (len(rows[0]) - 1)
        yield f'Read{name}(?V) :- {name}(?V{others}), ?V = "nobody" .\n'


def plain(row: list[str]) -> Row:
    """Take the quotes off the texts of a row.

    >>> plain(['"a"', '"b"'])
    ('a', 'b')
    """
    return tuple([value[1:-1] for value in row])


PEER = Nemo
