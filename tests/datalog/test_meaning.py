"""lace.datalog.meaning: golden results, and each sentence of 030 about evaluation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.algebra import OPERATORS
from lace.datalog import evaluate, parse_program
from lace.facts import Fact
from tests.datalog.asking import derive, errors, holds
from tests.datalog.programs import random_case
from tests.golden import load_vectors

ABC: tuple[Fact, ...] = (("V", "a"), ("V", "b"), ("V", "c"))
EDGES: tuple[Fact, ...] = (("E", "a", "b"), ("E", "b", "c"), ("E", "b", "b"))


@pytest.mark.req("030-021", "030-022", "030-053")
@pytest.mark.parametrize("case", load_vectors("evaluate")["cases"], ids=lambda case: case["name"])
def test_golden_programs_derive_what_they_should(case: dict[str, Any]) -> None:
    program = parse_program(case["program"])
    facts = [tuple(fact) for fact in case["facts"]]
    assert sorted(evaluate(program, facts)) == [tuple(fact) for fact in case["derived"]]


@pytest.mark.req("030-004")
def test_the_result_holds_derived_facts_and_no_given_ones() -> None:
    assert derive("A(X) :- V(X), E(X,_).", *ABC, *EDGES) == [("A", "a"), ("A", "b")]


@pytest.mark.req("030-005")
def test_runtime_facts_are_facts_like_any_others() -> None:
    program = "A(V) :- Peer(V), TransportEncrypted(), not Here(V)."
    assert derive(program, ("Peer", "v"), ("TransportEncrypted",)) == [("A", "v")]
    assert derive(program, ("Peer", "v"), ("TransportEncrypted",), ("Here", "v")) == []
    assert derive(program, ("Peer", "v")) == []


@pytest.mark.req("030-007")
def test_no_name_has_a_meaning_of_its_own() -> None:
    assert derive("MaySend(P) :- SelectHave(P).", ("SelectHave", "p")) == [("MaySend", "p")]


@pytest.mark.req("030-010")
def test_a_claim_is_no_record_fact() -> None:
    claim = ("AdvertisedField", "p", "s", "Group", "0", "u")
    assert derive("A(P) :- Field(P,'Group',_,'u').", claim, ("Advertised", "p", "s")) == []
    assert derive("A(P) :- AdvertisedField(P,_,'Group',_,'u').", claim) == [("A", "p")]


@pytest.mark.req("030-017")
def test_each_anonymous_term_stands_alone() -> None:
    assert holds("E(_,_)", ("E", "a", "b"))
    assert not holds("E(X,X)", ("E", "a", "b"))
    assert holds("V('a'), not E(_,_)", *ABC)
    assert not holds("V('a'), not E(_,_)", *ABC, ("E", "a", "b"))


@pytest.mark.req("030-021")
def test_a_variable_means_one_value_throughout_its_rule() -> None:
    assert derive("A(X,Z) :- E(X,Y), E(Y,Z).", ("E", "a", "b"), ("E", "b", "c"), ("E", "x", "y")) == [
        ("A", "a", "c")
    ]
    assert derive("A(X) :- E(X,X).", *EDGES) == [("A", "b")]
    assert derive("A(X) :- E('b',X).", *EDGES) == [("A", "b"), ("A", "c")]


@pytest.mark.req("030-022")
def test_a_negated_atom_sees_its_predicate_complete() -> None:
    program = "Reach('a') :- true.\nReach(Y) :- Reach(X), E(X,Y).\nCut(X) :- V(X), not Reach(X)."
    assert derive(program, *ABC, ("E", "a", "c")) == [("Cut", "b"), ("Reach", "a"), ("Reach", "c")]


@pytest.mark.req("030-023")
def test_inequality_compares_texts() -> None:
    assert derive("A(X) :- V(X), X != 'a'.", ("V", "a"), ("V", "A"), ("V", "")) == [("A", ""), ("A", "A")]
    assert holds("'01' != '1'")


@pytest.mark.req("030-024", "030-025", "030-062")
def test_numbers_compare_by_value_and_texts_by_bytes() -> None:
    assert holds("IntCompare('9','<','10')")
    assert not holds("LexCompare('9','<','10')")
    assert holds("LexCompare('1640995200:000000000','<','1640995200:000000001')")
    assert holds("LexCompare('Z','<','_'), LexCompare('_','<','a'), LexCompare('z','<','~')")


@pytest.mark.parametrize("text", ["x", "", "01", "-0", "+1", "1.0", "１"])
def test_text_that_is_no_number_makes_a_comparison_false_and_no_error(text: str) -> None:
    for op in ("<", "<=", ">", ">="):
        assert (
            derive(
                f"A(X) :- V(X), IntCompare(X,'{op}','1').\nB(X) :- V(X), IntCompare(X,'{op}',X).", ("V", text)
            )
            == []
        )


@pytest.mark.req("030-028")
def test_true_holds() -> None:
    assert derive("A('x') :- true.\nB() :- true, V('a'), true.", *ABC) == [("A", "x"), ("B",)]


@pytest.mark.req("030-029", "030-030")
def test_a_body_needs_all_its_atoms_and_a_head_any_of_its_rules() -> None:
    assert derive("A(X) :- V(X), W(X).", ("V", "a"), ("V", "b"), ("W", "b"), ("W", "c")) == [("A", "b")]
    assert derive("A(X) :- V(X), X != 'a', not W(X).", ("V", "a"), ("V", "b"), ("V", "c"), ("W", "c")) == [
        ("A", "b")
    ]
    assert derive("A(X) :- V(X).\nA(X) :- W(X).", ("V", "a"), ("W", "c")) == [("A", "a"), ("A", "c")]


@pytest.mark.req("030-031")
def test_a_predicate_without_facts_and_rules_is_empty() -> None:
    assert derive("A(X) :- Nobody(X).\nB(X) :- V(X), not Nobody(X).", ("V", "a")) == [("B", "a")]


@pytest.mark.req("030-065", "030-070")
def test_start_and_end_of_a_shape_may_be_variables() -> None:
    facts = [("K", "links/a.md"), ("K", "x.json"), ("S", "links/"), ("S", "x"), ("D", ".md"), ("D", ".json")]
    assert derive("A(K,S,D) :- K(K), S(S), D(D), TextShape(K,S,'',D).", *facts) == [
        ("A", "links/a.md", "links/", ".md"),
        ("A", "x.json", "x", ".json"),
    ]
    assert derive("A(K) :- K(K), TextShape(K,'links/','','').", *facts) == [("A", "links/a.md")]
    assert derive("A(K) :- K(K), TextShape(K,'','','.json').", *facts) == [("A", "x.json")]
    assert derive("A(K) :- K(K), TextShape(K,'links/','','.md').", *facts) == [("A", "links/a.md")]


@pytest.mark.req("030-119", "030-120")
def test_the_worked_example_of_a_shape() -> None:
    names = ["links/bob/msg", "links/bob.msg", "links/msg", "links/bob/alice/msg", "links/.msg"]
    facts = [(name, ("Have", name), ("Field", name, "Name", "0", name)) for name in names]
    rule = "Selected(P) :- Have(P), Field(P,'Name',_,K), TextShape(K,'links/','./','msg')."
    found = derive(rule, *(fact for _, have, field in facts for fact in (have, field)))
    assert found == [("Selected", "links/bob.msg"), ("Selected", "links/bob/msg")]


@pytest.mark.req("030-076")
def test_a_count_counts_distinct_facts_not_derivations() -> None:
    union = "D(X) :- E(X,_).\nD(X) :- E(_,X).\n"
    assert ("Yes",) in derive(union + "Yes() :- Cardinality(D(_),'<=','3').", *EDGES)
    assert ("No",) not in derive(union + "No() :- Cardinality(D(_),'>','3').", *EDGES)


@pytest.mark.req("030-077")
def test_bound_variables_of_a_count_are_given_and_others_are_free() -> None:
    assert derive("A(X) :- V(X), Cardinality(E(X,L),'>=','2').", *ABC, *EDGES) == [("A", "b")]
    assert derive("A(X) :- V(X), Cardinality(E(L,X),'<','1').", *ABC, *EDGES) == [("A", "a")]
    assert holds("Cardinality(E(L,L),'>=','1')", *EDGES)
    assert not holds("Cardinality(E(L,L),'>','1')", *EDGES)
    assert holds("Cardinality(E(L,M),'>=','3')", *EDGES)


@pytest.mark.req("030-077")
def test_a_variable_bound_after_the_count_is_given_too() -> None:
    assert derive("A(X) :- Cardinality(E(X,_),'>=','2'), V(X).", *ABC, *EDGES) == [("A", "b")]


@pytest.mark.req("030-078")
@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("number", ["-1", "0", "2", "3", "4", "10", "9" * 40, "-" + "9" * 40])
def test_a_count_is_compared_as_a_number(op: str, number: str) -> None:
    expected = OPERATORS[op](len(ABC), int(number))
    assert holds(f"Cardinality(V(_),'{op}','{number}')", *ABC) == expected


@pytest.mark.req("030-079")
def test_a_count_says_yes_or_no_and_binds_nothing() -> None:
    assert derive("A(X) :- V(X), Cardinality(E(_,_),'>','0').", *ABC, *EDGES) == [
        ("A", "a"),
        ("A", "b"),
        ("A", "c"),
    ]
    assert errors("A(X) :- Cardinality(E(X,_),'>','0').") == ["L-301", "L-306"]
    assert errors("A(N) :- V(N), Cardinality(E(_,_),'>=',N).") == ["L-214"]


@pytest.mark.req("030-117")
def test_link_targets_by_their_data() -> None:
    facts: list[Fact] = [
        ("Have", "p"),
        ("RecordLink", "p", "+Link", "0", "evidence", "t"),
        ("RecordLink", "p", "+Link", "1", "see", "u"),
        ("RecordLink", "q", "+Link", "0", "evidence", "v"),
    ]
    assert derive("Support(Target) :- Have(P), RecordLink(P,'+Link',_,'evidence',Target).", *facts) == [
        ("Support", "t")
    ]


@pytest.mark.req("030-118")
def test_the_newest_hundred_ties_broken_by_the_greater_id() -> None:
    program = (
        "Before(P,Q) :- Candidate(P,T), Candidate(Q,T), LexCompare(Q,'>',P).\n"
        "Before(P,Q) :- Candidate(P,TP), Candidate(Q,TQ), LexCompare(TQ,'>',TP).\n"
        "Selected(P) :- Candidate(P,T), Cardinality(Before(P,Q),'<','100')."
    )
    candidates = [(f"t{n // 4:03}", f"p{n:03}") for n in range(103)]
    found = derive(program, *(("Candidate", record, time) for time, record in candidates))
    newest = sorted(candidates, reverse=True)[:100]
    assert [fact for fact in found if fact[0] == "Selected"] == sorted(
        ("Selected", record) for _, record in newest
    )


@pytest.mark.req("030-121")
def test_records_of_blocked_signers_are_not_selected() -> None:
    program = (
        "Blocked(V) :- Have(P), Field(P,'Group',_,'keys'), Field(P,'App',_,'blocked'), Field(P,'Name',_,V).\n"
        "Selected(P) :- Have(P), Field(P,'Signed-By',_,V), not Blocked(V)."
    )
    facts: list[Fact] = [("Have", p) for p in ("k", "a", "b")]
    facts += [
        ("Field", "k", "Group", "0", "keys"),
        ("Field", "k", "App", "0", "blocked"),
        ("Field", "k", "Name", "0", "v1"),
    ]
    facts += [("Field", "a", "Signed-By", "0", "v1"), ("Field", "b", "Signed-By", "0", "v2")]
    assert derive(program, *facts) == [("Blocked", "v1"), ("Selected", "b")]


def test_a_given_fact_is_in_the_result_only_where_a_rule_derives_it() -> None:
    assert derive("A(X) :- B(X).\nC(X) :- A(X).", ("A", "x"), ("A", "y"), ("B", "y")) == [
        ("A", "y"), ("C", "x"), ("C", "y"),
    ]  # fmt: skip


def test_a_rule_of_ten_thousand_atoms_is_no_deeper_than_one_of_two() -> None:
    body = ", ".join(f"B{n}(X)" for n in range(10_000))
    facts = [(f"B{n}", "x") for n in range(10_000)]
    assert derive(f"A(X) :- {body}.", *facts) == [("A", "x")]


@pytest.mark.req("030-057")
@given(st.integers(0, 99))
def test_evaluation_ends_within_the_texts_it_was_given(seed: int) -> None:
    case = random_case(seed)
    program = parse_program(case.program)
    texts = {value for fact in case.facts for value in fact[1:]}
    texts |= {term.value for rule in program.rules for term in rule.head.terms if hasattr(term, "value")}
    for name, *values in evaluate(program, case.facts):
        assert (name, len(values)) in program.heads
        assert set(values) <= texts


@given(st.integers(0, 99), st.randoms(use_true_random=False))
def test_the_order_of_rules_atoms_and_facts_does_not_matter(seed: int, dice: Any) -> None:
    case = random_case(seed)
    program = parse_program(case.program)
    lines = []
    for rule in program.rules:
        body = dice.sample(rule.body, len(rule.body))
        lines.append(f"{rule.head} :- {', '.join(map(str, body))}.")
    facts = dice.sample(case.facts, len(case.facts))
    assert evaluate(parse_program("\n".join(lines)), facts) == evaluate(program, case.facts)
