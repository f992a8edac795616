"""The benchmark of exchanges over sockets: its carriers carry, and its goals are judged as they say."""

from __future__ import annotations

from pathlib import Path
from shutil import which

import pytest

from bench.carriers import Git, Inserts, LaceServer, Missing, Rsync
from bench.harness import Spent
from bench.iltp import CASES, SCHEMES, Run, tables, told, verdicts
from lace.porcelain import generate

RECORDS = list(generate(7, 1100))


def made_up(rsync: bool) -> Run:
    run = Run(1000)
    for case in CASES:
        for scheme in SCHEMES:
            run.add(case, f"lace, {scheme}", Spent(1.0, 3.0), 10)
        if rsync:
            run.add(case, "rsync", Spent(1.0, 1.0), 100)
    run.add("copy", "plain inserts", Spent(1.0, 2.0), 0)
    if not rsync:
        run.missing["rsync"] = "rsync is not installed here"
    return run


def test_goals_compare_seconds_and_bytes() -> None:
    met = {(each.case, each.floor, each.what): (each.ratio, each.met) for each in verdicts(made_up(True))}
    assert met == {
        ("copy", "plain inserts", "time"): (1.5, True),
        ("copy", "rsync", "time"): (3.0, False),
        ("equal", "rsync", "time"): (3.0, False),
        ("equal", "rsync", "bytes"): (0.1, True),
    }


def test_whoever_is_missing_is_named_and_decides_nothing() -> None:
    run = made_up(False)
    assert all(each.met for each in verdicts(run))
    assert {each.ratio for each in verdicts(run) if each.floor == "rsync"} == {None}
    assert len(list(tables(run))) == 2
    assert told(run)["missing"] == {"rsync": "rsync is not installed here"}


@pytest.mark.net
def test_every_carrier_carries(tmp_path: Path) -> None:
    inserts = Inserts(tmp_path, RECORDS)
    assert inserts.target(tmp_path).copy().bytes == 0
    for kind in (Rsync, Git):
        if which(kind.name.split()[0]) is None:
            with pytest.raises(Missing):
                kind(tmp_path, RECORDS)
            continue
        carrier = kind(tmp_path, RECORDS)
        target = carrier.target(tmp_path)
        first = target.copy().bytes
        assert first > 0
        assert target.copy().bytes < first
        carrier.add(list(generate(7, 5, start=1100)))
        assert 0 < target.copy().bytes < first
    server = LaceServer("tcp", tmp_path, RECORDS)
    try:
        copied = server.target(tmp_path / "client")
        first = copied.copy().bytes
        assert copied.lace.stat().version.last == len(RECORDS)
        assert copied.copy().bytes < first
        copied.close()
        cpu, peak = server.usage()
        assert cpu > 0
        assert peak > 0
    finally:
        server.close()
