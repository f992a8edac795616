"""lace.datalog.explain.show: explanations that people can read."""

from __future__ import annotations

from lace.datalog import show_proof, show_why_not
from lace.facts import Fact
from tests.datalog.explain.asking import explainer, why, why_not

NEWEST = """
Blocked(P) :- Author(P,A), Banned(A).
Newer(P,Q) :- Time(P,T), Time(Q,U), LexCompare(U,'>',T).
Show(P) :- Time(P,_), not Blocked(P), Cardinality(Newer(P,_),'<','2').
"""
FACTS: list[Fact] = [("Time", f"r{at}", f"t{at}") for at in range(5)]
FACTS += [("Author", "r4", "bob"), ("Banned", "bob")]


def test_a_proof_is_a_tree_of_indented_premises() -> None:
    facts = [("Root", "a"), ("Link", "a", "b")]
    assert show_proof(
        why("Member(P) :- Root(P).\nMember(Q) :- Member(P), Link(P,Q).", facts, ("Member", "b"))
    ) == (
        "Member('b')  by rule 1: Member(Q) :- Member(P), Link(P,Q).\n"
        "  where P='a', Q='b'\n"
        "  Member('a')  by rule 0: Member(P) :- Root(P).\n"
        "    where P='a'\n"
        "    Root('a')  given\n"
        "  Link('a','b')  given"
    )


def test_absences_counts_and_tests_say_what_was_found() -> None:
    assert show_proof(why(NEWEST, FACTS, ("Show", "r3"))) == (
        "Show('r3')  by rule 2: Show(P) :- Time(P,_), not Blocked(P), Cardinality(Newer(P,_),'<','2').\n"
        "  where P='r3'\n"
        "  Time('r3','t3')  given\n"
        "  not Blocked('r3')  none of 1 fact of Blocked/1\n"
        "  Cardinality(Newer('r3',_),'<','2')  1 found: Newer('r3','r4')"
    )
    assert show_proof(why(NEWEST, FACTS, ("Newer", "r3", "r4"))).endswith("LexCompare('t4','>','t3')  true")


def test_a_why_not_shows_what_holds_and_what_does_not() -> None:
    assert show_why_not(why_not(NEWEST, FACTS, ("Show", "r0"))) == (
        "Show('r0') does not hold.\n"
        "rule 2: Show(P) :- Time(P,_), not Blocked(P), Cardinality(Newer(P,_),'<','2').\n"
        "  where P='r0'\n"
        "  ✓ Time('r0','t0')\n"
        "  ✓ not Blocked('r0')  none of 1 fact of Blocked/1\n"
        "  ✗ Cardinality(Newer('r0',_),'<','2')  4 found: "
        "Newer('r0','r1'), Newer('r0','r2'), Newer('r0','r3'), …"
    )
    assert show_why_not(why_not(NEWEST, FACTS, ("Show", "r4"))).endswith(
        "  ✗ not Blocked('r4')  1 in the way: Blocked('r4')"
    )
    assert show_why_not(why_not(NEWEST, FACTS, ("Show", "r9"))).endswith(
        "  where P='r9'\n  ✗ Time('r9',_)  none of 5 facts of Time/2"
    )
    assert show_why_not(why_not(NEWEST, FACTS, ("Newer", "r4", "r3"))).endswith(
        "  ✗ LexCompare('t3','>','t4')  false"
    )


def test_a_why_not_says_when_no_rule_can_help() -> None:
    assert show_why_not(why_not(NEWEST, FACTS, ("Shown", "r0"))) == (
        "Shown('r0') does not hold.\nIt was not given, and no rule derives Shown/1."
    )
    assert show_why_not(why_not("A('k',X) :- V(X).", [], ("A", "x", "y"))) == (
        "A('x','y') does not hold.\nrule 0: A('k',X) :- V(X).\n  ✗ its head A('k',X) cannot be this fact"
    )
    assert show_why_not(why_not(NEWEST, FACTS, ("Show", "r3"))).startswith(
        "Show('r3') holds.\nShow('r3')  by rule"
    )


def test_a_why_not_that_was_cut_short_says_so() -> None:
    program = "A(X) :- V(X), E(Y,_), E(Z,_), LexCompare(Y,'>',Z), LexCompare(Z,'>','9')."
    each = explainer(program, [("V", "x"), *(("E", str(at), "") for at in range(50))])
    assert show_why_not(each.why_not(("A", "x"), candidates=10)).endswith("another one may get further")


def test_depth_breadth_and_width_are_cut_with_a_mark() -> None:
    reach = "Member(P) :- Root(P).\nMember(Q) :- Member(P), Link(P,Q)."
    chain: list[Fact] = [("Root", "0"), *(("Link", str(at), str(at + 1)) for at in range(2000))]
    proof = why(reach, chain, ("Member", "2000"))
    lines = show_proof(proof, depth=2).split("\n")
    assert lines[:2] + lines[-3:] == [
        "Member('2000')  by rule 1: Member(Q) :- Member(P), Link(P,Q).",
        "  where P='1999', Q='2000'",
        "    Member('1998')  by rule 1 …",
        "    Link('1998','1999')  given",
        "  Link('1999','2000')  given",
    ]
    assert len(show_proof(proof, depth=5000).split("\n")) == 2000 * 3 + 3
    wide = why(f"A(X) :- {', '.join(['V(X)'] * 30)}, W(X).", [("V", "x"), ("W", "x")], ("A", "x"))
    lines = show_proof(wide, breadth=4, width=40).split("\n")
    assert lines[0] == "A('x')  by rule 0: A(X) :- V(X), V(X), …"
    assert lines[-1] == "  … and 27 more"
    failed = why_not(f"A(X) :- {', '.join(['V(X)'] * 30)}, W(X).", [("V", "x")], ("A", "x"))
    assert "  … and 28 more that hold" in show_why_not(failed, breadth=2)


def test_a_fact_that_is_needed_again_is_only_named() -> None:
    text = "A(X) :- B(X), C(X).\nB(X) :- D(X).\nC(X) :- D(X).\nD(X) :- V(X)."
    shown = show_proof(why(text, [("V", "x")], ("A", "x")))
    assert shown.count("D('x')  by rule 3: ") == 1
    assert shown.count("D('x')  as above") == 1


def test_what_strangers_wrote_cannot_steer_the_terminal() -> None:
    shown = show_proof(why("A(X) :- V(X).", [("V", "\x1b[2J\n\u202e")], ("A", "\x1b[2J\n\u202e")))
    assert all(line.isprintable() for line in shown.split("\n"))
    assert "␛[2J␊" in shown
