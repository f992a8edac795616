"""lace.datalog.rule_reader: what is a rule, and what is said about a line that is none."""

from __future__ import annotations

import pytest

from lace.datalog import check_program, parse_program
from tests.datalog.asking import errors


@pytest.mark.parametrize(
    "text",
    [
        "A() :- true.",
        "KnownVerifier('V.example.H3') :- true.",
        "A(X) :- B(X), not C(X).",
        "A(X) :- B(X), X != 'y'.",
        "A(X) :- B(X), IntCompare(X,'<=','10'), LexCompare('m','>',X).",
        "A(X) :- B(X), TextShape(X,'links/','./','msg').",
        "A(X) :- B(X), Cardinality(C(X,Y),'<','100').",
    ],
)
@pytest.mark.req("030-012", "030-013", "030-026", "030-027", "030-083")
def test_every_form_of_030_is_a_rule(text: str) -> None:
    assert str(parse_program(text)) == text
    assert not errors(text), "nor has the reader that says what is wrong anything to say"


@pytest.mark.req("030-014", "030-015")
@pytest.mark.parametrize(
    "name", ["A", "a", "Abc9", "a_", "b~c-d_e", "A-", "Z~", "_x", "_Diag", "_a-~_9", "nota", "trueX"]
)
def test_predicate_names(name: str) -> None:
    text = f"{name}(X) :- {name}(X), {name}2(X), not {name}3(X)."
    assert str(parse_program(text)) == text
    assert not errors(text)


@pytest.mark.req("030-014", "030-015")
@pytest.mark.parametrize("name", ["9a", "~a", "_", "__x", "_9", "_~"])
def test_names_that_are_no_predicate_names(name: str) -> None:
    assert errors(f"{name}(X) :- B(X).") == ["L-216"]
    assert errors(f"A(X) :- B(X), {name}(X).") == ["L-216"]


@pytest.mark.parametrize("name", ["-a", "é", "a.b", "a:b", "名"])
def test_names_with_foreign_characters(name: str) -> None:
    assert errors(f"{name}(X) :- B(X).") != []


@pytest.mark.req("030-016")
@pytest.mark.parametrize("name", ["X", "Xa9_", "X_", "ABC"])
def test_variable_names(name: str) -> None:
    assert errors(f"A({name}) :- B({name}).") == []


@pytest.mark.req("030-016")
@pytest.mark.parametrize("term", ["x", "xY", "X-Y", "X~", "1", "42", "0x"])
def test_terms_that_are_neither_variable_nor_constant(term: str) -> None:
    assert errors(f"A('a') :- B({term}).") == ["L-205"]


@pytest.mark.req("030-018", "030-125")
@pytest.mark.parametrize("term", ["_Name", "_x", "__", "_9"])
def test_names_that_begin_with_an_underscore_are_no_terms(term: str) -> None:
    assert errors(f"Selected(P) :- Have(P), Field(P,'Group',{term},'u').") == ["L-206"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("A(X) :- B(X)", "L-202"),
        ("A(X) :- B(X), not C(X)", "L-202"),
        ("A(X).", "L-204"),
        ("A(X)", "L-204"),
        ("A('x').", "L-204"),
        ("A(X) :- .", "L-201"),
        ("A(X) :- ", "L-201"),
        ("A(X) :- B(X),.", "L-201"),
        ("A(X) :- ,B(X).", "L-201"),
        ("A(X,) :- B(X).", "L-201"),
        ("A(X) :- B(X,).", "L-201"),
        ("A(X) :- B(X Y).", "L-201"),
        ("A(X) B(X).", "L-201"),
        (":- B(X).", "L-201"),
        ("A(X) :- B(X)) .", "L-201"),
        ("A(X) :- B(X).. ", "L-203"),
        ("A(X) :- B(X). C(X) :- B(X).", "L-203"),
        ("A(X) :- B(X). # why", "L-203"),
        ("A :- true.", "L-207"),
        ("A(X) :- B(X), C.", "L-207"),
        ("A(X) :- B(X), not C.", "L-207"),
        ("A(X) :- B(X), C", "L-207"),
        ("A(X) : - B(X).", "L-104"),
        ("A(X) :- B(X); C(X).", "L-104"),
        ("A(X) <- B(X).", "L-104"),
        ("A(X) :- B(X) & C(X).", "L-104"),
        ("\ufeffA(X) :- B(X).", "L-109"),
        ("A(X)\u00a0:- B(X).", "L-104"),
        ("A('x) :- true.", "L-105"),
        ("A('x\\') :- true.", "L-105"),
        ("A('a\\n') :- true.", "L-106"),
        ("A('\\x') :- true.", "L-106"),
        ('A("x") :- true.', "L-107"),
        ('A("x) :- true.', "L-107"),
        ("# comment", "L-108"),
        ("#:json {}", "L-108"),
        ("A(f(X)) :- B(X).", "L-205"),
        ("A(X) :- B(F(X)).", "L-217"),
        ("A(X) :- B(X), X < '3'.", "L-218"),
        ("A(X) :- B(X), X >= '3'.", "L-218"),
        ("A(X) :- B(X), X.", "L-207"),
        ("A(X) :- B(X), 'x'.", "L-201"),
        ("A(X) :- B(X), _ .", "L-216"),
        ("A(X) :- B(X), X != .", "L-201"),
        ("A(X) :- B(X), not X != 'a'.", "L-201"),
        ("A(X) :- B(X), not 'a' != X.", "L-201"),
        ("A(X) :- B(X), not (C(X)).", "L-201"),
        ("A(X) :- B(X), Cardinality(C(X) '<','1').", "L-201"),
    ],
)
@pytest.mark.req("030-011", "030-012", "030-013", "030-084")
def test_what_is_said_about_a_line_that_is_no_rule(text: str, code: str) -> None:
    assert errors(text)[0] == code


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A(X) :- B(X).\u00a0", "U+00A0 after the period"),
        ("A(X) :- B(X).\u200b\u00a0", "U+200B U+00A0 after the period"),
        ("A(X) :- B(X). # why", "# after the period"),
        ("A(X) :- B(X), Cardinality(\u00a0C(X),'<','1').", "Cardinality counts an atom, found U+00A0"),
        ("A(X) :- B(X), Cardinality(☕,'<','1').", "Cardinality counts an atom, found ☕"),
    ],
)
def test_what_cannot_be_seen_is_told_by_its_number_wherever_it_stands(text: str, said: str) -> None:
    assert [each.message for each in check_program(text) if each.severity == "error"] == [said]


@pytest.mark.req("030-081", "030-082", "030-130")
@pytest.mark.parametrize("atom", ["X = Y", "X=Y", "X='y'", "'a' = 'b'", "X == Y", "_ = X"])
def test_equality_is_no_atom(atom: str) -> None:
    assert errors(f"A(X) :- B(X,Y), {atom}.") == ["L-208"]
    assert errors(f"A(X) :- {atom}, B(X,Y).") == ["L-208"]


@pytest.mark.req("030-129")
@pytest.mark.parametrize(
    "atom", ["Prefix(K,'links/')", "not Prefix(K,'links/')", "Prefix()", "Cardinality(Prefix(K),'<','1')"]
)
def test_prefix_is_no_built_in_any_more(atom: str) -> None:
    assert errors(f"A(K) :- B(K), {atom}.") == ["L-209"]


def test_the_note_about_prefix_says_what_to_write() -> None:
    [diagnostic] = check_program("A(K) :- B(K), Prefix(K,'links/').")
    assert diagnostic.note == "write TextShape(K,'links/','','')"


@pytest.mark.parametrize(
    "name", ["not", "true", "IntCompare", "LexCompare", "TextShape", "Cardinality", "Prefix"]
)
@pytest.mark.parametrize("terms", ["", "X", "X,Y,Z,W"])
def test_built_in_names_are_no_heads_at_any_arity(name: str, terms: str) -> None:
    assert "L-210" in errors(f"{name}({terms}) :- B(X,Y,Z,W).")


@pytest.mark.parametrize(
    "atom",
    [
        "not true",
        "not true()",
        "true()",
        "not not B(X)",
        "not IntCompare(X,'<','3')",
        "not TextShape(X,'','','')",
        "not Cardinality(B(X),'<','3')",
        "Cardinality(true(),'<','1')",
        "Cardinality(LexCompare(X,'<',X),'<','1')",
    ],
)
def test_a_built_in_is_neither_negated_nor_counted(atom: str) -> None:
    assert errors(f"A(X) :- B(X), {atom}.") == ["L-210"]


@pytest.mark.req("030-059", "030-061", "030-078")
@pytest.mark.parametrize("op", ["'='", "'=='", "'!='", "'<>'", "''", "' <'", "Op", "_", "<", "'=<'"])
@pytest.mark.parametrize(
    "form", ["IntCompare(X,{},'3')", "LexCompare(X,{},'3')", "Cardinality(C(X,_),{},'3')"]
)
def test_an_operator_is_one_of_four_quoted_constants(form: str, op: str) -> None:
    assert errors(f"A(X) :- B(X,Op), {form.format(op)}.") == ["L-212"]


@pytest.mark.req("030-078")
@pytest.mark.parametrize("number", ["X", "_", "'x'", "''", "'01'", "'-0'", "'1.0'", "'+1'"])
def test_a_count_is_compared_with_a_decimal_integer(number: str) -> None:
    assert errors(f"A(X) :- B(X), Cardinality(C(X,_),'<',{number}).") == ["L-214"]


@pytest.mark.req("030-064")
@pytest.mark.parametrize("delims", ["X", "_"])
def test_delimiters_are_a_quoted_constant(delims: str) -> None:
    assert errors(f"A(X) :- B(X), TextShape(X,'a',{delims},'').") == ["L-213"]


@pytest.mark.parametrize(
    "atom",
    ["IntCompare()", "IntCompare(X,'<')", "LexCompare(X,'<',X,X)", "TextShape(X,'a','')", "Cardinality(C(X))",
     "Cardinality(C(X),'<')", "Cardinality(C(X),'<','1','2')"],
)  # fmt: skip
def test_built_ins_have_one_arity(atom: str) -> None:
    assert errors(f"A(X) :- B(X), {atom}.") == ["L-211"]


@pytest.mark.parametrize("counted", ["X", "'a'", "not B(X)", "", "B"])
def test_cardinality_counts_an_atom(counted: str) -> None:
    assert errors(f"A(X) :- B(X), Cardinality({counted},'<','1').") == ["L-215"]


def test_blanks_and_tabs_may_stand_between_all_tokens() -> None:
    text = "  A ( X\t) \t:- B ( X , Y ) , not  C ( Y ) , X  !=Y, Cardinality ( D ( _ ) , '<' , '1' ) .\t "
    assert str(parse_program(text)) == "A(X) :- B(X,Y), not C(Y), X != Y, Cardinality(D(_),'<','1')."


def test_one_mistake_is_reported_once() -> None:
    # What a mistake would have bound counts as bound.
    for atom in ("X = Y", "Prefix(X,Y)", "IntCompare(X,Y)", "X < Y", "TextShape(X,'a',Y,'')"):
        assert len(errors(f"A(X,Y) :- {atom}.")) == 1
    assert errors("A(x) :- B(x), x != 'a'.") == ["L-205"] * 3


def test_several_mistakes_of_a_line_come_at_once() -> None:
    found = check_program("A(X,_) :- B(x,_y,\"z\"), X = Y, TextShape(X,'\\n').")
    assert [(d.code, d.span.start) for d in found] == [
        ("L-302", 4), ("L-205", 12), ("L-206", 14), ("L-107", 17),
        ("L-208", 25), ("L-211", 30), ("L-106", 43),
    ]  # fmt: skip
