"""lace facts"""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.facts import facts_of_record, parse_fact_line
from lace.porcelain import Lace
from lace.record import make_plex
from tests.cli.conftest import Run

PLEX = make_plex("u", "notes", "it's", "1640995200:000000000", b"hello\n", [("Tag", "a\\b")])


@pytest.fixture
def stocked(lace: Run, home: Path) -> Run:
    with Lace.open(home) as opened:
        opened.put_records([PLEX])
    return lace


def test_a_line_is_a_fact(stocked: Run) -> None:
    lines = stocked("facts", "//u//notes//it's").lines
    assert [parse_fact_line(line) for line in lines] == facts_of_record(PLEX)


def test_json_is_a_list_a_line(stocked: Run) -> None:
    values = stocked("facts", PLEX.id[:10], "--json").values
    assert [tuple(value) for value in values] == facts_of_record(PLEX)


def test_an_unknown_record_has_no_facts(stocked: Run) -> None:
    assert stocked("facts", PLEX.blob.id).code == 1
