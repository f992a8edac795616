"""lace rules plan"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any

from lace.cli.command import Call, Command
from lace.cli.rulefiles import add_rule_file, add_wanted, chosen_predicates, load_program

if TYPE_CHECKING:
    from lace.algebra import RelationProgram
    from lace.datalog import Program


def _arguments(parser: ArgumentParser) -> None:
    add_rule_file(parser)
    add_wanted(parser, "what is read of the result (else: everything); it decides what is left out")
    parser.add_argument("--deltas", action="store_true", help="also what runs when something is added")


def _run(call: Call) -> int:
    from lace.algebra import show_program
    from lace.porcelain import compile_wanted

    args, out = call.args, call.out
    program = load_program(call, args.file)
    compiled = compile_wanted(program, chosen_predicates(args.want))
    if out.as_json:
        out.value(program_json(program, compiled, deltas=args.deltas))
    else:
        for line in show_program(compiled, deltas=args.deltas).split("\n"):
            out.line(line)
    return 0


def program_json(program: Program, compiled: RelationProgram, *, deltas: bool) -> dict[str, Any]:
    """Return a relational program as a program reads it; every step as it prints."""
    from lace.algebra import delta, whole
    from lace.algebra import deltas as deltas_of

    def lines(pipeline: object) -> list[str]:
        return str(pipeline).split("\n")

    components = []
    for component in compiled.components:
        rules = []
        for rule in component.rules:
            value: dict[str, Any] = {
                "rule": rule.rule,
                "id": program.rule_ids[rule.rule],
                "line": program.lines[rule.rule],
                "steps": lines(whole(rule)),
            }
            if deltas:
                value["deltas"] = [lines(delta(rule, at)) for at, _ in enumerate(deltas_of(rule))]
            rules.append(value)
        components.append({
            "predicates": [str(predicate) for predicate in component.predicates],
            "recursive": component.recursive,
            "closure": None if component.closure is None else str(component.closure),
            "rules": rules,
        })  # fmt: skip
    return {
        "id": program.id,
        "wanted": [str(predicate) for predicate in compiled.wanted],
        "components": components,
    }


COMMAND = Command(
    "plan",
    "show the relational program that rules become",
    "What an engine runs, after all rewrites: for each group of predicates the steps of each rule.",
    (
        "echo \"Older(P,Q) :- Field(P,'TAI',_,A), Field(Q,'TAI',_,B), LexCompare(A,'<',B).\" > newest",
        "echo \"Newest(P) :- Have(P), Cardinality(Older(P,_),'<','3').\" >> newest",
        "lace rules plan newest --want Newest/1",
    ),
    _arguments,
    _run,
)
