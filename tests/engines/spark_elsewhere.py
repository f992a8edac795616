"""Run as a program: a few evaluations on the Spark that is named, compared with the embedded engine.

python -m tests.engines.spark_elsewhere local-cluster[2,1,1024]
python -m tests.engines.spark_elsewhere connect
"""

from __future__ import annotations

import sys
from typing import Any

from lace.algebra import Budget
from lace.datalog import compile_program, parse_program
from lace.facts import Fact
from lace.pipeline import start_session
from tests.engines.spark_cases import check_same, embedded, engine_over, together

PROGRAMS: dict[str, list[Fact]] = {
    "Member(P) :- Root(P).\nMember(Q) :- Member(P), Link(P,Q), not Closed(Q).": [
        ("Root", "a"), ("Root", "b"), ("Closed", "e"),
        ("Link", "a", "c"), ("Link", "c", "d"), ("Link", "b", "d"), ("Link", "d", "e"),
    ],
    "In(G,X) :- Root(G,X).\nIn(G,Y) :- In(G,X), In(G,Z), Edge(X,Z,Y).": [
        ("Root", "1", "a"), ("Root", "1", "b"), ("Root", "2", "a"),
        ("Edge", "a", "b", "c"), ("Edge", "a", "a", "b"),
    ],
    "Less(X,Y) :- V(X), V(Y), IntCompare(X,'<',Y).\nFew(X) :- V(X), Cardinality(Less(X,_),'<','2').": [
        ("V", "9"), ("V", "10"), ("V", "-3"), ("V", "x"),
    ],
}  # fmt: skip


def main(where: str) -> int:
    """Evaluate with each strategy; print a line for each that agrees."""
    options: dict[str, Any] = {"remote": "local[2]"} if where == "connect" else {"master": where}
    session = start_session(**options, config={"spark.sql.shuffle.partitions": "2"})
    cases = [(compile_program(parse_program(text)), facts) for text, facts in PROGRAMS.items()]
    program, given = together(cases)
    wanted, steps = embedded(program, given)
    for strategy in ("local", "parts", "loop"):
        budget = Budget()
        found = engine_over(session, given, strategy=strategy, parts=2).evaluate(program, budget).result()
        check_same(found, wanted, program)
        assert budget.steps >= steps if strategy == "parts" else budget.steps == steps, (
            strategy,
            budget.steps,
            steps,
        )
        print(f"{strategy} agrees", flush=True)
    session.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
