"""lace lake …: from an empty folder to a lake that is looked after."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest

from lace.porcelain import generate
from tests.cli.conftest import Run
from tests.sparkling import spark as spark

pytest.importorskip("pyarrow", reason="the spark extra is not installed")

from tests.pipeline.lakes import damage, lake_of

RECORDS = list(generate(8, 120))
LINKS = "Selected(P) :- Have(P), Field(P,'Group',_,G), not Dull(G).\nDull('u') :- true.\n"


@pytest.fixture
def waters(run: Run, home: Path) -> Run:
    """A lake `L` in two commits, and the same records as a file."""
    lake_of(home / "L", RECORDS[:60], RECORDS[60:])
    (home / "in.records").write_bytes(b"".join(record.raw for record in RECORDS))
    return run


def test_a_lake_is_made_once(run: Run, home: Path) -> None:
    assert run("lake", "init", "L").code == 0
    again = run("lake", "init", "L")
    assert again.code == 7
    assert "lake" in again.err
    (home / "full").mkdir()
    (home / "full" / "file").touch()
    assert run("lake", "init", "full").code == 7


def test_history_tells_each_version(waters: Run) -> None:
    rows = waters("lake", "history", "--lake", "L", "--json").values
    assert [(row["version"], row["operation"], row["records"]) for row in rows] == [
        (2, "ingest", 120), (1, "ingest", 60), (0, "create", 0),
    ]  # fmt: skip
    assert [datetime.fromisoformat(row["at_utc"]).timestamp() for row in rows] == pytest.approx(
        [row["at"] for row in rows], abs=1e-5
    )
    assert all(row["at_utc"].endswith("+00:00") for row in rows)
    assert len(waters("lake", "history", "--lake", "L", "--limit", "1").lines) == 2


def test_small_files_are_merged_and_old_versions_removed(waters: Run, home: Path) -> None:
    done = waters("lake", "optimize", "--lake", "L", "--json").values[0]
    assert done["after"] < done["before"]
    dry = waters(
        "lake", "vacuum", "--lake", "L", "--older-than", "0s", "--grace", "0s", "--dry-run", "--json"
    )
    removed = waters("lake", "vacuum", "--lake", "L", "--older-than", "0s", "--grace", "0s", "--json").values[
        0
    ]
    assert removed["files"] == dry.values[0]["files"] > 0
    assert waters("ls", "--lake", "L", "--at", "1").code == 1
    assert len(waters("ls", "--lake", "L", "--ids").lines) == 120
    assert waters("lake", "vacuum", "--lake", "L", "--older-than", "soon").code == 2


def test_erased_records_are_gone_and_forgotten_ones_may_be_allowed(waters: Run) -> None:
    gone, stays = RECORDS[3].id, RECORDS[4].id
    done = waters("lake", "erase", gone[:12], "--lake", "L", "--forget", "--json")
    assert done.values[0]["erased"] == [gone]
    assert waters("get", gone, "--lake", "L").code == 1
    assert waters("get", stays, "--lake", "L", "--raw").code == 0
    assert waters("lake", "allow", gone[:12], "--lake", "L", "--json").values[0]["allowed"] == [gone]
    assert waters("lake", "allow", gone, "--lake", "L").code == 1
    absent = waters("lake", "erase", gone, "--lake", "L")
    assert (absent.code, absent.out) == (
        1,
        "no such record is in the tables, and nothing was changed; version 4\n",
    )
    kept_out = waters("lake", "erase", gone, "--lake", "L", "--forget")
    assert (kept_out.code, "refused from now on; version 5" in kept_out.out) == (0, True)
    assert "Older versions" not in absent.out + kept_out.out


def test_a_lake_that_lost_its_own_file_is_not_told_to_be_made_anew(waters: Run, home: Path) -> None:
    for damaged in (b"", b'{"format": "lace-l', None):
        if damaged is None:
            (home / "L" / "lake.json").unlink()
        else:
            (home / "L" / "lake.json").write_bytes(damaged)
        told = waters("lake", "history", "--lake", "L")
        assert (told.code, "lost its lake.json" in told.err, "from a copy" in told.err) == (7, True, True)
        assert "lake init" not in told.err


def test_fsck_tells_what_is_wrong(waters: Run, home: Path) -> None:
    sound = waters("lake", "fsck", "--lake", "L")
    assert (sound.code, "all sound" in sound.out) == (0, True)
    from lace.pipeline import open_lake

    damage(open_lake(home / "L"), RECORDS[7].id)
    bad = waters("lake", "fsck", "--lake", "L", "--json")
    assert bad.code == 1
    assert not bad.values[0]["sound"]
    assert RECORDS[7].id in bad.out
    assert RECORDS[7].id in waters("lake", "fsck", "--lake", "L").out


def test_without_a_lake_it_says_so(run: Run) -> None:
    for verb in ("history", "rejects", "optimize", "vacuum", "fsck"):
        assert run("lake", verb, "--lake", "nowhere").code == 1
        assert run("lake", verb).code == 2


@pytest.mark.spark
def test_files_are_ingested_bad_parts_told_and_nothing_is_taken_twice(
    waters: Run, home: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert waters("lake", "init", "M").code == 0
    (home / "bad.records").write_bytes(b"noise" + RECORDS[0].raw)
    tried = waters(
        "lake", "ingest", "in.records", "bad.records", "--lake", "M", "--dry-run", "--json"
    ).values[0]
    assert (tried["committed"], tried["stored"]) == (False, 120)
    assert "would reject 1 part" in waters("lake", "ingest", "bad.records", "--lake", "M", "--dry-run").out
    done = waters("lake", "ingest", "in.records", "bad.records", "--lake", "M", "--report", "r.html")
    assert done.code == 0
    assert "stored 120 records" in done.out
    assert "rejected 1 part (5 bytes)" in done.out
    assert "<svg" in (home / "r.html").read_text()
    again = waters("lake", "ingest", "in.records", "bad.records", "--lake", "M", "--json").values[0]
    assert again["stored"] == 0
    told = waters("lake", "rejects", "--lake", "M", "--json", "--raw").values
    assert [(each["offset"], each["length"], each["raw"]) for each in told] == [(0, 5, "bm9pc2U=")]
    assert sorted(waters("ls", "--lake", "M", "--ids").lines) == sorted(record.id for record in RECORDS)
    (home / "worse.records").write_bytes(b"noise")
    assert waters("lake", "ingest", "worse.records", "--lake", "M", "--strict").code == 1
    assert waters("lake", "ingest", "nothing.records", "--lake", "M").code in (1, 7)
    odd = os.fsdecode(b"odd\xff.records")
    (home / odd).write_bytes(b"odd")
    assert waters("lake", "ingest", odd, "--lake", "M", "--report", "r.html").code == 0
    (home / "page").mkdir()
    (home / "odder.records").write_bytes(b"odder")
    early = waters("lake", "ingest", "odder.records", "--lake", "M", "--report", "page")
    assert (early.code, "page: Is a directory" in early.err) == (7, True)
    assert "nothing of this run was committed" in early.err
    # A report that cannot be written after the commit takes nothing back.
    replace = os.replace

    def refuse(source: os.PathLike[str] | str, place: os.PathLike[str] | str) -> None:
        if os.fspath(place).endswith("late.html"):
            raise OSError(ENOSPC, os.strerror(ENOSPC), os.fspath(place))
        replace(source, place)

    monkeypatch.setattr(os, "replace", refuse)
    late = waters("lake", "ingest", "odder.records", "--lake", "M", "--report", "late.html")
    assert (late.code, "this run was committed: version 4 holds it" in late.err) == (7, True)
    assert "nothing of this run" not in late.err


def test_a_report_that_cannot_be_written_is_told_before_anything_is_done(waters: Run) -> None:
    done = waters("lake", "ingest", "in.records", "--lake", "L", "--report", "nowhere/r.html")
    assert (done.code, "nothing of this run was committed" in done.err) == (7, True)
    assert len(waters("lake", "history", "--lake", "L", "--json").values) == 3


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ingest in this process."""
    monkeypatch.setattr("lace.cli.lake_ingest.start_spark", lambda call: None)


@pytest.mark.usefixtures("no_spark")
def test_what_is_passed_over_in_a_folder_is_counted_and_named(run: Run, home: Path) -> None:
    assert run("lake", "init", "M").code == 0
    lake_of(home / "in" / "lake", RECORDS[:5])
    for name in ("a.records", "_half.records", ".b.records"):
        (home / "in" / name).write_bytes(RECORDS[0].raw)
    for at in range(4):
        (home / "in" / f"{at}.txt").touch()
    done = run("lake", "ingest", "in", "--lake", "M")
    assert "stored 1 record " in done.out
    where = f"{home}/in"
    shown = f"{where}/0.txt, {where}/1.txt, {where}/2.txt … and 2 more"
    assert f"5 entries passed over: no *.records ({shown})" in done.err
    assert f"not whole yet ({where}/.b.records, {where}/_half.records)" in done.err
    (told,) = run("lake", "ingest", "in", "--lake", "M", "--json").values
    others = [".b.records", "0.txt", "1.txt", "2.txt", "3.txt", "_half.records", "lake"]
    assert sorted(told["passed_over"]) == [f"{where}/{name}" for name in others]


@pytest.mark.usefixtures("no_spark")
def test_programs_are_told_numbers_as_numbers_whatever_an_ingest_did(run: Run, home: Path) -> None:
    assert run("lake", "init", "M").code == 0
    (home / "in.records").write_bytes(b"noise" + b"".join(record.raw for record in RECORDS))
    (home / "none.records").write_bytes(b"")
    size = sum(len(record.raw) for record in RECORDS) + 5
    words = ("lake", "ingest", "in.records", "none.records", "--lake", "M", "--json")
    tries = [run(*words, *more).values[0] for more in (("--dry-run",), (), ())]
    shapes = [{name: type(value) for name, value in each.items()} for each in tries]
    assert shapes[0] == shapes[1] == shapes[2]
    counts = ("version", "committed", "sources", "skipped", "bytes", "records", "stored", "known", "rejected")
    assert [[each[name] for name in counts] for each in tries] == [
        [0, False, 2, 0, size, 120, 120, 0, 1],
        [1, True, 2, 0, size, 120, 120, 0, 1],
        [1, False, 2, 2, 0, 0, 0, 0, 0],
    ]
    assert (tries[1]["rejected_bytes"], sum(tries[1]["reasons"].values())) == (5, 1)
    assert tries[2]["rejected_before"] == 1
    assert tries[1]["report"]["title"] == "Ingest"


@pytest.mark.usefixtures("no_spark")
def test_strict_says_the_same_of_a_damaged_source_however_often_it_is_asked(run: Run, home: Path) -> None:
    assert run("lake", "init", "M").code == 0
    (home / "bad.records").write_bytes(b"noise" + RECORDS[0].raw)
    (home / "good.records").write_bytes(RECORDS[1].raw)
    asked = ("lake", "ingest", "bad.records", "good.records", "--lake", "M", "--strict")
    first, again = run(*asked), run(*asked)
    assert (first.code, again.code) == (1, 1)
    assert "2 sources of 2 had been ingested before; 1 part of them rejected" in again.out
    assert run("lake", "ingest", "good.records", "--lake", "M", "--strict").code == 0


@pytest.mark.spark
def test_a_folder_is_followed_until_it_is_empty(waters: Run, home: Path, spark: Any) -> None:
    assert waters("lake", "init", "M").code == 0
    (home / "inbox").mkdir()
    (home / "inbox" / "a.records").write_bytes(b"".join(record.raw for record in RECORDS[:50]))
    assert waters("lake", "ingest", "inbox", "--lake", "M", "--once", "--json").values[-1]["stored"] == 50
    (home / "inbox" / "b.records").write_bytes(b"".join(record.raw for record in RECORDS[40:]))
    assert waters("lake", "ingest", "inbox", "--lake", "M", "--once", "--json").values[-1]["stored"] == 70
    (home / "inbox" / "c.txt").touch()
    none = waters("lake", "ingest", "inbox", "--lake", "M", "--once", "--json").values[-1]
    assert (none["batches"], none["stored"], none["passed_over"]) == (0, 0, [f"{home}/inbox/c.txt"])
    assert waters("lake", "ingest", "inbox", "in.records", "--lake", "M", "--once").code == 2


@pytest.mark.spark
def test_rules_say_the_same_of_a_lake_and_of_a_store(waters: Run, home: Path, spark: Any) -> None:
    (home / "links.lacegram").write_text(LINKS)
    assert waters("init").code == 0
    assert waters("import", "in.records").code == 0
    of_store = waters("eval", "links.lacegram")
    of_lake = waters("eval", "links.lacegram", "--lake", "L")
    assert of_lake.out == of_store.out
    assert "Selected/1" in of_lake.err
    short = waters("eval", "links.lacegram", "--lake", "L", "--limit", "2", "--strategy", "loop")
    assert short.lines == of_store.lines[:2]
    assert "loop" in short.err
    assert "more" in short.err
    fact = of_store.lines[1]
    why = [waters("why", fact, "--rules", "links.lacegram", *where) for where in ((), ("--lake", "L"))]
    assert why[0].out == why[1].out != ""
    asked = ("eval", "links.lacegram", "--query", "Dull(G)", "--json")
    assert waters(*asked, "--lake", "L").values == waters(*asked).values == [{"G": "u"}]
    dull = next(record.id for record in RECORDS if getattr(record, "group", None) == "u")
    for where in ((), ("--lake", "L")):
        not_there = waters("whynot", f"Selected('{dull}')", "--rules", "links.lacegram", *where)
        assert (not_there.code, "Dull" in not_there.out) == (0, True)


@pytest.mark.net
def test_a_lake_without_its_extra_says_what_to_install(home: Path) -> None:
    script = (
        "import sys\n"
        "for name in ('pyarrow', 'pyspark', 'pandas'): sys.modules[name] = None\n"
        "from lace.cli import main\n"
        "sys.exit(main(['ls', '--lake', 'L', '--json']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert done.returncode == 8
    assert json.loads(done.stderr)["code"] == "spark/missing"
