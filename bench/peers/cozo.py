"""Cozo, embedded and in memory: stored relations, and a script for each question.

A stored relation is a tree in the order of its columns, so asking `Field` by name and value needs an index,
and a script names the index it wants: without it the selection of w1 takes a hundred times as long. The
package offers no prepared scripts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from cozo_embedded import CozoDbPy  # type: ignore[import-untyped]

from bench.peers import Evaluated, Peer
from bench.workloads import Facts, Workload

SELECTION = (
    "selected[p] := *Field:by_value{c1: 'App', c3: 'ding', c0: p}, "
    "*Field:by_value{c1: 'Group', c3: 'u', c0: p}, *Have[p], "
    "*Field{c0: p, c1: 'Name', c3: k}, starts_with(k, 'links/')\n"
)
CLOSURE = "path[x, y] := *Edge[x, y]\npath[x, z] := path[x, y], *Edge[y, z]\n?[x, y] := path[x, y]"
SPREAD = "member[q] := member[p], *RecordLink{c0: p, c1: 'evidence', c4: q}, *Have[q]\n"
SCRIPTS = {
    "w1": SELECTION + "?[p] := selected[p]",
    "w2": "member[p] := *Root[p], *Have[p]\n" + SPREAD + "?[p] := member[p]",
    "w3_dense": CLOSURE,
    "w3_chain": CLOSURE,
    "w4": "blocked[p] := *Author[p, a], *BlockedAuthor[a]\n?[p] := *Have[p], not blocked[p]",
    "w5": (
        "before[p, q] := *Candidate[p, t], *Candidate[q, t], q > p\n"
        "before[p, q] := *Candidate[p, tp], *Candidate[q, tq], tq > tp\n"
        "ahead[p, count(q)] := before[p, q]\n"
        "late[p] := ahead[p, n], n >= 100\n"
        "?[p] := *Candidate[p, _], not late[p]"
    ),
    "w6": SELECTION
    + "member[p] := selected[p]\n"
    + SPREAD
    + "blocked[p] := *Field{c0: p, c1: 'Author', c3: a}, *BlockedAuthor[a]\n"
    + "?[p] := member[p], not blocked[p]",
}


class Cozo(Peer):
    """Facts in stored relations; each evaluation is a read-only script."""

    package = "cozo-embedded"
    threads = "RAYON_NUM_THREADS=1"
    about = "parse and run the script, count the answers"
    prepares = False

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        self._script = SCRIPTS[workload.name]
        # The entry's own head, with its first column counted.
        self._counting = re.sub(r"\?\[(\w+)[^\]]*\]", r"?[count(\1)]", self._script)
        self._database = CozoDbPy("mem", "", "{}")

    def load(self, facts: Facts) -> None:
        self._database = CozoDbPy("mem", "", "{}")
        for name, rows in facts.items():
            columns = [f"c{at}" for at in range(len(rows[0]))]
            schema = ", ".join(f"{column}: String" for column in columns)
            self._database.run_script(f":create {name} {{{schema}}}", {}, False)
            self._database.import_relations({name: {"headers": columns, "rows": list(map(list, rows))}})
        if "Field" in facts:
            self._database.run_script("::index create Field:by_value {c1, c3, c0}", {}, False)

    def evaluate(self, *, read: bool = False) -> Evaluated:
        rows = self._database.run_script(self._script if read else self._counting, {}, True)["rows"]
        return Evaluated(len(rows), list(map(tuple, rows))) if read else Evaluated(rows[0][0])

    def others(self, facts: Facts) -> Mapping[str, Callable[[], int]]:
        if self.workload.name != "w6":
            return {}
        # In the order of the columns, and the script in the order of the rules.
        script = self._counting.replace("Field:by_value", "Field")
        return {"without the index": lambda: int(self._database.run_script(script, {}, True)["rows"][0][0])}

    def close(self) -> None:
        self._database.close()


PEER = Cozo
