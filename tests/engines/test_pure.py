"""An evaluation is a function of its rules and its facts: it asks nothing else (020, Fact views; 030)."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

from lace.datalog import compile_program, evaluate, parse_program
from lace.engines import Database
from lace.facts import Fact, FactSource, Predicate, SetSource
from lace.stores import MemoryStore
from tests.facts.source_contract import RECORD_SETS

RULES = """
Selected(P) :- Have(P), Field(P,'Group',_,G), TextShape(G,'u/','',''), not Blocked(P).
Blocked(P) :- Field(P,'Tag',_,T), LexCompare(T,'>','p'), Field(P,'TAI',_,_).
Reach(P,T) :- RecordLink(P,_,_,_,T).
Reach(P,T) :- Reach(P,Q), RecordLink(Q,_,_,_,T).
Big(P) :- Field(P,'Data-Length',_,L), IntCompare(L,'>','4'), Cardinality(Field(P,_,_,_),'>=','3').
"""


@pytest.mark.net
@pytest.mark.req("020-042", "020-043", "020-044", "030-006", "030-055")
def test_nothing_is_opened_asked_or_timed_while_rules_run() -> None:
    """The child makes every clock, every die and every way out of the process an error, then evaluates."""
    script = f"""
        import random, sys, time
        from lace.datalog import compile_program, evaluate, parse_program
        from lace.engines import Database

        program = parse_program({RULES!r})
        facts = [("Have", "p"), ("Field", "p", "Group", "0", "u/v"), ("Field", "p", "TAI", "0", "1:2"),
                 ("Field", "p", "Tag", "0", "a"), ("Field", "p", "Data-Length", "0", "5")]
        facts += [("RecordLink", "p" + "x" * n, "+Link", "0", "", "p" + "x" * (n + 1)) for n in range(900)]
        compiled = compile_program(program)
        warm = Database(facts).evaluate(compiled).result().all_facts()  # imports happen here

        asked = []
        def spy(event, arguments):
            if watching and event.partition(".")[0] in WAYS_OUT:
                asked.append(event)
        def forbidden(*arguments, **options):
            asked.append("clock or dice")
            return 0
        WAYS_OUT = {{"open", "socket", "subprocess", "os", "shutil", "urllib", "http", "sqlite3", "tempfile"}}
        watching = False
        sys.addaudithook(spy)
        for owner, names in ((time, "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns sleep"
                                    " localtime gmtime process_time"), (random, "random getrandbits")):
            for name in names.split():
                setattr(owner, name, forbidden)
        watching = True
        database = Database(facts)
        evaluation = database.evaluate(compiled)
        again = evaluation.result().all_facts()
        oracle = evaluate(parse_program({RULES!r}), facts[:40])
        evaluation.insert([("Have", "q")])
        evaluation.delete([("Field", "p", "Group", "0", "u/v")])
        watching = False
        assert not asked, asked
        assert again == warm and len(again) > 1000, len(again)
        assert ("Selected", "p") in oracle
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(script)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr


def _facts(source: FactSource) -> list[Fact]:
    shapes = (("Have", 1), ("Field", 4), ("Member", 1))
    return [(name, *values) for name, arity in shapes for values in source.iterate(name, arity)]


@pytest.mark.req("030-008", "030-111")
def test_the_same_rules_over_other_sources_give_other_results() -> None:
    """A store, a set of tuples, joined columns and what other rules derived: each is a source of facts."""
    rules = "Selected(P) :- Have(P), Field(P,'Group',_,'u/v').\nSelected(P) :- Member(P)."
    compiled = compile_program(parse_program(rules))
    records = RECORD_SETS["all types"]
    store = MemoryStore()
    store.put_many(records)
    derived = evaluate(parse_program("Member('told') :- true."), [])
    sources = {
        "store": store,
        "tuples": SetSource([("Have", "mine"), ("Field", "mine", "Group", "0", "u/v")]),
        "columns": SetSource([fact for piece in store.fact_columns() for fact in piece.facts()]),
        "derived": SetSource(derived),
    }
    answers = {
        name: Database(_facts(source)).evaluate(compiled).result().facts(Predicate("Selected", 1))
        for name, source in sources.items()
    }
    in_store = [(record.id,) for record in records if getattr(record, "group", None) == "u/v"]
    assert len(in_store) == 1
    assert answers == {
        "store": in_store, "columns": in_store, "tuples": [("mine",)], "derived": [("told",)],
    }  # fmt: skip
