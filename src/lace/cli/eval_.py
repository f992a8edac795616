"""lace eval"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lace.cli.command import Call, Command
from lace.cli.grammar import Usage, parse_count, parse_path
from lace.cli.lakes import add_lake_of_rules, evaluating
from lace.cli.output import Output, count
from lace.cli.rulefiles import (
    add_facts,
    add_limits,
    add_rule_file,
    add_wanted,
    chosen_predicates,
    load_program,
    open_workbench,
    tell_warnings,
    telling,
    write_details,
)

if TYPE_CHECKING:
    from lace.algebra import Result
    from lace.porcelain import Answers, Workbench


def _arguments(parser: ArgumentParser) -> None:
    add_rule_file(parser)
    add_wanted(parser, "write facts of this predicate (else: of every one that the rules derive)")
    parser.add_argument(
        "-Q", "--query", metavar="QUESTION",
        help="write what the variables of an atom can be, or of several: \"Selected(P), not Old(P)\"",
    )  # fmt: skip
    parser.add_argument("-n", "--limit", metavar="N", type=parse_count, help="write at most so many")
    add_facts(parser)
    add_limits(parser)
    add_lake_of_rules(parser).add_argument(
        "--report", metavar="FILE", type=parse_path, help="write how it was evaluated as a page of HTML"
    )


def _run(call: Call) -> int:
    args = call.args
    if args.query is not None and args.want:
        raise Usage(reason="give --query or --want, not both", command="lace eval")
    if args.report is not None and (args.lake is None or args.query is not None):
        reason = "--report tells how rules were evaluated over a lake: give --lake, and no --query"
        raise Usage(reason=reason, command="lace eval")
    program = load_program(call, args.file)
    with open_workbench(call) as bench:
        bench.use(program)
        return _facts(call, bench) if args.query is None else _answers(call, bench)


def _facts(call: Call, bench: Workbench) -> int:
    from lace.facts import write_fact_line

    with evaluating(call):
        evaluated = bench.evaluate(chosen_predicates(call.args.want))
    _tell_report(call, evaluated.result)
    shown = 0
    for fact in evaluated.facts(limit=call.args.limit):
        if call.out.as_json:
            call.out.value(fact)
        else:  # what is no terminal gets lines that are facts, for the next --facts
            call.out.exact(write_fact_line(fact))
        shown += 1
    total = sum(evaluated.result.count(predicate) for predicate in evaluated.compiled.wanted)
    _tell_more(call.out, total - shown, "fact", "facts")
    return 0


def _answers(call: Call, bench: Workbench) -> int:
    from lace.porcelain import read_question

    with telling(call.out):
        question = read_question(call.args.query, bench.program, bench.supplied())
    tell_warnings(call.out, question.warnings, "the question")
    with evaluating(call):
        answers = bench.ask(question, limit=call.args.limit)
    for row in answers.rows:
        call.out.result(answer_line(answers, row), dict(zip(answers.variables, row, strict=True)))
    found = bool(answers.rows) or answers.more != 0
    if not answers.variables and not found and not call.out.as_json:
        call.out.line("no")
    _tell_more(call.out, answers.more, "answer", "answers")
    return 0 if found else 1


def answer_line(answers: Answers, row: Sequence[str]) -> str:
    """Write the values of one answer for people.

    >>> from lace.porcelain import Answers
    >>> answer_line(Answers(("P", "N"), []), ("a", "x")), answer_line(Answers((), []), ())
    ("P='a', N='x'", 'yes')
    """
    from lace.facts import write_constant

    pairs = zip(answers.variables, row, strict=True)
    return ", ".join(f"{name}={write_constant(value)}" for name, value in pairs) or "yes"


def _tell_report(call: Call, result: Result) -> None:
    """Say how Spark evaluated, where it did: the strategy, rounds and rows of each component."""
    out = call.out
    report = getattr(result, "report", None)
    if report is None:
        return
    if call.args.report is not None:
        from lace.pipeline import rules_report
        from lace.porcelain import new_file

        page = rules_report(report, call.args.file, call.args.lake).to_html()
        with new_file(Path(call.args.report), replace=True) as file:
            file.write(page.encode())
    if out.as_json:
        write_details([json.dumps({"report": report.to_json()}, ensure_ascii=False)])
    else:
        for component in report.components:
            out.note(str(component))


def _tell_more(out: Output, more: int | None, noun: str, nouns: str) -> None:
    if more != 0:
        out.flush()  # what is left out is told behind what is there
    if more is None:
        out.note(f"and more {nouns}, which nobody counted")
    elif more:
        out.note(f"and {count(more, noun, nouns)} more")


COMMAND = Command(
    "eval",
    "evaluate rules over a lace",
    "Writes the derived facts, one a line, sorted. With --query it writes the answers to a question instead, "
    "one a line; exit code 1 where there is none. With --json: a list a fact, an object an answer.",
    (
        "echo \"Selected(P,N) :- Have(P), Field(P,'Group',_,'u'), Field(P,'Name',_,N).\" > mine.lacegram",
        "lace eval mine.lacegram --limit 3",
        "lace eval mine.lacegram --query \"Selected(P,'first')\"",
    ),
    _arguments,
    _run,
)
