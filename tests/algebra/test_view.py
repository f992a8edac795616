"""The view stands on every scan of the relations it is for, wherever a program keeps one."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from lace.algebra import RelationProgram, Scan, delta, deltas, restrict, show_program, whole
from lace.datalog import compile_program, parse_program
from lace.facts import Predicate

VIEW = Predicate("Seen", 1)
HAVE, FIELD = Predicate("Have", 1), Predicate("Field", 4)
TEXT = (
    "C(P,T) :- Have(P), Field(P,'TAI',_,T), not Field(P,'Hidden',_,_).\n"
    "Before(P,Q) :- C(P,T), C(Q,T), LexCompare(Q,'>',P).\n"
    "Newest(P) :- C(P,_), Have(Q), Cardinality(Before(P,_),'<','9'), Cardinality(Have(_),'>','1').\n"
    "First(P,Q) :- Have(P), Have(Q), LexCompare(Q,'<',P).\n"
    "Early(P) :- Have(P), Cardinality(First(P,_),'<','3').\n"
    "Path(P,Q) :- Field(P,'To',_,Q).\n"
    "Path(P,R) :- Path(P,Q), Field(Q,'To',_,R).\n"
    "Loose(P) :- Other(P), not Path(P,P)."
)


def compiled() -> RelationProgram:
    program = parse_program(TEXT)
    return compile_program(program, [p for p in program.heads if p.name not in ("Before", "First")])


def all_scans(node: Any) -> list[Scan]:
    """Find every scan in a tree of nodes, whatever field it hangs on."""
    if isinstance(node, Scan):
        return [node]
    if isinstance(node, tuple) and not isinstance(node, Predicate):
        return [scan for each in node for scan in all_scans(each)]
    if not is_dataclass(node):
        return []
    names = [field.name for field in fields(node)]
    if isinstance(node, RelationProgram):
        names.remove("source")  # what the front end compiled
    return [scan for name in names for scan in all_scans(getattr(node, name))]


def test_no_scan_of_the_given_relations_is_missed_and_no_other_touched() -> None:
    program = compiled()
    assert program.ranked()
    assert program.unranked is not None
    before, after = all_scans(program), all_scans(restrict(program, VIEW, [HAVE, FIELD]))
    assert [(scan.predicate, scan.places) for scan in before] == [(s.predicate, s.places) for s in after]
    assert len(before) > 30
    for scan in after:
        assert scan.view == (VIEW if scan.predicate in (HAVE, FIELD) else None)


def test_what_runs_on_additions_sees_the_view_too() -> None:
    program = restrict(compiled(), VIEW, [HAVE, FIELD])
    for component in program.components:
        for rule in component.rules:
            for at, _ in enumerate(deltas(rule)):
                for scan in all_scans(delta(rule, at)):
                    assert (scan.view == VIEW) == (scan.predicate in (HAVE, FIELD))


def test_a_view_prints_and_its_facts_are_asked_for() -> None:
    program = restrict(compiled(), VIEW, [FIELD])
    assert "join Field|Seen(P,'TAI',_,T)" in show_program(program)
    assert "as the transitive closure of Field|Seen(P,'To',_,Q)" in show_program(program)
    assert "ΔField|Seen(" in show_program(program, deltas=True)
    assert program.reads() == {HAVE, FIELD, Predicate("Other", 1), VIEW}


def test_what_the_view_is_made_from_is_read_whole_and_comes_first() -> None:
    text = "A(P) :- Have(P).\nHelp(P) :- Have(P), Open(P).\nSeen(P) :- Help(P).\nB(P) :- A(P), Seen(P)."
    program = restrict(compile_program(parse_program(text)), VIEW, [HAVE])
    assert [component.predicates[0].name for component in program.components] == ["Help", "Seen", "A", "B"]
    assert {str(scan) for scan in all_scans(program) if scan.predicate == HAVE} == {"Have(P)", "Have|Seen(P)"}
    help_rule = program.components[0].rules[0]
    assert "Have(P)" in str(whole(help_rule))


def test_a_view_that_cannot_be_is_refused() -> None:
    program = compiled()
    with pytest.raises(ValueError, match="one place"):
        restrict(program, Predicate("Seen", 2), [HAVE])
    with pytest.raises(ValueError, match="first value"):
        restrict(program, VIEW, [Predicate("On", 0)])
    with pytest.raises(ValueError, match="first value"):
        restrict(program, VIEW, [Predicate("Path", 2)])
    with pytest.raises(ValueError, match="another view"):
        restrict(restrict(program, VIEW, [HAVE]), Predicate("Other", 1), [HAVE])
