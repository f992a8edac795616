"""The embedded engine of this house."""

from __future__ import annotations

from bench.peers import Evaluated, Peer
from bench.workloads import Facts, Workload
from lace.datalog import parse_program
from lace.datalog.compile import compile_program
from lace.engines import Database, EmbeddedResult
from lace.facts import Predicate


class Lace(Peer):
    """Facts in a `Database`; a program is compiled once and evaluated many times."""

    package = "lace-py"
    threads = "numpy without BLAS: one thread"
    about = "Database.evaluate, the count, the answers as integer columns"

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        self.wanted = Predicate(workload.wanted, workload.arity)
        self.compiled = compile_program(parse_program(workload.program), [self.wanted])
        self.database = Database()

    def load(self, facts: Facts) -> None:
        self.database = Database()
        for name, rows in facts.items():
            self.database.add_relation(name, rows)

    def prepare(self) -> None:
        self.database.prepare(self.compiled)

    def evaluate(self, *, read: bool = False) -> Evaluated:
        return self._told(self.database.evaluate(self.compiled).result(), read)

    def evaluate_text(self) -> Evaluated:
        program = compile_program(parse_program(self.workload.program), [self.wanted])
        return self._told(self.database.evaluate(program).result(), False)

    def _told(self, result: EmbeddedResult, read: bool) -> Evaluated:
        count = result.count(self.wanted)
        if read:
            return Evaluated(count, result.unsorted(self.wanted))
        result.columns(self.wanted)
        return Evaluated(count)


PEER = Lace
