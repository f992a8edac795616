"""lace.porcelain.rules.factfile: a fact a line, and every fault of a file at once."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from lace.porcelain import BadFactFile, FactFault, FileRefused, parse_facts, read_facts
from lace.porcelain.rules.factfile import FACT_LINE_BYTES, MOST_FAULTS


def facts(raw: bytes) -> list[tuple[str, ...]]:
    return parse_facts(io.BytesIO(raw), "f")


def faults(raw: bytes) -> BadFactFile:
    with pytest.raises(BadFactFile) as caught:
        facts(raw)
    return caught.value


def test_facts_stand_one_a_line_with_blanks_and_comments_between_them() -> None:
    raw = b"Have('P.1')\n\n# a note\n  Peer('V')  \n\tTransportEncrypted()\n_Viewer('it\\'s')"
    assert facts(raw) == [("Have", "P.1"), ("Peer", "V"), ("TransportEncrypted",), ("_Viewer", "it's")]
    assert facts(b"") == []


def test_every_fault_is_told_with_its_line_and_nothing_is_taken() -> None:
    error = faults(b"Have('a')\nHave(a)\n\nHave('b').\nHave('\xff')\nHave('e\xcc\x81')\n__X()\n")
    assert [fault.line for fault in error.faults] == [2, 4, 5, 6, 7]
    assert str(error) == "f: 5 of its lines are no facts; nothing of it was taken"
    assert error.details()[0].startswith("f:2: 'Have(a)' is no fact line")
    assert error.to_json()["faults"][2]["line"] == 5
    [fault] = faults(b"\xef\xbb\xbfHave('a')\nHave('b')\n").faults
    assert (fault.line, "byte order mark" in fault.reason) == (1, True)


def test_very_many_faults_are_counted_and_the_first_kept() -> None:
    error = faults(b"x\n" * 1000)
    assert len(error.faults) == MOST_FAULTS
    assert error.fields["count"] == 1000


def test_a_line_without_end_is_a_fault_and_the_lines_after_it_keep_their_numbers() -> None:
    long = b"Have('" + b"x" * (3 * FACT_LINE_BYTES) + b"')\n"
    error = faults(b"Have('a')\n" + long + b"oops\n")
    assert error.faults == (
        FactFault(2, f"the line has more than {FACT_LINE_BYTES} bytes"),
        FactFault(3, error.faults[1].reason),
    )


def test_no_fact_hides_behind_very_many_blanks_and_nothing_else_does() -> None:
    blanks, told = b" " * FACT_LINE_BYTES, f"the line has more than {FACT_LINE_BYTES} bytes"
    assert faults(blanks + b" Have('a')\n").faults == (FactFault(1, told),)
    assert faults(b"Have('a')" + blanks + b"oops\nHave('b')").faults == (FactFault(1, told),)
    assert faults(b"Have('a')\n" + blanks + b"\t").faults == (FactFault(2, told),)
    assert facts(blanks + b"\n" + b"# " + blanks + b"\nHave('a')" + blanks[9:] + b"\nHave('b')\n") == [
        ("Have", "a"),
        ("Have", "b"),
    ]


def test_a_value_over_the_limit_is_a_fault() -> None:
    assert "over the limit of 1024" in faults(b"Have('" + b"x" * 1025 + b"')\n").faults[0].reason


def test_a_fact_of_nine_values_and_a_name_of_the_language_are_faults() -> None:
    nine = ",".join(["'x'"] * 9).encode()
    error = faults(b"B(" + nine + b")\nnot('x')\ntrue()\nCardinality('x')\n_B(" + nine + b")\n")
    assert [fault.line for fault in error.faults] == [1, 2, 3, 4, 5]
    assert "at most 8" in error.faults[0].reason
    assert facts(b"B(" + nine[:-4] + b")\n_true()\n")


def test_files_and_stdin_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_bytes(b"Have('a')\n")
    assert read_facts(tmp_path / "f") == [("Have", "a")]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Have('b')\nx\n")))
    with pytest.raises(BadFactFile, match="stdin: 1 of"):
        read_facts("-")
    with pytest.raises(FileRefused):
        read_facts(tmp_path / "nothing")
