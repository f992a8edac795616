"""lace history: exchanges in a list, and one in full."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from lace.drive import Beginning, Host, Leaving
from lace.porcelain import Lace
from lace.text import unix_from_tai
from tests.cli.conftest import Run
from tests.cli.notes import FIRST, OTHER, RECORDS, SECOND
from tests.drive.histories import at
from tests.porcelain.pairs import OPEN, End, exchange
from tests.porcelain.policy_texts import TOWN
from tests.strategies import SECRETS

U = TOWN.replace("'town'", "'u'")


@pytest.fixture
def noted(lace: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A lace that took part in two exchanges, and was killed in a third."""
    monkeypatch.setattr(Host, "keeps_out", lambda self, wanted: frozenset())  # forgotten when it is under way
    with Lace.open(home) as here, Lace() as there:
        here.put_records(RECORDS)
        there.forget(SECOND.id)
        exchange(End(here, U, SECRETS[0], "tcp:host:7"), End(there, OPEN, SECRETS[1]))
        exchange(End(there, OPEN), End(here, OPEN))
        killed = here.kept.begin(Beginning(at(0)))
        here.kept.note(killed, [Leaving(at(1), 1, 1, 1, at(0), (FIRST.id, OTHER.id))])
    return lace


def test_exchanges_are_listed_newest_first(noted: Run) -> None:
    head, *rows = noted("history").lines
    assert head.split() == ["exchange", "began", "with", "left", "came", "ended"]
    assert [row.split()[0] for row in rows] == ["3", "2", "1"]
    assert (
        rows[0].split("  ")[0:2] == ["3", "      2022-01-01 00:00:00Z"] or "2021-12-31 23:59:23Z" in rows[0]
    )
    assert "0 (+2?)" in rows[0]
    assert rows[0].endswith("no end noted")
    assert "anonymous" in rows[1]
    assert f"{SECRETS[1].verifier[:12]}  tcp:host:7" in rows[2]
    assert rows[2].endswith("fixed-point")


def test_exchanges_are_chosen(noted: Run) -> None:
    def numbers(*words: str) -> list[int]:
        return [value["number"] for value in noted("history", "--json", *words).values]

    assert numbers() == [3, 2, 1]
    assert numbers("-n", "1") == [3]
    assert numbers("--peer", SECRETS[1].verifier[:9]) == numbers("--peer", "host:7") == [1]
    assert numbers("--peer", "anonymous", "--plan", "E.") == [2]
    assert numbers("--since", "1d") == [2, 1]
    assert numbers("--since", "2100-01-01") == []
    assert "no such exchange was noted here" in noted("history", "--peer", "nobody").err


def test_an_empty_text_names_nobody_and_nothing(noted: Run) -> None:
    for words in (("history", "--peer", ""), ("history", "--plan", ""), ("why-sent", FIRST.id, "--peer", "")):
        done = noted(*words)
        assert (done.code, done.out) == (2, "")
        assert "it is empty, which would be everybody and everything" in done.err


def test_one_exchange_is_told_in_full(noted: Run) -> None:
    lines = noted("history", "1").lines
    assert lines[0].startswith("exchange 1: began ")
    assert lines[1] == f"with {SECRETS[1].verifier} through tcp:host:7"
    assert lines[2] == "cause: fixed-point"
    assert "  in force: [expose to anyone] (town.policy:4)" in lines
    assert "left: 2 records" in lines
    assert f"  {FIRST.id}  //u//notes//first" in lines
    more = noted("history", "1", "-n", "1", "--rules").lines
    assert "  … and 1 more" in more
    assert "    AllowQueryRecord(V,P) :- _Viewer(V), Field(P,'Group',_,'u')." in more
    assert "  operand 1, the peer:" in more
    [value] = noted("history", "1", "--json").values
    for moment in ("began", "ended"):
        seconds, _ = unix_from_tai(value[moment])
        assert int(datetime.fromisoformat(value[f"{moment}_utc"]).timestamp()) == seconds
    assert value["records"]["left"] == [FIRST.id, SECOND.id]
    assert value["agreements"][0]["viewer"] == SECRETS[1].verifier
    killed = noted("history", "3").lines
    assert "may have left: its process was killed, or goes on: 2 records" in killed


def test_rejections_are_told_with_their_reason(
    lace: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Host, "keeps_out", lambda self, wanted: frozenset())  # forgotten when it is under way
    with Lace.open(home) as here, Lace() as there:
        there.put_records(RECORDS)
        here.forget(FIRST.id)
        exchange(End(here), End(there))
    lines = lace("history", "1").lines
    assert "came: 2 records" in lines
    assert lines[-2] == "came, and rejected: 1 record"
    assert lines[-1].startswith(f"  {FIRST.id}  ")
    assert lines[-1].endswith("[interlace/not-let-in]")


def test_a_number_that_is_none_and_options_that_do_not_fit(noted: Run) -> None:
    assert noted("history", "9").code == 1
    assert "[history/no-exchange]" in noted("history", "9").err
    assert noted("history", "1", "--peer", "x").code == 2


def test_without_exchanges_there_is_nothing_to_list(lace: Run, home: Path) -> None:
    done = lace("history")
    assert (done.code, done.out) == (0, "")
    assert not (home / ".lace" / "history.sqlite").exists()


def test_a_damaged_history_is_told_and_left_alone(noted: Run, home: Path) -> None:
    file = home / ".lace" / "history.sqlite"
    file.write_bytes(b"?" * 5000)
    done = noted("history")
    assert done.code == 7
    assert file.read_bytes() == b"?" * 5000
    assert noted("ls").code == 0


def test_rules_are_told_of_one_exchange(noted: Run) -> None:
    done = noted("history", "--rules")
    assert done.code == 2
    assert "give its number" in done.err


def test_a_lace_without_exchanges_says_so(lace: Run) -> None:
    assert "no exchange was noted here yet" in lace("history").err


def test_no_lines_asked_for_is_not_no_exchange(noted: Run) -> None:
    done = noted("history", "-n", "0")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_what_is_old_is_forgotten(noted: Run) -> None:
    assert noted("history", "--forget-before", "1d").lines == ["forgot 0 exchanges"]
    assert noted("history", "--forget-before", "2100-01-01", "--json").values == [{"forgotten": 2}]
    assert [value["number"] for value in noted("history", "--json").values] == [3], "it has no end"
    assert noted("ls").code == 0
    for words in (["1"], ["--peer", "x"], ["-n", "1"], ["--rules"], ["--since", "1d"]):
        assert noted("history", "--forget-before", "1d", *words).code == 2
    assert noted("history", "--forget-before", "nonsense").code != 0
