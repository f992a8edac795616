r"""One fact, one line: what is written is read back, and nothing else is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lace.errors import FactError
from lace.facts import (
    Fact,
    NotAFactLine,
    UnwritableValue,
    ValueNotText,
    ValueTooLong,
    facts_of_record,
    parse_constant,
    parse_fact_line,
    write_constant,
    write_fact_line,
)
from lace.record import Record
from tests.strategies import facts, records


@given(facts())
def test_what_is_written_is_read_back(fact: Fact) -> None:
    assert parse_fact_line(write_fact_line(fact)) == fact


@given(records())
def test_every_fact_of_a_record_can_be_written(record: Record) -> None:
    for fact in facts_of_record(record):
        line = write_fact_line(fact)
        assert "\n" not in line
        assert parse_fact_line(line) == fact


@given(facts(), st.data())
def test_there_is_one_spelling(fact: Fact, draw: st.DataObject) -> None:
    line = write_fact_line(fact)
    at = draw.draw(st.integers(0, len(line)))
    other = (
        line[:at]
        + draw.draw(st.sampled_from([" ", "\\", "'", ",", "(", ")", "\n", "\t", ".", "x"]))
        + line[at:]
    )
    try:
        read = parse_fact_line(other)
    except FactError:
        return
    assert write_fact_line(read) == other


SIGNS = st.text(st.sampled_from("Fx'\\,() \n\r\t_~-1é"), max_size=14)


# Signs alone make no fact, but between quotes some of them do.
@given(SIGNS | SIGNS.map("F('{}')".format) | st.text(st.characters(), max_size=20))
def test_any_text_is_a_fact_or_a_documented_error(line: str) -> None:
    try:
        fact = parse_fact_line(line)
    except FactError:
        return
    assert write_fact_line(fact) == line


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        (("TransportEncrypted",), "TransportEncrypted()"),
        (("Have", "P"), "Have('P')"),
        (("Field", "P", "Group", "0", "u"), "Field('P','Group','0','u')"),
        (("Edge", "it's", "a\\b"), r"Edge('it\'s','a\\b')"),
        (("Edge", "\\'", "'\\"), r"Edge('\\\'','\'\\')"),
        (("Edge", "", ""), "Edge('','')"),
        (("Edge", "a,b", "(c)"), "Edge('a,b','(c)')"),
        (("Edge", "\t\x00\u2028"), "Edge('\t\x00\u2028')"),
        (("a~-_9", "x"), "a~-_9('x')"),
    ],
)
def test_a_fact_is_spelled_so(fact: Fact, line: str) -> None:
    assert write_fact_line(fact) == line
    assert parse_fact_line(line) == fact


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Have",
        "Have(",
        "Have)",
        "Have('P'",
        "Have('P'))",
        "Have('P').",
        "Have('P')\n",
        "Have('P') ",
        " Have('P')",
        "Have ('P')",
        "Have( 'P')",
        "Have('P' )",
        "Edge('a', 'b')",
        "Edge('a' ,'b')",
        "Edge('a',)",
        "Edge(,'a')",
        "Edge('a''b')",
        'Have("P")',
        "Have(P)",
        "Have(_)",
        "Have('P)",
        "Have(P')",
        r"Have('\n')",
        r"Have('\P')",
        "Have('\\')",
        "Have('a\nb')",
        "Have('a\rb')",
        "1Have('P')",
        "_Viewer('P')",
        "~x()",
        "Ha ve()",
        "Hàve()",
        "()",
        "Have('P') :- true.",
        "Have('P')Have('P')",
        "# Have('P')",
    ],
)
def test_another_spelling_is_refused(line: str) -> None:
    with pytest.raises(NotAFactLine) as caught:
        parse_fact_line(line)
    assert caught.value.offset == 0


@pytest.mark.req("020-013")
@pytest.mark.parametrize("value", ["cafe\u0301", "\ud800", "\u1100\u1161"])
def test_a_value_that_is_no_composed_utf_8_text_is_refused(value: str) -> None:
    with pytest.raises(ValueNotText):
        parse_fact_line(f"Edge('a','{value}')")


@pytest.mark.req("020-014")
def test_a_value_over_the_limit_is_refused_by_its_own_bytes() -> None:
    quotes = "\\'" * 1024  # 2,048 characters in the line, 1,024 bytes as a value
    assert parse_fact_line(f"Edge('{quotes}')") == ("Edge", "'" * 1024)
    with pytest.raises(ValueTooLong):
        parse_fact_line(f"Edge('{quotes}x')")
    assert parse_fact_line("Edge('12345')", 5)
    with pytest.raises(ValueTooLong):
        parse_fact_line("Edge('a','123456')", 5)


@pytest.mark.parametrize("value", ["a\nb", "\r", "\n"])
def test_a_value_with_a_line_end_cannot_be_written(value: str) -> None:
    with pytest.raises(UnwritableValue):
        write_fact_line(("Edge", "x", value))


@given(st.text(st.sampled_from("'\\ax"), max_size=10))
def test_a_constant_is_quoted_and_unquoted(value: str) -> None:
    assert parse_constant(write_constant(value)) == value


def test_a_refused_line_is_not_repeated_at_length() -> None:
    with pytest.raises(NotAFactLine) as caught:
        parse_fact_line("x" * 100_000)
    assert len(str(caught.value)) < 300
