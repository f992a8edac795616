"""lace.porcelain.rules.layout: annotated source in its best form loses nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lace.datalog import parse_annotated
from lace.porcelain import Block, cut_blocks, join_blocks
from lace.porcelain.rules.layout import arrange, is_plain

RULES = ["A('x') :- true.", "B(X):-A( X ).", "B(X) :- A(X).", "  C(X) :- B(X), not D(X) ."]
LINES = st.sampled_from(
    [*RULES, "", "  ", "# one", "#two  ", "#", '#:json {"a":1}', '#:json {"a":2, "b":[]} ']
)
SOURCES = st.lists(LINES, max_size=12).map(lambda lines: "\n".join([*lines, RULES[0]]))


def comments(text: str) -> list[str]:
    return [line.rstrip() for line in text.split("\n") if line.startswith("#")]


@given(SOURCES)
def test_formatting_changes_neither_rules_nor_annotations_nor_comments(text: str) -> None:
    before, after = parse_annotated(text), parse_annotated(arrange(text))
    assert after.program == before.program
    assert after.sidecar() == before.sidecar()
    assert comments(arrange(text)) == comments(text)


@given(SOURCES)
def test_formatting_twice_changes_nothing_more(text: str) -> None:
    assert arrange(arrange(text)) == arrange(text)


@given(SOURCES)
def test_what_stands_before_a_rule_stays_before_it(text: str) -> None:
    def kept(source: str) -> list[tuple[list[str], str]]:
        return [([line for line in before if line], rule) for before, rule in cut_blocks(source)]

    assert kept(arrange(text)) == kept(text)


def test_blank_lines_are_few_and_never_between_an_annotation_and_its_rule() -> None:
    text = (
        '\n\n# head\n\n\n# about A\n#:json {"a":1}\n\n# more\n\nA() :- true.\n\n\n'
        "B() :- true.\nC() :- true.\n# end\n\n\n"
    )
    assert arrange(text) == (
        '# head\n\n# about A\n#:json {"a":1}\n# more\nA() :- true.\n\nB() :- true.\nC() :- true.\n# end\n'
    )


def test_only_a_line_that_begins_so_is_a_comment() -> None:
    assert is_plain("A('#') :- true.\n")
    assert is_plain("")
    assert not is_plain("A() :- true.\n#")


def test_blocks_are_put_together_as_they_were_cut() -> None:
    blocks = [Block(("# one", ""), "A() :- true."), Block((), "B() :- true."), Block(("# end",), "")]
    text = join_blocks(blocks)
    assert text == "# one\n\nA() :- true.\nB() :- true.\n# end\n"
    assert list(cut_blocks(text))[:2] == blocks[:2]
    assert join_blocks([]) == ""
