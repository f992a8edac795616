"""The embedded engine, the oracle and clingo give the same facts, whatever way they take."""

from __future__ import annotations

from random import Random

import pytest

from lace.algebra import Budget
from lace.datalog import Program, compile_program, evaluate, parse_program
from lace.engines import Database
from lace.facts import Fact, Predicate, ValueNotText
from tests.datalog.clingo_judge import judge
from tests.datalog.programs import random_case
from tests.engines.modes import MODES, mode
from tests.golden import load_vectors

CASES = load_vectors("evaluate")["cases"]
BATCH = 100

# 030: "MUST reject a fact value that is not valid UTF-8 NFC". One case supplies such a value
# (an "a", a combining acute, an "n"); it derives nothing from it, so the rest of the case stands.
NOT_COMPOSED = {"TextShape: delimiters of several bytes": ("T", "a\N{COMBINING ACUTE ACCENT}n")}


@pytest.mark.parametrize("way", MODES)
def test_every_golden_evaluation_comes_out(way: str) -> None:
    with mode(way):
        for case in CASES:
            facts = [tuple(fact) for fact in case["facts"]]
            if case["name"] in NOT_COMPOSED:
                with pytest.raises(ValueNotText):
                    Database(facts)
                facts.remove(NOT_COMPOSED[case["name"]])
            result = Database(facts).evaluate(compile_program(parse_program(case["program"]))).result()
            assert result.all_facts() == {tuple(fact) for fact in case["derived"]}, case["name"]


def check_seed(seed: int) -> None:
    case = random_case(seed)
    program, facts = parse_program(case.program), case.facts
    dice = Random(f"engine {seed}")
    way = list(MODES)[seed % len(MODES)]
    wanted = evaluate(program, facts)
    assert judge(program, facts) == wanted, seed
    with mode(way):
        compiled = compile_program(program)
        assert Database(facts).evaluate(compiled).result().all_facts() == wanted, (seed, way)
        check_wanted_outputs(program, facts, wanted, case.outputs)
        check_changes(program, facts, dice)
        check_following(program, facts, dice)


def check_wanted_outputs(
    program: Program, facts: list[Fact], derived: set[Fact], outputs: tuple[Predicate, ...]
) -> None:
    result = Database(facts).evaluate(compile_program(program, outputs)).result()
    for output in outputs:
        expected = sorted(f[1:] for f in derived if (f[0], len(f) - 1) == output)
        assert result.facts(output) == expected


def check_changes(program: Program, facts: list[Fact], dice: Random) -> None:
    held = {fact for fact in facts if dice.random() < 0.5}
    running = Database(held).evaluate(compile_program(program))
    first = running.result()
    before = first.all_facts()
    for _ in range(3):
        added = {fact for fact in facts if fact not in held and dice.random() < 0.5}
        taken = {fact for fact in sorted(held) if dice.random() < 0.3}
        held = (held - taken) | added
        assert running.change(added, taken).all_facts() == evaluate(program, held)
    assert first.all_facts() == before, "a version stays as it was"


def check_following(program: Program, facts: list[Fact], dice: Random) -> None:
    """What the database gains is what facts of the evaluation's own would be, costs included."""
    base = [fact for fact in facts if (fact[0], len(fact) - 1) not in program.heads]
    given = [fact for fact in facts if fact not in base]
    held = {fact for fact in base if dice.random() < 0.5}
    database, compiled = Database(held), compile_program(program)
    running = database.evaluate(compiled, facts=given)
    other = Database(held).evaluate(compiled, facts=given)
    kept = []
    for _ in range(3):
        kept.append((running.result(), running.result().all_facts()))
        added = [fact for fact in base if fact not in held and dice.random() < 0.4]
        held.update(added)
        database.add(added)
        budget, other_budget = Budget(), Budget()
        result = running.follow(database.version(), budget=budget)
        assert result is not None
        assert result.all_facts() == evaluate(program, [*held, *given])
        assert result.all_facts() == other.insert(added, other_budget).all_facts()
        assert (running.rounds, budget) == (other.rounds, other_budget)
    assert all(version.all_facts() == known for version, known in kept), "a version stays as it was"


@pytest.mark.req("030-053", "030-054", "030-057", "030-113", "030-114", "030-115")
@pytest.mark.parametrize("batch", range(2000 // BATCH))
def test_random_programs_agree_with_oracle_and_clingo(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        check_seed(seed)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(2000 // BATCH, 100_000 // BATCH))
def test_many_more_random_programs_agree(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        check_seed(seed)


def test_a_good_share_of_negated_and_counted_atoms_matters() -> None:
    asked = matters = 0
    for seed in range(200):
        case = random_case(seed)
        program = parse_program(case.program)
        whole = evaluate(program, case.facts)
        for rule in program.rules:
            for part in rule.body:
                if type(part).__name__ in ("Negated", "Cardinality"):
                    asked += 1
                    lines = [str(r) for r in program.rules if r is not rule]
                    rest = [str(p) for p in rule.body if p is not part] or ["true"]
                    other = parse_program("\n".join([*lines, f"{rule.head} :- {', '.join(rest)}."]))
                    matters += evaluate(other, case.facts) != whole
    assert asked > 200
    assert matters > asked / 4
