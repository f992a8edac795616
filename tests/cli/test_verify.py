"""lace verify"""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.porcelain import Lace
from lace.porcelain.generate import generate
from tests.cli.conftest import Run, only_read
from tests.porcelain.streams.test_export import spoil

RECORDS = list(generate(4, 50))


@pytest.fixture
def stocked(lace: Run, home: Path) -> Run:
    with Lace.open(home) as opened:
        opened.put_records(RECORDS)
    return lace


def test_a_sound_lace_is_yes(stocked: Run) -> None:
    done = stocked("verify")
    assert (done.code, done.out) == (0, "checked 50 records: all sound\n")
    assert stocked("verify", "--json").values[0] == {
        "sound": True, "checked": 50, "taken": True, "mended": 0, "rotten": [], "damage": [],
    }  # fmt: skip
    assert stocked("verify", RECORDS[0].id[:12], RECORDS[1].id).out == "checked 2 records: all sound\n"


@pytest.mark.req("020-006")
def test_a_rotten_record_is_no_and_its_facts_go(stocked: Run, home: Path) -> None:
    spoil(home, RECORDS[7])
    looked = stocked("verify", "--read-only")
    assert (looked.code, looked.lines[-1]) == (1, "checked 50 records: 1 damaged, left where they are")
    assert stocked("verify", RECORDS[7].id).code == 1
    done = stocked("verify")
    assert done.code == 1
    assert done.lines[0].startswith(f"{RECORDS[7].id} is damaged: ")
    assert done.lines[-1] == "checked 50 records: 1 damaged, taken out of the store"
    assert RECORDS[7].id not in stocked("ls", "--ids").lines
    assert stocked("facts", RECORDS[7].id).code == 1
    assert stocked("verify").code == 0


def test_a_store_that_can_only_be_read_is_verified_with_read_only(
    stocked: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lace.porcelain.lace.SqliteStore", only_read)
    done = stocked("verify")
    assert (done.code, done.out, "give --read-only" in done.err) == (7, "", True)
    assert stocked("verify", "--read-only").code == 0


def test_json_names_the_rotten_ones(stocked: Run, home: Path) -> None:
    spoil(home, RECORDS[7])
    done = stocked("verify", "--json")
    assert done.code == 1
    assert [each["record_id"] for each in done.values[0]["rotten"]] == [RECORDS[7].id]


def test_an_unknown_record_cannot_be_verified(stocked: Run) -> None:
    assert stocked("verify", "B." + "0" * 43 + ".H3").code == 1
