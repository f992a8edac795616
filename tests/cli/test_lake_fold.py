"""A lake that is served, syncs and follows by the verbs, is killed, and is folded."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from random import Random
from threading import Timer
from typing import Any

import pytest

from lace.porcelain import FileRefused, Lace
from tests.cli.conftest import Run
from tests.cli.servers import SECONDS, answering, kept_open, start
from tests.porcelain.talking import OPEN, notes, stocked

pytest.importorskip("pyarrow", reason="the spark extra is not installed")

from lace.pipeline import LakePeer, count_waiting, open_lake
from tests.pipeline.lakes import lake_of


@pytest.fixture
def waters(run: Run, home: Path) -> Run:
    """A lake `L` of five records, and a policy in it that says what is exchanged."""
    lake_of(home / "L", notes("lake", 5))
    (home / "L" / "exchange.policy").write_text(OPEN)
    return run


def test_options_of_a_lake_that_cannot_be_are_refused_before_anybody_is_asked(waters: Run) -> None:
    far = "unix:/nowhere"
    assert waters("sync", far, "--max-resident", "5").code == 2
    assert waters("serve", far, "--inbox", "here").code == 2
    assert waters("follow", far, "--lake", "L", "--store", "here").code == 2
    for verb in ("sync", "follow", "serve"):
        large = waters(verb, far, "--lake", "L", "--max-resident", "5", "--json")
        assert (large.code, large.error["code"]) == (6, "lake/too-many-resident")
    assert waters("sync", far, "--lake", "none").code == 1
    # What is not reached changes nothing, and leaves nothing to fold.
    assert waters("sync", far, "--lake", "L").code == 9
    assert waters("lake", "fold", "--lake", "L").out == "nothing waits in the inbox; version 1\n"
    checked = waters("serve", "tcp:127.0.0.1:0", "--lake", "L", "--check", "--json")
    assert checked.values[0]["policy"] == "L/exchange.policy"


@pytest.mark.net
def test_a_lake_syncs_and_follows(waters: Run, home: Path) -> None:
    laptop = stocked(notes("laptop", 3))
    with answering(home / "socket", kept_open(laptop)) as address:
        done = waters("sync", address, "--lake", "L", "--report")
        assert done.code == 0, done.err
        assert "received: 3 records" in done.out
        assert "sent: 5 records" in done.out
        assert "folded 3 records into the tables; version 2" in done.err
        laptop.put_records(notes("later", 2))
        followed = waters("follow", address, "--lake", "L", "--settled", "--json")
        assert followed.code == 0, followed.err
        assert "folded 2 records into the tables; version 3" in followed.err
    assert len(waters("ls", "--lake", "L", "--ids").lines) == 10
    told = [(each["came"], each["left"]) for each in waters("history", "--lake", "L", "--json").values]
    assert told == [(2, 0), (3, 5)]
    # The lake has the version of then, so the reason is as it was.
    why = waters("why-sent", "//u//lake//lake/1", "--lake", "L", "--json")
    assert why.code == 0, why.err
    (sending,) = why.values[0]["sendings"]
    assert (sending["worth"], sending["words"]) == ("as it was", [])
    assert waters("why-sent", "//u//later//later/1", "--lake", "L").code == 1


def test_erasing_tells_what_waits_in_the_inbox(waters: Run, home: Path) -> None:
    (record,) = notes("came", 1)
    peer = LakePeer(open_lake(home / "L"))
    peer.put(record)
    peer.close()
    absent = waters("lake", "erase", record.id, "--lake", "L")
    assert (absent.code, absent.out) == (
        1,
        "no such record is in the tables, and nothing was changed; version 1\n",
    )
    assert "1 record in the inbox; `lace lake fold` puts them into the tables" in absent.err
    assert waters("lake", "erase", record.id, "--lake", "L", "--json").values[0]["waiting"] == 1
    assert waters("lake", "fold", "--lake", "L").code == 0
    (home / "L" / "inbox" / "inbox.sqlite").write_bytes(b"no inbox")
    erased = waters("lake", "erase", record.id, "--lake", "L", "--json")
    assert (erased.values[0]["erased"], erased.values[0]["waiting"]) == ([record.id], None)
    assert "what waits in the inbox cannot be told" in erased.err


def test_an_inbox_that_may_not_be_opened_keeps_nobody_from_erasing(
    waters: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise FileRefused(where="inbox.sqlite", reason="Permission denied")

    monkeypatch.setattr("lace.cli.lake_erase.count_inbox", refuse)
    erased = waters("lake", "erase", "//u//lake//lake/1", "--lake", "L", "--json")
    assert erased.code == 0, erased.err
    assert erased.values[0]["waiting"] is None
    assert "what waits in the inbox cannot be told: inbox.sqlite: Permission denied" in erased.err


def serve(home: Path) -> tuple[subprocess.Popen[str], str]:
    server = start("serve", "tcp:127.0.0.1:0", "--lake", home / "L", "--json", home=home)
    assert server.stdout is not None
    ready: Any = json.loads(server.stdout.readline())
    return server, ready["addresses"][0]


@pytest.mark.net
def test_a_serving_lake_that_is_killed_loses_nothing_and_has_nothing_twice(waters: Run, home: Path) -> None:
    policy = ("--store", "laptop", "--policy", "L/exchange.policy")
    with Lace.init(home / "laptop") as laptop:
        laptop.put_records(notes("laptop", 3))
    server, address = serve(home)
    try:
        assert waters("sync", address, *policy).code == 0
        busy = waters("lake", "fold", "--lake", "L", "--json")
        assert busy.error["code"] == "lake/inbox-taken"
    finally:
        server.kill()
        server.communicate(timeout=SECONDS)
    assert len(waters("ls", "--lake", "L", "--ids").lines) == 5
    assert "3 records in the inbox" in waters("lake", "history", "--lake", "L").err
    assert waters("lake", "fsck", "--lake", "L", "--json").values[0]["waiting"] == 3
    with Lace.open(home / "laptop") as laptop:
        laptop.put_records(notes("more", 2))
    server, address = serve(home)
    try:
        assert "received: 0 records" in waters("sync", address, *policy).out
        server.send_signal(signal.SIGHUP)
        assert server.stderr is not None
        while "renewed" not in (line := server.stderr.readline()):
            assert line, "the server has ended"
        assert (json.loads(line)["version"], json.loads(line)["folded"]) == (2, 5)
        with Lace.open(home / "laptop") as laptop:
            laptop.put_records(notes("last", 1))
        assert waters("sync", address, *policy).code == 0
    finally:
        server.send_signal(signal.SIGTERM)
        log = server.communicate(timeout=SECONDS)[1]
    assert server.returncode == 0
    assert "folded 1 record into the tables; version 3" in log
    assert waters("lake", "fold", "--lake", "L", "--json").values == [
        {"stored": 0, "known": 0, "refused": 0, "version": 3}
    ]
    assert len(waters("ls", "--lake", "L", "--ids").lines) == 11
    sound = waters("lake", "fsck", "--lake", "L", "--json").values[0]
    assert (sound["sound"], sound["waiting"], count_waiting(open_lake(home / "L"))) == (True, 0, 0)


def kill_while_serving(waters: Run, home: Path, seed: int, kills: int) -> int:
    """Kill a server at random moments of exchanges, then let them end; return how many were broken off."""
    dice = Random(seed)
    policy = ("--store", "laptop", "--policy", "L/exchange.policy")
    with Lace.init(home / "laptop") as laptop:
        laptop.put_records(notes("laptop", 50))
    broken = 0
    for number in range(kills + 1):
        with Lace.open(home / "laptop") as laptop:
            laptop.put_records(notes(f"more {number}", 150))
        server, address = serve(home)
        # It has no children: the process is its whole group.
        end = Timer(dice.uniform(0.02, 0.5) if number < kills else SECONDS, server.kill)
        end.start()
        try:
            broken += waters("sync", address, *policy).code != 0
            if number < kills:
                end.join()
        finally:
            end.cancel()
            server.terminate()
            server.communicate(timeout=SECONDS)
        assert waters("lake", "fsck", "--lake", "L", "--json").values[0]["sound"]
        if dice.random() < 0.5:
            assert waters("lake", "fold", "--lake", "L").code == 0
    assert server.returncode == 0
    ids = [waters("ls", *where, "--ids").lines for where in (("--lake", "L"), ("--store", "laptop"))]
    assert sorted(ids[0]) == sorted(ids[1])
    assert len(set(ids[0])) == len(ids[0]) == 5 + 50 + 150 * (kills + 1)
    assert waters("lake", "fsck", "--lake", "L", "--json").values[0]["waiting"] == 0
    return broken


@pytest.mark.net
def test_three_kills_of_a_serving_lake_lose_nothing_and_double_nothing(waters: Run, home: Path) -> None:
    kill_while_serving(waters, home, 1, 3)


@pytest.mark.net
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_thirty_kills_of_a_serving_lake_lose_nothing_and_double_nothing(
    waters: Run, home: Path, seed: int
) -> None:
    assert kill_while_serving(waters, home, 100 + seed, 10) > 0
