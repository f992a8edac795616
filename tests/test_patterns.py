"""Patterns mean the same on every Python that the package says it runs on."""

from __future__ import annotations

import re

import pytest

from lace.iltp import Reader
from tests.test_layers import LACE

POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{[^}]*\})\+")


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Before Python 3.11.5 such a match ends inside a repetition that failed: `(?>(?:…)*)` says the same.

    Debian 12 has 3.11.2. Single characters and classes are repeated rightly everywhere.
    """
    found = [
        f"{path.relative_to(LACE)}:{number}: {line.strip()}"
        for path in sorted(LACE.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if POSSESSIVE_GROUP.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("pattern", [r"(?:ab?c\n)*+", r"(?:ab?c\n){0,7}+", r"(?:ab)?+c", r"(?:ab)++"])
def test_possessive_groups_are_recognised(pattern: str) -> None:
    assert POSSESSIVE_GROUP.search(pattern)


def test_lines_end_where_they_end_wherever_bytes_are_cut() -> None:
    """The pattern of fact lines stops before a line that is not whole."""
    lines = b"AdvertisedField('P.x.H3','Opq_\\'a','Name','0','notes/780')\nAdvertised('P.y.H3','Opq_a')\n"
    data = "🪢: iltp/1\n".encode() + lines * 2 + b"\n"
    whole = [type(item).__name__ for item in Reader().feed(data)]
    for cut in range(1, len(data)):
        reader = Reader()
        items = reader.feed(data[:cut]) + reader.feed(data[cut:])
        assert [type(item).__name__ for item in items] == whole, cut
