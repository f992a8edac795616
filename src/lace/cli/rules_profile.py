"""lace rules profile"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any

from lace.cli.command import Call, Command
from lace.cli.output import count
from lace.cli.rulefiles import (
    add_facts,
    add_limits,
    add_rule_file,
    add_wanted,
    chosen_predicates,
    load_program,
    open_workbench,
)
from lace.cli.tables import aligned

if TYPE_CHECKING:
    from lace.porcelain import Evaluated, RuleProfile

HEAD = ("rule", "rounds", "runs", "candidates", "new", "ms", "")


def _arguments(parser: ArgumentParser) -> None:
    add_rule_file(parser)
    add_wanted(parser, "what is read of the result (else: everything)")
    add_facts(parser)
    add_limits(parser)


def _run(call: Call) -> int:
    program = load_program(call, call.args.file)
    with open_workbench(call) as bench:
        bench.use(program)
        evaluated = bench.evaluate(chosen_predicates(call.args.want))
    if call.out.as_json:
        call.out.value(profile_json(evaluated))
        return 0
    for line in profile_lines(evaluated):
        call.out.line(line)
    return 0


def profile_lines(evaluated: Evaluated) -> list[str]:
    """Return what each rule cost for people, the dearest first."""
    rows = [
        (
            str(rule.number), f"{rule.rounds:,}", f"{rule.runs:,}", f"{rule.candidates:,}", f"{rule.new:,}",
            f"{rule.milliseconds:.2f}", rule.line,
        )
        for rule in _dearest_first(evaluated)
    ]  # fmt: skip
    derived, steps = count(_derived(evaluated), "fact"), count(evaluated.steps, "step")
    return [*aligned(HEAD, rows), f"{derived} in {evaluated.milliseconds:.2f} ms, {steps}"]


def profile_json(evaluated: Evaluated) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "milliseconds": evaluated.milliseconds,
        "steps": evaluated.steps,
        "derived": _derived(evaluated),
        "rules": [rule._asdict() for rule in _dearest_first(evaluated)],
    }


def _dearest_first(evaluated: Evaluated) -> list[RuleProfile]:
    return sorted(evaluated.profile(), key=lambda rule: (-rule.milliseconds, rule.number))


def _derived(evaluated: Evaluated) -> int:
    return sum(rule.new for rule in evaluated.profile())


COMMAND = Command(
    "profile",
    "measure what each rule costs over a lace",
    "For each rule: the rounds of its predicate, how often it ran, the facts it put out (candidates), those "
    "that were new, and milliseconds; the dearest first. Rules that nothing wanted needs are left out.",
    (
        "echo \"Selected(P) :- Have(P), Field(P,'Group',_,'u').\" > mine.lacegram",
        "lace rules profile mine.lacegram",
    ),
    _arguments,
    _run,
)
