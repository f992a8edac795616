"""lace lake converge: two lakes, or a lake and a lace, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from lace.pipeline import converge, erase, open_lake
from lace.pipeline.exchange import ranges
from lace.pipeline.exchange.side import LakeSide
from lace.porcelain import Lace, Worth, converge_lakes, generate, read_policy
from tests.cli.conftest import Run
from tests.cli.conftest import home as home
from tests.cli.conftest import run as run
from tests.interlace.pair import ALL as SELECTS
from tests.interlace.pair import EXPOSE_ALL, Clock
from tests.pipeline.exchange.live import ids, party
from tests.pipeline.lakes import lake_of

RECORDS = list(generate(8, 60))
ALL = """\
[select]
SelectHave(P) :- Have(P).
SelectAdvertised(P,S) :- Advertised(P,S).

[expose to anyone]
AllowQueryRecord(V,P) :- _Viewer(V), Have(P).
"""


def test_two_lakes_and_a_lace_converge(run: Run, home: Path) -> None:
    lake_of(home / "A", RECORDS[:40])
    lake_of(home / "B", RECORDS[20:])
    (home / "all.policy").write_text(ALL)
    words = ("lake", "converge", "A", "B", "--policy", "all.policy", "--no-spark")
    dry = run(*words, "--dry-run")
    assert dry.code == 0, dry.err
    assert "would receive 20 records" in dry.out
    done = run(*words, "--report", "page.html")
    assert done.code == 0, done.err
    assert "received 20 records" in done.out
    assert "a fixed point after 2 loops" in done.out
    assert "What moved" in (home / "page.html").read_text()
    assert ids(open_lake(home / "A")) == ids(open_lake(home / "B")) == {record.id for record in RECORDS}
    (told,) = run(*words, "--json").values
    assert (told["complete"], told["loops"][0]["hashed"], told["compared"]) == (True, 0, 0)
    assert run("init").code == 0
    both = run(
        "lake", "converge", "A", ".", "--policy-a", "all.policy", "--policy-b", "all.policy", "--no-spark"
    )
    assert both.code == 0, both.err
    assert len(run("ls", "--ids").lines) == len(RECORDS)


def test_a_report_that_cannot_be_written_is_told_before_anything_moves(run: Run, home: Path) -> None:
    lake_of(home / "A", RECORDS[:40])
    lake_of(home / "B", RECORDS[20:])
    (home / "all.policy").write_text(ALL)
    words = ("lake", "converge", "A", "B", "--policy", "all.policy", "--no-spark")
    done = run(*words, "--report", "nowhere/r.html")
    assert (done.code, "what was committed stays" in done.err) == (7, False)
    assert len(ids(open_lake(home / "A"))) == 40


def test_a_lace_notes_what_left_and_came(tmp_path: Path) -> None:
    (tmp_path / "all.policy").write_text(ALL)
    policy = read_policy(tmp_path / "all.policy")
    lake_of(tmp_path / "A", RECORDS[4:12])
    with Lace.init(tmp_path / "notes") as lace:
        lace.put_records(RECORDS[:8])
    for dry_run in (True, False):
        converge_lakes(tmp_path / "A", tmp_path / "notes", (policy, policy), dry_run=dry_run)
    with Lace.open(tmp_path / "notes") as lace:
        (entry,) = lace.history()  # a dry run leaves none
        assert (entry.cause, entry.left, entry.came, entry.may_have_left) == ("fixed-point", 4, 4, 0)
        assert entry.address == str(tmp_path / "A")
        (sending,) = lace.why_sent(RECORDS[0].id).sendings
        assert sending.worth is Worth.AS_IT_WAS
        assert lace.why_sent(RECORDS[6].id).sendings == ()
        assert len(lace.why_sent(RECORDS[10].id).came) == 1


def test_lakes_note_what_left_and_came(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "RANGE_RECORDS", 2)  # what leaves is noted a range at a time
    lakes = lake_of(home / "A", RECORDS[:40]), lake_of(home / "B", RECORDS[20:])
    erase(lakes[1], [RECORDS[0].id], forget=True)
    (home / "all.policy").write_text(ALL)
    words = ("lake", "converge", "A", "B", "--policy", "all.policy", "--no-spark")
    assert run(*words, "--dry-run").code == 0
    assert run("history", "--lake", "A", "--json").values == []
    assert run(*words).code == 0
    (left,), (right,) = (run("history", "--lake", lake, "--json").values for lake in "AB")
    assert [left[each] for each in ("address", "left", "may_have_left", "came")] == ["B", 19, 0, 20]
    assert [right[each] for each in ("address", "left", "may_have_left", "came")] == ["A", 20, 0, 19]
    assert left["sums"]["bytes_sent"] == sum(record.size for record in RECORDS[1:20])
    account = run("history", "1", "--lake", "A", "--json").values[0]["records"]
    assert set(account["left"]) == {record.id for record in RECORDS[1:20]}  # B forgot the first
    assert set(account["came"]) == {record.id for record in RECORDS[40:]}
    came = run("history", "1", "--lake", "B", "--json").values[0]["records"]["came"]
    assert set(came) == {record.id for record in RECORDS[1:20]}
    why = run("why-sent", RECORDS[2].id, "--lake", "A")
    assert (why.code, why.lines[-1]) == (0, "  this reason is as it was")
    (told,) = run("why-sent", RECORDS[50].id, "--lake", "A", "--json").values
    assert (told["sent"], [each["way"] for each in told["others"]], told["converged"]) == (False, ["came"], 0)
    # What was erased since is told over the version that it was decided over.
    assert run("lake", "erase", RECORDS[1].id, "--lake", "A").code == 0
    assert run("why-sent", RECORDS[1].id, "--lake", "A").lines[-1] == "  this reason is as it was"


def test_what_moved_is_noted_where_the_inbox_is_said_to_be(run: Run, home: Path) -> None:
    lake_of(home / "A", RECORDS[:4])
    lake_of(home / "B", RECORDS[2:8])
    (home / "all.policy").write_text(ALL)
    words = ("lake", "converge", "A", "B", "--policy", "all.policy", "--no-spark", "--inbox", "notes")
    assert run(*words).code == 0
    assert not (home / "A" / "inbox").exists()
    noted = [run("history", "--lake", lake, "--inbox", "notes", "--json").values for lake in "AB"]
    assert [[entry["came"] for entry in entries] for entries in noted] == [[4], [2]]
    # Who does not say where is told that there is something that cannot be told.
    (told,) = run("why-sent", RECORDS[0].id, "--lake", "A", "--json").values
    assert (told["sent"], told["converged"]) == (False, 1)


def test_what_a_lake_cannot_note_does_not_leave_it(run: Run, home: Path) -> None:
    left, right = lake_of(home / "A", RECORDS[:4]), lake_of(home / "B", RECORDS[2:8])
    (home / "all.policy").write_text(ALL)
    (home / "A" / "inbox" / "history.sqlite").mkdir(parents=True)
    done = run("lake", "converge", "A", "B", "--policy", "all.policy", "--no-spark")
    assert (done.code, "[history/not-noted]" in done.err) == (7, True)
    assert ids(right) == {record.id for record in RECORDS[2:8]}
    assert ids(left) in ({record.id for record in RECORDS[:4]}, {record.id for record in RECORDS[:8]})


def test_a_lake_whose_process_was_killed_says_what_may_have_left(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake_of(home / "A", RECORDS[:4])
    lake_of(home / "B", [])
    (home / "all.policy").write_text(ALL)
    policy = read_policy(home / "all.policy")

    class Killed(BaseException):
        """What nothing answers to."""

    def kill(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as killing:
        killing.setattr(LakeSide, "receive", kill)
        with pytest.raises(Killed):
            converge_lakes(home / "A", home / "B", (policy, policy))
    (entry,) = run("history", "--lake", "A", "--json").values
    assert (entry["ended"], entry["left"], entry["may_have_left"]) == (None, 0, 4)
    (told,) = run("why-sent", RECORDS[0].id, "--lake", "A", "--json").values
    assert told["sendings"][0]["certain"] is False


def test_a_lake_says_of_which_convergence_its_history_knows_nothing(run: Run, home: Path) -> None:
    lakes = lake_of(home / "A", RECORDS[:4]), lake_of(home / "B", RECORDS[2:8])
    (home / "all.policy").write_text(ALL)
    left, right = (party(lake, side, SELECTS, EXPOSE_ALL) for side, lake in enumerate(lakes))
    converge(left, right, now=Clock().now())  # with nobody who notes it
    assert run("lake", "converge", "A", "B", "--policy", "all.policy", "--no-spark").code == 0
    words = (
        "1 exchange by `lace lake converge` is in the table `exchanges`, without ids: this history cannot"
        " tell about it"
    )
    why = run("why-sent", RECORDS[2].id, "--lake", "A")
    assert (why.code, why.lines[1:]) == (1, ["the record is here", words])
    assert "no exchange was noted" not in why.out
    (told,) = run("why-sent", RECORDS[0].id, "--lake", "A", "--json").values
    assert (told["sent"], told["converged"]) == (False, 1)
    listed = run("history", "--lake", "A")
    assert (len(listed.lines), listed.err) == (2, f"lace: {words}\n")


def test_what_is_missing_or_refused_is_said(run: Run, home: Path) -> None:
    lake_of(home / "A", RECORDS[:3])
    (home / "all.policy").write_text(ALL)
    assert run("lake", "converge", "A", "B", "--policy", "all.policy", "--no-spark").code != 0
    without = run("lake", "converge", "A", "A", "--policy-a", "all.policy", "--no-spark")
    assert without.code == 2
    assert "--policy-b" in without.err
    (home / "bad.policy").write_text("[select]\nSelectHave(P).\n")
    assert run("lake", "converge", "A", "A", "--policy", "bad.policy", "--no-spark").code != 0
    (home / "link").symlink_to(home / "A")
    for other in ("A", "link", "./A/../A"):
        twice = run("lake", "converge", "A", other, "--policy", "all.policy")  # and no Spark is started
        assert twice.code == 3
        assert "the same place" in twice.err
    assert open_lake(home / "A").snapshot().version == 1
