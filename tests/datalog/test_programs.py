"""tests.datalog.programs: random cases are valid, reach everything, and an outside judge agrees on them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from lace.datalog import Cardinality, Negated, Program, Rule, Truth, evaluate, make_program, parse_program
from tests.datalog.clingo_judge import judge
from tests.datalog.programs import random_case

ROOT = Path(__file__).parent.parent.parent


def without(program: Program, at: int, part: int) -> Program:
    """Return the program with one atom left out."""
    rule = program.rules[at]
    body = rule.body[:part] + rule.body[part + 1 :]
    rules = [*program.rules]
    rules[at] = Rule(rule.head, body or (Truth(),))
    return make_program(rules)


def test_a_good_share_of_negated_and_counted_atoms_decides_something() -> None:
    seen: Counter[str] = Counter()
    matters: Counter[str] = Counter()
    for seed in range(100):
        case = random_case(seed)
        program = parse_program(case.program)
        result = evaluate(program, case.facts)
        seen["result"] += bool(result)
        for at, rule in enumerate(program.rules):
            for part, atom in enumerate(rule.body):
                if isinstance(atom, Negated | Cardinality):
                    kind = type(atom).__name__
                    seen[kind] += 1
                    matters[kind] += evaluate(without(program, at, part), case.facts) != result
    assert seen["result"] > 90
    assert seen["Negated"] > 100
    assert seen["Cardinality"] > 80
    assert matters["Negated"] > 0.5 * seen["Negated"]
    assert matters["Cardinality"] > 0.4 * seen["Cardinality"]


def test_cases_hold_all_that_engines_get_wrong() -> None:
    cases = [random_case(seed) for seed in range(200)]
    text = "\n".join(case.program for case in cases)
    for piece in (
        *(
            "not ",
            "Cardinality(",
            " != ",
            "IntCompare(",
            "LexCompare(",
            "TextShape(",
            "_",
            "() :- ",
            ":- true.",
        ),
        *(
            "(L,L)",
            "'-0'",
            "'01'",
            "''",
            "'it\\'s'",
            "'\\\\'",
            "\U0001f600",
            "123456789012345678901234567890",
        ),
    ):
        assert piece in text
    programs = [parse_program(case.program) for case in cases]
    assert sum(len(program.strata) > 2 for program in programs) > 20
    assert sum(any(len(group) > 1 for group in program.components) for program in programs) > 20
    assert all(set(case.outputs) <= program.heads for case, program in zip(cases, programs, strict=True))


def test_the_oracle_agrees_with_clingo() -> None:
    for seed in range(200):
        case = random_case(seed)
        program = parse_program(case.program)
        assert evaluate(program, case.facts) == judge(program, case.facts), f"seed {seed}:\n{case.program}"


@pytest.mark.slow
def test_the_oracle_agrees_with_clingo_at_length() -> None:
    for seed in range(200, 20_000):
        case = random_case(seed)
        program = parse_program(case.program)
        assert evaluate(program, case.facts) == judge(program, case.facts), f"seed {seed}:\n{case.program}"


@pytest.mark.net
def test_a_seed_is_the_same_case_in_every_process() -> None:
    command = (
        "from tests.datalog.programs import random_case; print(repr([random_case(n) for n in range(30)]))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", command],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": str(salt)},
            check=True,
            capture_output=True,
        ).stdout
        for salt in (1, 2)
    }
    assert len(runs) == 1
