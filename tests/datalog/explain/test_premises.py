"""lace.datalog.explain.premises: what was asked and what was found."""

from __future__ import annotations

from lace.algebra import Budget
from lace.datalog import Absent, Checked, Counted, compile_program, parse_program
from lace.datalog.explain.order import Ask, make_move
from lace.datalog.explain.premises import EXAMPLES, count_facts, make_premise
from lace.datalog.explain.search import Search
from lace.engines import Database
from lace.facts import Fact

FACTS: list[Fact] = [("V", "x"), *(("E", "x", str(at % 7), str(at // 7)) for at in range(21))]


def search() -> Search:
    compiled = compile_program(parse_program("A(X) :- V(X)."))
    return Search(compiled, Database(FACTS).evaluate(compiled).result())


def asked(atom: str) -> Ask:
    [rule] = parse_program(f"A(X) :- V(X), {atom}.").rules
    move = make_move(1, rule.body[1], {"X"})
    assert isinstance(move, Ask)
    return move


def test_each_kind_of_atom_becomes_its_premise() -> None:
    premise = make_premise(search(), asked("not E(_,X,_)"), {"X": "x"}, Budget())
    assert isinstance(premise, Absent)
    assert (str(premise), premise.size) == ("not E(_,'x',_)", 21)
    premise = make_premise(search(), asked("Cardinality(E(X,L,L),'>','1')"), {"X": "x"}, Budget())
    assert isinstance(premise, Counted)
    assert (premise.found, premise.examples) == (3, tuple(("E", "x", n, n) for n in "012"))
    premise = make_premise(search(), asked("TextShape(X,'x','','')"), {"X": "x"}, Budget())
    assert isinstance(premise, Checked)
    assert str(premise) == "TextShape('x','x','','')"


def test_every_agreeing_fact_is_counted_and_the_first_in_text_order_are_shown() -> None:
    ask = asked("Cardinality(E(X,_,_),'>','1')")
    assert ask.fetch is not None
    budget = Budget()
    found, examples = count_facts(search(), ask.fetch, {"X": "x"}, budget)
    assert found == 21
    assert examples == tuple(sorted(FACTS[1:])[:EXAMPLES])
    assert budget.steps == 21
