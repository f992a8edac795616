"""lace why"""

from __future__ import annotations

from argparse import ArgumentParser

from lace.cli.command import Call, Command
from lace.cli.grammar import parse_count
from lace.cli.lakes import add_lake_of_rules, evaluating
from lace.cli.rulefiles import add_facts, add_limits, load_program, open_workbench, telling

WHOLE = 1 << 30
WIDTH = 400
"""How long a line gets: two or three record ids and a rule of some length."""


def add_goal(parser: ArgumentParser) -> None:
    """Add what both `why` and `whynot` take."""
    parser.add_argument("fact", metavar="FACT", help="the fact, such as \"Selected('P.…')\"")
    parser.add_argument(
        "--rules", metavar="FILE", required=True, help="a lacegram, or annotated source; - for stdin"
    )
    parser.add_argument("--depth", metavar="N", type=parse_count, help="how many steps down to show (12)")
    parser.add_argument(
        "--full", action="store_true", help="cut nothing: every step, every premise, whole lines"
    )
    add_facts(parser)
    add_limits(parser)
    add_lake_of_rules(parser)


def _run(call: Call) -> int:
    from lace.datalog import show_proof
    from lace.facts import write_fact_line
    from lace.porcelain import read_goal

    args, out = call.args, call.out
    with telling(out):
        fact = read_goal(args.fact)
    program = load_program(call, args.rules)
    with open_workbench(call) as bench:
        bench.use(program)
        with evaluating(call):
            proof = bench.why(fact)
    if out.as_json:
        out.value({"fact": list(fact), "holds": proof is not None, "proof": proof and proof.to_json()})
    elif proof is None:
        out.note(f"{write_fact_line(fact)} does not hold; `lace whynot` says what stops it")
    else:
        for line in show_proof(proof, **chosen_size(call)).split("\n"):
            out.line(line)
    return 0 if proof else 1


def chosen_size(call: Call) -> dict[str, int]:
    """Return how much of an explanation to show."""
    size = {"depth": WHOLE, "breadth": WHOLE, "width": WHOLE} if call.args.full else {"width": WIDTH}
    return size if call.args.depth is None else {**size, "depth": call.args.depth}


COMMAND = Command(
    "why",
    "explain why a fact holds",
    "Shows a proof: the rule, the values of its variables, and below them what it needed, down to given "
    "facts. Exit code 1 where the fact does not hold.",
    (
        "echo \"Group(G) :- Have(P), Field(P,'Group',_,G).\" > groups.lacegram",
        "lace why \"Group('u')\" --rules groups.lacegram",
    ),
    add_goal,
    _run,
)
