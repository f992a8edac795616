"""Soufflé, where it is installed: a program made into a binary that reads files and writes files.

It is translated to C++ and compiled outside the measured time, or interpreted where there is no C++ compiler.
A binary does everything in one run, so the load is a second binary's run that reads the same files and
only says how many facts they hold, and the evaluation is what the whole takes beyond that, its output file
included. Facts do not stay.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.harness import Spent
from bench.peers import Evaluated, Peer, Unavailable
from bench.workloads import Facts, Row, Workload

SELECTION = (
    'Selected(p) :- Have(p), Field(p,"Group",_,"u"), Field(p,"App",_,"ding"), Field(p,"Name",_,k), '
    'substr(k,0,6) = "links/".\n'
)
CLOSURE = "Path(x,y) :- Edge(x,y).\nPath(x,z) :- Path(x,y), Edge(y,z).\n"
SPREAD = 'Member(q) :- Member(p), RecordLink(p,"evidence",_,_,q), Have(q).\n'
PROGRAMS = {
    "w1": SELECTION,
    "w2": "Member(p) :- Root(p), Have(p).\n" + SPREAD,
    "w3_dense": CLOSURE,
    "w3_chain": CLOSURE,
    "w4": "Blocked(p) :- Author(p,a), BlockedAuthor(a).\nVisible(p) :- Have(p), !Blocked(p).\n",
    "w5": (
        "Before(p,q) :- Candidate(p,t), Candidate(q,t), q > p.\n"
        "Before(p,q) :- Candidate(p,tp), Candidate(q,tq), tq > tp.\n"
        "Newest(p) :- Candidate(p,_), count : { Before(p,_) } < 100.\n"
    ),
    "w6": SELECTION
    + "Member(p) :- Selected(p).\n"
    + SPREAD
    + 'Blocked(p) :- Field(p,"Author",_,a), BlockedAuthor(a).\nOut(p) :- Member(p), !Blocked(p).\n',
}
DERIVED = {
    "Selected": 1,
    "Member": 1,
    "Path": 2,
    "Blocked": 1,
    "Visible": 1,
    "Before": 2,
    "Newest": 1,
    "Out": 1,
}


class Souffle(Peer):
    """Facts in files; two binaries read them."""

    threads = "-j1"
    about = (
        "evaluation: the run of the compiled program, less that of one that only reads; writes the answers"
    )

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        found = shutil.which("souffle")
        if found is None:
            raise Unavailable("not installed: no `souffle` on the path")
        self._souffle = found
        self._folder: TemporaryDirectory[str] | None = None
        self._arities: dict[str, int] = {}
        self._commands: dict[str, list[str]] = {}

    def version(self) -> str:
        said = subprocess.run([self._souffle, "--version"], capture_output=True, text=True, check=True).stdout
        return next((word for word in said.split() if word[0].isdigit()), "?")

    def load(self, facts: Facts) -> None:
        self.close()
        self._folder = TemporaryDirectory(prefix="lace-bench-")
        self._arities = {name: len(rows[0]) for name, rows in facts.items()}
        for name, rows in facts.items():
            text = "".join(["\t".join(row) + "\n" for row in rows])
            (Path(self._folder.name) / f"{name}.facts").write_text(text, encoding="utf-8")

    def prepare(self) -> None:
        inputs = "".join(f"{declared(name, arity)}.input {name}\n" for name, arity in self._arities.items())
        rules = PROGRAMS[self.workload.name]
        heads = sorted({rule.split("(")[0] for rule in rules.splitlines()})
        derived = "".join(declared(name, DERIVED[name]) for name in heads)
        self._make("read", inputs + "".join(f".printsize {name}\n" for name in self._arities))
        self._make("whole", f"{inputs}{derived}.output {self.workload.wanted}\n{rules}")

    def _make(self, name: str, program: str) -> None:
        assert self._folder is not None
        folder = self._folder.name
        binary, source = Path(folder) / name, Path(folder) / f"{name}.dl"
        source.write_text(program, encoding="utf-8")
        compiling = [self._souffle, "-j1", "-o", str(binary), str(source)]
        compiled = subprocess.run(compiling, capture_output=True).returncode == 0
        command = [str(binary)] if compiled else [self._souffle, str(source)]
        self._commands[name] = [*command, "-F", folder, "-D", folder, "-j1"]

    def evaluate(self, *, read: bool = False) -> Evaluated:
        loading = self._run("read")
        whole = self._run("whole")
        return Evaluated(None, self._answers() if read else None, loading, whole)

    def _run(self, name: str) -> Spent:
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(self._commands[name], capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise Unavailable(f"failed: {done.stderr.strip()[:200]}")
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Spent(cpu, time.perf_counter() - started)

    def _answers(self) -> list[Row]:
        assert self._folder is not None
        written = Path(self._folder.name) / f"{self.workload.wanted}.csv"
        return [tuple(line.split("\t")) for line in written.read_text(encoding="utf-8").splitlines()]

    def close(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def declared(name: str, arity: int) -> str:
    """Declare a relation of texts.

    >>> declared("Edge", 2)
    '.decl Edge(c0:symbol, c1:symbol)\\n'
    """
    columns = ", ".join(f"c{at}:symbol" for at in range(arity))
    return f".decl {name}({columns})\n"


PEER = Souffle
