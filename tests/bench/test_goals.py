"""Goals are judged round by round, and what cannot be compared is neither met nor missed."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

from rich.console import Console

from bench.goals import Judged, judge
from bench.harness import Spent
from bench.rounds import Measured, differences
from bench.shown import goals_table, notes, ratio_text, workload_table


def measured(engine: str, **samples: Sequence[float]) -> Measured:
    found = Measured(engine, {"version": "1", "facts": 5, "digest": "d" * 64}, counts={7})
    for what, times in samples.items():
        for cpu in times:
            found.add(what.replace("_", " "), Spent(cpu, 2 * cpu))
    return found


def line(lines: list[Judged], title: str, other: str) -> Judged:
    (found,) = [each for each in lines if (each.title, each.other) == (title, other)]
    return found


def test_a_ratio_is_the_median_of_the_rounds_own_ratios() -> None:
    results = {"w1": [measured("lace", first=[1, 2, 1]), measured("nemo", first=[5, 8, 3])]}
    found = line(judge(results), "w1: first", "nemo")
    assert (found.cpu_ratio, found.wall_ratio, found.met) == (4, 4, True)


def test_a_round_that_one_side_missed_is_left_out() -> None:
    results = {"w1": [measured("lace", first=[1, 100]), measured("nemo", first=[3])]}
    assert line(judge(results), "w1: first", "nemo").met is False


def test_a_load_may_take_a_part_of_the_others_time() -> None:
    results = {"w1": [measured("lace", load=[1]), measured("clingo", load=[8])]}
    assert line(judge(results), "w1: load", "clingo").met is True


def test_inserts_and_proofs_are_compared_with_our_own_first_evaluation() -> None:
    ours = measured(
        "lace", first=[1, 1], one_insert=[0.001, 0.002], batch_insert=[0.2, 0.2], why=[0.05, 0.04]
    )
    lines = judge({"w2": [ours]})
    assert [each.met for each in lines] == [True, False, True]


def test_without_the_other_side_a_goal_is_neither_met_nor_missed() -> None:
    lost = Measured("nemo", failed="not installed (nmo_python)")
    found = line(judge({"w1": [measured("lace", first=[1]), lost]}), "w1: first", "nemo")
    assert (found.met, found.missing) == (None, "not installed (nmo_python)")
    assert found.to_json()["met"] is None


def test_goals_of_engines_that_were_not_asked_for_are_left_out() -> None:
    assert judge({"w1": [measured("lace", first=[1])]}) == []


def test_different_answers_are_told() -> None:
    one, two = measured("lace", first=[1]), measured("nemo", first=[1])
    assert list(differences("w1", [one, two])) == []
    two.told["digest"] = "e" * 64
    assert list(differences("w1", [one, two])) == ["w1: the answers differ: lace dddddddd, nemo eeeeeeee"]
    two.counts.add(8)
    assert "numbers of answers differ" in next(differences("w1", [one, two]))


def test_another_way_with_other_answers_is_told() -> None:
    each = measured("duckdb", first=[1])
    each.others = {"a window function": {"spent": [1, 1], "count": 6}}
    assert list(differences("w5", [each])) == ["w5: duckdb, a window function: 6 answers, not [7]"]


def test_our_own_failure_is_an_error_and_anothers_is_not() -> None:
    assert list(differences("w1", [Measured("nemo", failed="no answer in 60 s")])) == []
    assert list(differences("w1", [Measured("lace", failed="died")])) == ["w1: ours failed: died"]


def test_tables_show_times_ratios_and_what_is_missing() -> None:
    found = [
        measured("lace", load=[0.001], first=[0.001], again=[0.0001], first_insert=[1], why=[2]),
        measured("nemo", load=[1], first=[2.5]),
        Measured("souffle", failed="not installed"),
    ]
    console = Console(record=True, width=160, file=StringIO())
    console.print(workload_table("w1", found))
    console.print(goals_table(judge({"w1": found})))
    text = console.export_text()
    assert "w1: 5 facts, 7 answers" in text
    for part in ("2.5 s", "1 ms", "2.5e+03", "met"):
        assert part in text
    assert list(notes(found)) == [
        "lace, one more fact: the first by insert 1 s",
        "lace, a proof: why 2 s",
        "[yellow]souffle: not installed[/]",
    ]


def test_a_small_ratio_reads_as_a_part() -> None:
    assert (ratio_text(0.125), ratio_text(10), ratio_text(None)) == ("1/8", "10×", "–")
