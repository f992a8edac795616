"""DuckDB in memory: joins, and recursive common table expressions for what is recursive.

Facts go in through a file of tab separated values, its quickest door from Python without another package.
Questions are prepared statements. For w5 the pairs are a table first, as the rules say, then counted; the two
rules cannot give the same pair, since a candidate has one time, so they are put together without looking for
doubles. With that search, and as the window function that a person would write, it is measured beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from bench.peers import Evaluated, Peer
from bench.workloads import Facts, Workload

SELECTION = (
    "SELECT DISTINCT h.c0 FROM Have h "
    "JOIN Field g ON g.c0 = h.c0 AND g.c1 = 'Group' AND g.c3 = 'u' "
    "JOIN Field a ON a.c0 = h.c0 AND a.c1 = 'App' AND a.c3 = 'ding' "
    "JOIN Field n ON n.c0 = h.c0 AND n.c1 = 'Name' AND starts_with(n.c3, 'links/')"
)
CLOSURE = (
    "WITH RECURSIVE Path AS (SELECT c0, c1 FROM Edge "
    "UNION SELECT p.c0, e.c1 FROM Path p JOIN Edge e ON e.c0 = p.c1) SELECT c0, c1 FROM Path"
)
SPREAD = (
    "UNION SELECT l.c4 FROM Member m JOIN RecordLink l ON l.c0 = m.c0 AND l.c1 = 'evidence' "
    "SEMI JOIN Have h ON h.c0 = l.c4)"
)
BEFORE = (
    "CREATE OR REPLACE TABLE Before AS "
    "SELECT p.c0, q.c0 AS c1 FROM Candidate p JOIN Candidate q ON q.c1 = p.c1 WHERE q.c0 > p.c0 "
    "UNION {} SELECT p.c0, q.c0 FROM Candidate p, Candidate q WHERE q.c1 > p.c1"
)
WINDOW = (
    "SELECT c0 FROM (SELECT c0, row_number() OVER (ORDER BY c1 DESC, c0 DESC) AS place FROM Candidate) "
    "WHERE place <= 100"
)
QUESTIONS = {
    "w1": SELECTION,
    "w2": "WITH RECURSIVE Member AS (SELECT r.c0 FROM Root r SEMI JOIN Have h ON h.c0 = r.c0 "
    + SPREAD
    + " SELECT c0 FROM Member",
    "w3_dense": CLOSURE,
    "w3_chain": CLOSURE,
    "w4": (
        "SELECT DISTINCT h.c0 FROM Have h ANTI JOIN "
        "(SELECT a.c0 FROM Author a SEMI JOIN BlockedAuthor b ON b.c0 = a.c1) x ON x.c0 = h.c0"
    ),
    "w5": (
        "SELECT DISTINCT c0 FROM Candidate WHERE c0 NOT IN "
        "(SELECT c0 FROM Before GROUP BY c0 HAVING count(*) >= 100)"
    ),
    "w6": (
        f"WITH RECURSIVE Member AS (({SELECTION}) {SPREAD} SELECT DISTINCT m.c0 FROM Member m ANTI JOIN "
        "(SELECT f.c0 FROM Field f SEMI JOIN BlockedAuthor b ON b.c0 = f.c3 WHERE f.c1 = 'Author') x "
        "ON x.c0 = m.c0"
    ),
}


class DuckDB(Peer):
    """Facts in tables of text columns c0, c1, …"""

    package = "duckdb"
    threads = "threads = 1"
    about = "run the prepared statement, count the answers"

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        self._question = QUESTIONS[workload.name]
        self._counting = f"SELECT count(*) FROM ({self._question})"
        self._pairs = BEFORE.format("ALL") if workload.name == "w5" else None
        self._connection = duckdb.connect(":memory:", config={"threads": 1})

    def load(self, facts: Facts) -> None:
        self._connection = duckdb.connect(":memory:", config={"threads": 1})
        with TemporaryDirectory(prefix="lace-bench-") as folder:
            file = Path(folder) / "facts"
            for name, rows in facts.items():
                file.write_text("".join(["\t".join(row) + "\n" for row in rows]), encoding="utf-8")
                columns = {f"c{at}": "VARCHAR" for at in range(len(rows[0]))}
                self._connection.execute(
                    f"CREATE TABLE {name} AS SELECT * FROM read_csv('{file}', delim = '\t', header = false, "
                    f"columns = {columns}, quote = '', escape = '', auto_detect = false)"
                )

    def prepare(self) -> None:
        if not self._pairs:
            self._connection.execute(f"PREPARE question AS {self._counting}")

    def evaluate(self, *, read: bool = False) -> Evaluated:
        if read:
            if self._pairs:
                self._connection.execute(self._pairs)
            rows = self._connection.execute(self._question).fetchall()
            return Evaluated(len(rows), rows)
        if self._pairs:
            return self.evaluate_text()
        return Evaluated(self._ask("EXECUTE question"))

    def evaluate_text(self) -> Evaluated:
        return Evaluated(self._counted(self._pairs))

    def _counted(self, pairs: str | None) -> int:
        if pairs:
            self._connection.execute(pairs)
        return self._ask(self._counting)

    def _ask(self, question: str) -> int:
        found = self._connection.execute(question).fetchone()
        assert found is not None
        return int(found[0])

    def others(self, facts: Facts) -> Mapping[str, Callable[[], int]]:
        if self.workload.name != "w5":
            return {}
        return {
            "pairs as a set": lambda: self._counted(BEFORE.format("")),
            "a window function": lambda: len(self._connection.execute(WINDOW).fetchall()),
        }

    def close(self) -> None:
        self._connection.close()


PEER = DuckDB
