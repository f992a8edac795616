"""Every engine that is installed gives the answers of the rules' meaning."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import pytest

from bench.harness import Spent
from bench.peers import NAMES, Unavailable, open_peer
from bench.workloads import WORKLOADS, Row
from lace.datalog import evaluate, parse_program

SIZES = {"w1": 0.001, "w2": 0.001, "w3_dense": 0.02, "w3_chain": 0.01, "w4": 0.001, "w5": 0.035, "w6": 1.0}
"""As much as the oracle bears, and enough that something is left out."""


@cache
def meant(name: str) -> set[Row]:
    workload = WORKLOADS[name]
    facts = workload.facts(SIZES[name])
    given = {(name, *row) for name, rows in facts.items() for row in rows}
    derived = evaluate(parse_program(workload.program), given)
    return {fact[1:] for fact in derived if fact[0] == workload.wanted}


@pytest.mark.parametrize("engine", NAMES)
@pytest.mark.parametrize("name", WORKLOADS)
def test_an_engine_answers_what_the_rules_mean(engine: str, name: str) -> None:
    facts, expected = WORKLOADS[name].facts(SIZES[name]), meant(name)
    assert expected
    try:
        peer = open_peer(engine, WORKLOADS[name])
    except Unavailable as reason:
        pytest.skip(str(reason))
    try:
        peer.load(facts)
        peer.prepare()
        for found in (peer.evaluate(), peer.evaluate_text(), peer.evaluate(read=True)):
            assert found.count in (None, len(expected))
        assert found.rows is not None
        assert len(found.rows) == len(expected)
        assert set(found.rows) == expected
        for way, run in peer.others(facts).items():
            assert run() == (sum(map(len, facts.values())) if "load" in way else len(expected))
    finally:
        peer.close()


def test_an_engine_that_is_not_installed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    monkeypatch.delitem(sys.modules, "bench.peers.duckdb", raising=False)
    with pytest.raises(Unavailable, match="not installed"):
        open_peer("duckdb", WORKLOADS["w6"])


def test_clingo_reads_texts_that_need_escapes() -> None:
    pytest.importorskip("clingo")
    from bench.peers.clingo import facts_text, new_control

    texts = ['a"b', "a\\b", "a\nb", "plain"]
    control = new_control()
    control.add("base", [], facts_text({"Value": [(text,) for text in texts]}))
    control.ground([("base", [])])
    found = {atom.symbol.arguments[0].string for atom in control.symbolic_atoms.by_signature("value", 1)}
    assert found == set(texts)


STAND_IN = """#!{python}
import sys
from functools import cache
from pathlib import Path
arguments = sys.argv[1:]
if "--version" in arguments:
    print("Version: 9.9")
elif "-o" in arguments:
    sys.exit("no C++ compiler")
else:
    program = Path(arguments[0]).read_text()
    folder = Path(arguments[arguments.index("-F") + 1])
    assert arguments[-1] == "-j1"
    assert ".decl Edge(c0:symbol, c1:symbol)\\n.input Edge" in program
    edges = (folder / "Edge.facts").read_text()
    if ".output Path" in program:
        assert ".decl Path(c0:symbol, c1:symbol)" in program
        (Path(arguments[arguments.index("-D") + 1]) / "Path.csv").write_text(edges)
"""


@pytest.mark.net
def test_souffle_is_told_the_facts_and_its_answers_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "souffle"
    program.write_text(STAND_IN.format(python=sys.executable), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    peer = open_peer("souffle", WORKLOADS["w3_chain"])
    assert peer.version() == "9.9"
    peer.load({"Edge": [("a", "b")]})
    peer.prepare()
    found = peer.evaluate(read=True)
    peer.close()
    assert found.rows == [("a", "b")]
    assert found.spent is not None
    assert found.loading > Spent(0, 0)
