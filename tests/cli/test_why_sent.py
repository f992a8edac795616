"""lace why-sent: every time that a record left, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.drive import Host, write_utc
from lace.porcelain import Lace
from tests.cli.conftest import Run
from tests.cli.notes import FIRST, OTHER
from tests.cli.test_history import noted as noted
from tests.porcelain.pairs import End, exchange
from tests.strategies import SECRETS


def test_each_time_has_its_peer_its_plan_and_its_rules(noted: Run) -> None:
    done = noted("why-sent", "//u//notes//first")
    assert done.code == 0
    assert done.lines[0] == f"{FIRST.id} left 2 times"
    killed, first = (done.lines.index(line) for line in done.lines if line.startswith("exchange "))
    assert "perhaps: the process ended while it was about to leave" in done.lines[killed]
    assert "the plan of this exchange was not noted" in done.lines[killed + 1]
    told = done.lines[first:]
    assert told[0].endswith(f": to {SECRETS[1].verifier} through tcp:host:7")
    assert ", epoch 1, loop 1, tick 16409952" in told[1]
    assert told[3] == "  selected by us: SelectHave(P) :- Have(P), Field(P,'Group',_,'u')."
    assert told[4] == "  selected by the peer: SelectHave(P) :- Have(P)."
    assert told[5].startswith("  shown by [expose to anyone] (town.policy:4): AllowQueryRecord(V,P) :- ")
    assert told[6] == "  this reason is as it was"


def test_a_place_is_its_newest_record_and_that_is_told(noted: Run, home: Path) -> None:
    with Lace.open(home) as lace:
        newer = lace.put(b"newer", group="u", app="notes", name="first")
    done = noted("why-sent", "//u//notes//first")
    assert (done.code, done.lines[0]) == (1, f"{newer.id} never left, as far as the history goes")
    assert (
        done.err == "lace: //u//notes//first is the newest record there; ask about older ones by their ids\n"
    )
    assert noted("why-sent", FIRST.id).err == ""
    assert noted("why-sent", "//u//notes//first", "--json").err == ""


def test_proofs_are_shown_where_they_are_asked_for(noted: Run) -> None:
    assert "MaySend(" not in noted("why-sent", FIRST.id).out
    for option in (["--proof"], ["--full"], ["--depth", "3"]):
        assert f"    MaySend('{FIRST.id}')  by rule" in noted("why-sent", FIRST.id, *option).out


def test_one_peer_and_few_explanations(noted: Run) -> None:
    done = noted("why-sent", FIRST.id, "--peer", SECRETS[1].verifier)
    assert done.lines[0] == f"{FIRST.id} left 1 time"
    short = noted("why-sent", FIRST.id, "--explain", "1")
    assert "  not explained: a larger number explains it (--explain, explain=)" in short.lines
    [value] = noted("why-sent", FIRST.id, "--json").values
    assert all(each["at_utc"] == write_utc(each["at"]) for each in value["sendings"])
    assert (value["sent"], [each["exchange"] for each in value["sendings"]]) == (True, [3, 1])
    assert [each["certain"] for each in value["sendings"]] == [False, True]
    assert value["sendings"][1]["proof"]["goal"] == ["MaySend", FIRST.id]


def test_what_never_left_says_so_and_whence_it_came(noted: Run) -> None:
    stranger = "P." + "0" * 43 + ".H3"
    done = noted("why-sent", stranger)
    assert (done.code, done.lines[0]) == (1, f"{stranger} never left, as far as the history goes")
    assert done.lines[1:] == ["the record is not here, and the history does not know it"]
    assert noted("why-sent", FIRST.id, "--peer", "nobody").code == 1
    [value] = noted("why-sent", stranger, "--json").values
    assert value == {
        "record": stranger,
        "here": False,
        "sent": False,
        "forgotten_until": None,
        "converged": 0,
        "sendings": [],
        "others": [],
    }


def test_what_was_forgotten_is_not_called_never_noted(noted: Run) -> None:
    assert noted("history", "--forget-before", "2100-01-01").code == 0
    done = noted("why-sent", FIRST.id)
    assert done.code == 1
    assert "no exchange was noted" not in done.out
    assert done.lines[-1].startswith("what was noted until 20")
    [value] = noted("why-sent", FIRST.id, "--json").values
    assert (value["here"], value["sent"], value["forgotten_until"] is None) == (True, False, False)
    assert "was forgotten" in noted("history", "--peer", "nobody").err


def test_a_record_that_was_removed_is_found_by_the_beginning_of_its_id(noted: Run) -> None:
    assert noted("rm", FIRST.id).code == 0
    assert noted("why-sent", FIRST.id[:10]).lines[0] == f"{FIRST.id} left 2 times"


def test_what_came_is_told_with_whom_it_came_from(
    lace: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Host, "keeps_out", lambda self, wanted: frozenset())  # forgotten when it is under way
    assert lace("why-sent", OTHER.id).lines[0].endswith(": no exchange was noted here yet")
    with Lace.open(home) as here, Lace() as there:
        there.put_records([FIRST, OTHER])
        here.forget(OTHER.id)
        exchange(End(here, secret=SECRETS[0], address="ws://a/interlace"), End(there, secret=SECRETS[1]))
    done = lace("why-sent", FIRST.id)
    assert (done.code, done.lines[2:]) == (1, ["the record is here"])
    assert done.lines[1].endswith(f": it came from {SECRETS[1].verifier} through ws://a/interlace")
    assert "and was rejected: " in lace("why-sent", OTHER.id).lines[1]
    [value] = lace("why-sent", OTHER.id, "--json").values
    assert value["others"][0]["code"] == "interlace/not-let-in"
