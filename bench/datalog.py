"""The rule engine against others on the same facts: `make bench-datalog` (python -m bench.datalog).

What is measured, and how a goal reads it:

    load      from lists of tuples of text to facts that a program can ask; files and indexes included
    first     the first evaluation after the load, the program being compiled: nothing was asked before. The
              goals of w1 to w5 are judged by this on both sides, since not every engine can keep its facts
              for a second question, and one that can has then built what the first one needed
    again     the same program once more over the same resident facts. The goals of w6 are judged by this
    parsed    as again, starting from the text of the program
    read      as again, and every answer handed out as a tuple of texts

An evaluation ends when the answers exist inside the engine and are counted, where it can count them without
handing them out; ours ends with the count and the answers as columns of integers. `read` compares the
engines with texts at both ends. Inserts and proofs are compared with our own first evaluation; what else is
told about facts that come later, bench/changes.py says.

Rules of this file:
1. Same facts, same answers: their number and a hash of them, sorted, must be equal for all engines, else the
   benchmark ends with 2. A missed goal ends it with 1.
2. One engine at a time, one thread each, in processes of their own; a round goes through all engines, the
   first of them by turns. CPU time decides; wall time is shown.
3. An engine gets the quickest way of doing the work that we know of, with the fewest steps inside the
   measured time. Other ways are told below the tables and decide nothing.
4. An engine that is not there, fails or takes too long is told below the table; the others go on.
"""

from __future__ import annotations

import argparse
import json
import sys

from rich.console import Console

from bench.goals import VERSUS, judge
from bench.harness import WIDTH, machine
from bench.peers import NAMES
from bench.rounds import OURS, differences, run_workload
from bench.shown import engines_table, goals_table, notes, workload_table
from bench.workloads import WORKLOADS

REPEATS = 5
LIMIT = 60.0
QUICK = 0.02
"""The part of the facts that a quick run takes."""


def main() -> None:
    """Run the workloads that were asked for and print what they came to."""
    parser = argparse.ArgumentParser(description="Measure the rule engine against others.")
    parser.add_argument(
        "--only", default=",".join(WORKLOADS), metavar="W1,W6", help="some workloads; w3 means both"
    )
    parser.add_argument("--engines", default=",".join(NAMES), help="some of the engines")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="rounds, at most")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds until an engine is given up")
    parser.add_argument(
        "--quick", action="store_true", help="few facts, one round: shows that it works, judges nothing"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object instead of tables")
    asked = parser.parse_args()
    names = [
        name for name in WORKLOADS if any(name.startswith(part) for part in asked.only.lower().split(","))
    ]
    engines = [name for name in NAMES if name in asked.engines.split(",")]
    if not names or not engines:
        parser.error(f"choose among {', '.join(WORKLOADS)} and {', '.join(NAMES)}")
    size, repeats = (QUICK, 1) if asked.quick else (1.0, asked.repeats)
    results = {}
    with Console(stderr=True).status("") as status:
        for name in names:
            goals = {OURS, *(goal.peer for goal in VERSUS if goal.workload == name)}
            results[name] = run_workload(name, engines, size, repeats, asked.limit, goals, status.update)
    lines = judge(results)
    wrong = [line for name, found in results.items() for line in differences(name, found)]
    if asked.json:
        report = {
            "machine": machine(),
            "quick": asked.quick,
            "workloads": {name: {m.engine: m.to_json() for m in found} for name, found in results.items()},
            "goals": [line.to_json() for line in lines],
            "differences": wrong,
        }
        print(json.dumps(report, indent=1, ensure_ascii=False))
    else:
        console = Console(width=max(Console().width, WIDTH))
        for name, measured in results.items():
            console.print(workload_table(name, measured))
            for note in notes(measured):
                console.print(f"  {note}")
        console.print(engines_table(results))
        console.print("Times are medians, CPU over wall. held: the facts after a load; peak: the process.")
        if not asked.quick:
            console.print(goals_table(lines))
        for line in wrong:
            console.print(f"[red]{line}[/]")
    if wrong:
        sys.exit(2)
    sys.exit(not asked.quick and any(line.met is False for line in lines))


if __name__ == "__main__":
    main()
