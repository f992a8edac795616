"""lace.datalog.explain.whynot: how far each rule gets, what stops it, and that mending it helps."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from lace.datalog import (
    Anonymous,
    Checked,
    Counted,
    Explainer,
    NotEvaluated,
    OtherHead,
    Present,
    Program,
    Stopped,
    Unmatched,
    Var,
    compile_program,
    evaluate,
    make_program,
    parse_program,
)
from lace.datalog.explain.proof import substitute
from lace.datalog.explain.whynot import reading_order
from lace.datalog.meaning import agree, holds, solutions
from lace.datalog.rules import Atom, Const, Rule
from lace.engines import Database
from lace.facts import Fact, Predicate
from tests.datalog.explain.asking import by_oracle, explainer, why_not
from tests.datalog.programs import random_case, relations


def stopped(program: str, facts: list[Fact], fact: Fact) -> Stopped:
    """Ask about a fact that one rule could derive."""
    [answer] = why_not(program, facts, fact).rules
    assert isinstance(answer, Stopped)
    return answer


def is_true(program: Program, answer: Stopped, facts: set[Fact], fact: Fact) -> None:
    """Check an answer against the oracle: the prefix holds, the next atom fails, and none gets further."""
    known = relations(facts | evaluate(program, facts))
    rule, binding = program.rules[answer.rule.number], dict(answer.binding)
    head = agree(rule.head.terms, fact[1:], {})
    assert head is not None
    order = reading_order(rule, set(head))
    length = len(answer.satisfied)
    assert order[length] == answer.at
    for at, premise in zip(order, answer.satisfied, strict=False):
        part = rule.body[at]
        if isinstance(part, Atom):
            assert isinstance(premise, tuple)
            assert premise[1:] in known[part.predicate]
            assert agree(part.terms, premise[1:], binding) == binding
        else:
            assert holds(part, binding, known)
    prefix = tuple(substitute(rule.body[at], head) for at in order[: length + 1])
    assert solutions(prefix, known) == []
    failed = rule.body[answer.at]
    if not isinstance(failed, Atom):
        assert not holds(failed, binding, known)


def helps(program: Program, answer: Stopped, after: set[Fact], fact: Fact) -> bool:
    """Tell whether the rule derives the fact after a change, or gets further."""
    held = after | evaluate(program, after)
    rule, known = program.rules[answer.rule.number], relations(held)
    head = agree(rule.head.terms, fact[1:], {})
    assert head is not None
    for at, premise in zip(reading_order(rule, set(head)), answer.satisfied, strict=False):
        # The failure has moved back: the change itself took away or turned something before it.
        if isinstance(premise, tuple):
            if premise not in held:
                return True
        elif not holds(rule.body[at], dict(answer.binding), known):
            return True
    now = explainer(program, after).why_not(fact)
    if now.proof is not None:
        return True
    [again] = [each for each in now.rules if each.rule == answer.rule]
    assert isinstance(again, Stopped)
    return len(again.satisfied) > len(answer.satisfied)


def mended(answer: Stopped, facts: set[Fact], heads: frozenset[Predicate]) -> set[Fact] | None:
    """Do what an answer says is missing, where facts can do it."""
    failed = answer.failed
    if isinstance(failed, Unmatched):
        terms = failed.pattern.terms
        free = {str(term): "fresh" for term in terms if isinstance(term, Var | Anonymous)}
        values = [term.value if isinstance(term, Const) else free[str(term)] for term in terms]
        fact = (failed.pattern.name, *values)
        assert failed.fact == (None if free else fact)
        return facts | {fact}
    if isinstance(failed, Present) and failed.pattern.predicate not in heads:
        assert failed.found == len(failed.examples) or failed.found > 3
        return facts - set(failed.examples) if failed.found == len(failed.examples) else None
    return None


def check_seed(seed: int) -> int:
    case = random_case(seed)
    program, facts = parse_program(case.program), set(case.facts)
    each, oracle = explainer(program, facts), by_oracle(program, facts)
    known = facts | evaluate(program, facts)
    dice = Random(f"why not {seed}")
    texts = sorted({text for fact in facts for text in fact[1:]})
    tried = 0
    for head in sorted(program.heads):
        for _ in range(3):
            fact = (head.name, *dice.choices(texts, k=head.arity))
            if fact in known:
                continue
            answer = each.why_not(fact)
            assert len(answer.rules) == len(program.rules_for([head]))
            lengths = []
            for one in answer.rules:
                if not isinstance(one, Stopped):
                    continue
                is_true(program, one, facts, fact)
                lengths.append((one.rule, len(one.satisfied), one.at))
                after = mended(one, facts, program.heads)
                if after is not None:
                    assert helps(program, one, after, fact), (seed, fact, one)
                    tried += 1
            same = [each for each in oracle.why_not(fact).rules if isinstance(each, Stopped)]
            assert lengths == [(each.rule, len(each.satisfied), each.at) for each in same]
    return tried


@pytest.mark.parametrize("batch", range(3))
def test_supplying_what_a_why_not_names_derives_the_fact_or_moves_the_failure_on(batch: int) -> None:
    tried = sum(check_seed(seed) for seed in range(20 * batch, 20 * (batch + 1)))
    assert tried > 50


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(50))
def test_supplying_what_a_why_not_names_helps_in_many_programs(batch: int) -> None:
    for seed in range(200_000 + 200 * batch, 200_000 + 200 * (batch + 1)):
        check_seed(seed)


def test_the_longest_prefix_is_found_wherever_its_values_are() -> None:
    facts = [("B", "1"), ("B", "2"), ("C", "2", "q"), ("C", "1", "r")]
    answer = stopped("A(X) :- V(X), B(Y), C(Y,Z), D(Z), E(Z).", [("V", "x"), ("D", "q"), *facts], ("A", "x"))
    assert answer.binding == {"X": "x", "Y": "2", "Z": "q"}
    assert answer.satisfied == (("V", "x"), ("B", "2"), ("C", "2", "q"), ("D", "q"))
    assert isinstance(answer.failed, Unmatched)
    assert (str(answer.failed), answer.failed.fact, answer.failed.size) == ("E('q')", ("E", "q"), 0)
    assert (answer.at, answer.cut) == (4, False)


def test_an_atom_that_fails_for_any_value_names_no_fact() -> None:
    answer = stopped("A(X) :- V(X), B(X,Y,_), C(Y).", [("V", "x"), ("B", "y", "1", "2")], ("A", "x"))
    assert isinstance(answer.failed, Unmatched)
    assert (str(answer.failed), answer.failed.fact, answer.failed.size) == ("B('x',Y,_)", None, 1)
    assert answer.binding == {"X": "x"}


def test_a_test_counts_as_soon_as_its_variables_have_values() -> None:
    program = "A(X) :- not C(Y), X != Y, B(X,Y), D(Y)."
    assert stopped(program, [("B", "x", "x"), ("D", "x")], ("A", "x")).failed == Checked(
        parse_program("Q() :- 'x' != 'x'.").rules[0].body[0]  # type: ignore[arg-type]
    )
    answer = stopped(program, [("B", "x", "x"), ("B", "x", "y"), ("C", "y")], ("A", "x"))
    assert isinstance(answer.failed, Checked)
    assert [str(each) if not isinstance(each, tuple) else each for each in answer.satisfied] == [
        ("B", "x", "x"),
        "not C('x')",
    ]


def test_a_negated_atom_names_what_is_in_the_way() -> None:
    facts = [("V", "x"), *(("B", "x", str(at)) for at in range(5)), ("B", "y", "0")]
    answer = stopped("A(X) :- V(X), not B(X,_).", facts, ("A", "x"))
    assert isinstance(answer.failed, Present)
    assert str(answer.failed) == "not B('x',_)"
    assert (answer.failed.found, answer.failed.examples[0]) == (5, ("B", "x", "0"))
    assert len(answer.failed.examples) == 3


def test_a_counted_atom_says_how_many_there_are() -> None:
    facts = [("V", "x"), ("B", "x", "1"), ("B", "x", "2"), ("B", "y", "1")]
    answer = stopped("A(X) :- V(X), Cardinality(B(X,_),'>','2').", facts, ("A", "x"))
    assert isinstance(answer.failed, Counted)
    assert (answer.failed.found, answer.failed.examples) == (2, (("B", "x", "1"), ("B", "x", "2")))


def test_a_head_that_cannot_be_the_fact_is_said_so() -> None:
    program = "A(X,X) :- V(X).\nA('k',X) :- V(X)."
    answer = why_not(program, [("V", "x")], ("A", "x", "y"))
    assert [type(each) for each in answer.rules] == [OtherHead, OtherHead]
    assert [str(each.head) for each in answer.rules if isinstance(each, OtherHead)] == ["A('k',X)", "A(X,X)"]


def test_a_fact_that_holds_comes_with_its_proof() -> None:
    answer = why_not("A(X) :- V(X).", [("V", "x")], ("A", "x"))
    assert answer.proof is not None
    assert (list(answer.proof.steps), answer.rules) == ([("A", "x"), ("V", "x")], ())


def test_a_predicate_without_rules_has_no_answers() -> None:
    assert why_not("A(X) :- V(X).", [("V", "x")], ("V", "y")).rules == ()
    assert why_not("A(X) :- V(X).", [("V", "x")], ("A", "y", "z")).rules == ()


def test_a_predicate_that_nobody_wanted_cannot_be_asked_about() -> None:
    each = explainer("A(X) :- V(X).\nB(X) :- V(X).", [("V", "x")], Predicate("B", 1))
    with pytest.raises(NotEvaluated, match="A/1 among the wanted"):
        each.why_not(("A", "x"))
    with pytest.raises(NotEvaluated):
        each.why(("A", "x"))
    assert each.why(("B", "x")) is not None


def test_the_search_ends_at_its_bound_and_what_it_says_still_holds() -> None:
    # Every pair has to be tried: X and Y are far apart, and only the last atom tells that none fits.
    facts: list[Fact] = [("E", str(at), str(at + 100)) for at in range(300)]
    program = "A(X) :- V(X), E(Y,Z), E(Q,W), F(Z,W)."
    each = explainer(program, [("V", "x"), *facts, ("F", "0", "0")])
    answer = each.why_not(("A", "x"), candidates=100).rules[0]
    assert isinstance(answer, Stopped)
    assert answer.cut is False  # F is looked up first: its one fact fits no edge
    program = "A(X) :- V(X), E(Y,Z), E(Q,W), LexCompare(Z,'<','0'), LexCompare(W,'<','0')."
    each = explainer(program, [("V", "x"), *facts])
    answer = each.why_not(("A", "x"), candidates=100).rules[0]
    assert isinstance(answer, Stopped)
    assert answer.cut
    assert isinstance(answer.failed, Checked)
    whole = each.why_not(("A", "x")).rules[0]
    assert isinstance(whole, Stopped)
    assert not whole.cut


def test_a_failure_goes_back_to_what_it_depends_on() -> None:
    # Eight unrelated atoms have 5^8 combinations; only the last pair decides.
    names = [f"V(X{at})" for at in range(8)]
    program = f"A(X) :- V(X), {', '.join(names)}, E(Y,Z), F(Z)."
    facts: list[Fact] = [("V", str(at)) for at in range(5)]
    facts += [("E", str(at), str(at)) for at in range(50)] + [("F", f"x{at}") for at in range(50)]
    answer = stopped(program, facts, ("A", "1"))
    assert (answer.at, answer.cut) == (10, False)
    assert isinstance(answer.failed, Unmatched)


def test_a_body_of_thousands_of_atoms_is_read_to_its_end() -> None:
    terms = [Var(f"X{at}") for at in range(2_001)]
    body = tuple(Atom("E", pair) for pair in pairwise(terms))
    program = make_program([Rule(Atom("A", (terms[0],)), body)])
    facts: list[Fact] = [("E", str(at), str(at + 1)) for at in range(1_999)]
    result = Database(facts).evaluate(compile_program(program, ())).result()
    [answer] = Explainer(compile_program(program), result).why_not(("A", "0")).rules
    assert isinstance(answer, Stopped)
    assert len(answer.satisfied) == 1_999
    assert str(answer.failed) == "E('1999',X2000)"
