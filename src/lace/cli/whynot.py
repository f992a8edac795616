"""lace whynot"""

from __future__ import annotations

from lace.cli.command import Call, Command
from lace.cli.lakes import evaluating
from lace.cli.rulefiles import load_program, open_workbench, telling
from lace.cli.why import add_goal, chosen_size


def _run(call: Call) -> int:
    from lace.datalog import show_why_not
    from lace.porcelain import read_goal

    out = call.out
    with telling(out):
        fact = read_goal(call.args.fact)
    program = load_program(call, call.args.rules)
    with open_workbench(call) as bench:
        bench.use(program)
        with evaluating(call):
            answer = bench.why_not(fact)
    if out.as_json:
        out.value(answer.to_json())
    else:
        for line in show_why_not(answer, **chosen_size(call)).split("\n"):
            out.line(line)
    return 0 if answer.proof is None else 1


COMMAND = Command(
    "whynot",
    "explain why a fact does not hold",
    "For each rule that could derive it: how far its body holds, and the atom that fails. Exit code 1 where "
    "the fact holds; then it shows why.",
    (
        "echo \"Group(G) :- Have(P), Field(P,'Group',_,G).\" > groups.lacegram",
        "lace whynot \"Group('nowhere')\" --rules groups.lacegram",
    ),
    add_goal,
    _run,
)
