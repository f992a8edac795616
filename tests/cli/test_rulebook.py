"""lace.cli.rulebook: rules that grow line by line."""

from __future__ import annotations

import pytest

from lace.cli.rulebook import NoSuchRule, RuleBook
from lace.datalog import check_annotated
from lace.porcelain import RuleFile, RulesRefused


def book(*lines: str) -> RuleBook:
    made = RuleBook()
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            made.comment(line, number)
        else:
            made.add(line, number)
    return made


def test_a_rule_is_added_under_the_number_of_its_canonical_place() -> None:
    made = book("B(X):-A( X ).")
    added = made.add("A('x') :- true.", 2)
    assert (added.line, added.number, added.new) == ("A('x') :- true.", 0, True)
    assert made.program.lines == ("A('x') :- true.", "B(X) :- A(X).")
    assert made.add("A( 'x' ) :- true.", 3).new is False


def test_what_is_wrong_is_told_in_the_line_that_was_typed_and_changes_nothing() -> None:
    made = book("A('x') :- true.")
    with pytest.raises(RulesRefused) as caught:
        made.add("B(X) :- A(Y).", 7)
    assert [(d.code, d.span.line, d.span.start, d.span.offset) for d in caught.value.diagnostics] == [
        ("L-301", 7, 2, 2),
        ("L-909", 7, 10, 10),
    ]
    assert made.program.lines == ("A('x') :- true.",)


def test_a_rule_that_closes_a_cycle_is_refused_and_the_cycle_told_in_rules() -> None:
    made = book("A(X) :- N(X), not B(X).", "M(X) :- N(X).")
    with pytest.raises(RulesRefused) as caught:
        made.add("B(X) :- N(X), not A(X).", 3)
    [told] = caught.value.diagnostics
    assert "(rule 0)" in told.message
    assert "(this rule)" in told.message
    assert "(line" not in told.message
    assert not made.program.heads & {("B", 1)}


def test_warnings_are_about_the_new_rule_alone() -> None:
    made = book("A(X) :- Feild(X,_,_,_).")
    assert made.add("B(X) :- A(X).", 2).warnings == []
    [warning] = made.add("C(X) :- Haev(X).", 3).warnings
    assert (warning.code, warning.span.line) == ("L-901", 3)
    with pytest.raises(RulesRefused) as caught:
        made.add("D(X) :- true.", 4)
    assert [d.code for d in caught.value.diagnostics] == ["L-301"]


def test_a_rule_that_is_there_already_is_told_by_its_number() -> None:
    made = book("C() :- true.", "# not a rule", "B() :- true.")
    [warning] = made.add("C():-true.", 9).warnings
    assert (warning.code, warning.span.line) == ("L-911", 9)
    assert warning.message == "the rule stands here twice, first as rule 1"


def test_the_offset_of_a_diagnostic_is_that_in_its_line_whatever_rules_there_are() -> None:
    line = "B('ü',X) :- A(X,Y)."
    alone, behind = (made.add(line, 2).warnings for made in (book(), book("A('é','ö') :- true.")))
    assert [d.to_json() for d in behind] == [d.to_json() for d in alone]
    assert [(d.code, d.span.offset) for d in alone] == [("L-909", len("B('ü',X) :- A(X,".encode()))]


def test_an_error_in_a_rule_that_was_there_is_told_with_the_rule_and_without_a_place() -> None:
    made = book("A(X) :- N(X,X).")
    [told] = check_annotated("A(X) :- N(X,Y).\nB() :- true.")
    placed = made.placed(told, 2, 7, 16)
    assert placed.message == "Y is used only once, in rule 0: A(X) :- N(X,X)."
    assert placed.to_json()["range"] == {key: {"line": 0, "character": 0} for key in ("start", "end")}


def test_comments_and_annotations_stay_with_the_rule_that_follows() -> None:
    made = book("# one", '#:json {"a":1}', "B() :- true.", "A() :- true.", "# end")
    assert made.written() == b'# one\n#:json {"a":1}\nB() :- true.\nA() :- true.\n# end\n'


def test_rules_without_comments_are_written_canonically() -> None:
    assert book("B() :- true.", "A() :- true.").written() == b"A() :- true.\nB() :- true."
    assert book().written() == b""


def test_an_annotation_that_is_none_is_refused_at_once_and_one_without_a_rule_when_it_is_written() -> None:
    made = book("A() :- true.")
    with pytest.raises(RulesRefused) as caught:
        made.comment("#:json [", 4)
    assert [(d.code, d.span.line) for d in caught.value.diagnostics] == [("L-802", 4)]
    made.comment("#:json {}", 5)
    with pytest.raises(RulesRefused) as caught:
        made.written()
    assert [d.code for d in caught.value.diagnostics] == ["L-801"]


def test_a_file_is_loaded_whole_or_not_at_all() -> None:
    made = book("A(X) :- N(X), not B(X).")
    with pytest.raises(RulesRefused):
        made.load(RuleFile("f", b"C() :- true.\nB(X) :- A(X).\n"))
    with pytest.raises(RulesRefused):
        made.load(RuleFile("f", b"C() :- true.\nB(X)\n"))
    assert made.program.lines == ("A(X) :- N(X), not B(X).",)
    assert made.load(RuleFile("f", b"# c\nC():-true.\n\n# end\n")) == 1
    assert made.written() == b"A(X) :- N(X), not B(X).\n# c\nC() :- true.\n# end\n"


def test_rules_are_dropped_by_number() -> None:
    made = book("B() :- true.", "A() :- true.", "C() :- true.")
    assert made.drop(["2", "0"]) == ["C() :- true.", "A() :- true."]
    assert made.program.lines == ("B() :- true.",)
    assert made.drop(["0", "00", "0"]) == ["B() :- true."]
    made = book("B() :- true.")
    for number in ("1", "-1", "x", "٣", ""):
        with pytest.raises(NoSuchRule):
            made.drop(["0", number])
    assert made.program.lines == ("B() :- true.",)


def test_very_many_faults_of_one_line_are_counted() -> None:
    line = "A() :- " + ", ".join(f"not B(X{n})" for n in range(150)) + "."
    with pytest.raises(RulesRefused) as caught:
        book().add(line, 1)
    assert caught.value.diagnostics[-1].code == "L-001"
