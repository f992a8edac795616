"""Spark starts in processes of their own, with whatever machine and master they find."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.pipeline.test_spark import run
from tests.sparkling import apart

APART = """
import os
from lace.pipeline import ship_code, start_session
from tests.pipeline.test_spark import told
session = start_session("local-cluster[1,1,1024]")
print(ship_code(session), ship_code(session), *told(session))
session.stop()
"""

CONNECTED = """
import sys
from lace.pipeline import create_lake, open_lake, ship_code, start_session
from tests.pipeline.lake.filling import fill
from tests.pipeline.test_spark import told
from tests.stores.samples import samples
from lace.pipeline.lake.fsck import fsck
session = start_session(remote="local[2]")
assert start_session() is session
lake = create_lake(sys.argv[1])
snapshot = fill(lake, samples(0, 20))
print(ship_code(session), type(session).__module__, *told(session))
print(snapshot.frame(session, "records").count(), snapshot.frame(session, "rejects").count())
print(fsck(lake, session).is_sound)
session.stop()
"""


@apart
def test_without_java_on_the_machine_executors_of_their_own_run_our_code_quietly(tmp_path: Path) -> None:
    for name in ("bash", "sh", "dirname", "ps", "env", "cat", "head", "ls"):
        found = shutil.which(name)
        if found:
            (tmp_path / name).symlink_to(found)
    done = run(APART, PATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    first, second, code, interpreter = done.stdout.split()
    assert (first, second, interpreter) == ("True", "True", sys.executable)
    assert ".zip/lace/record/" in code, "the code that was sent is the code that runs"
    assert done.stderr == ""


@apart
@pytest.mark.slow
def test_a_lake_is_read_over_connect(tmp_path: Path) -> None:
    # Only so does Spark choose a free port for the server.
    done = run(CONNECTED, str(tmp_path / "lake"), SPARK_TESTING="1")
    assert done.returncode == 0, done.stderr
    about, counts, sound = done.stdout.splitlines()
    assert about.split()[:2] == ["True", "pyspark.sql.connect.session"]
    assert (counts, sound) == ("20 0", "True")


STOPPED = """
import sys
from operator import attrgetter
from lace.pipeline import SessionStopped, start_session
from lace.porcelain import SparkLake
place, how, *stops = sys.argv[1:]
for stop in stops:
    lake = SparkLake.open(place, create=stop == stops[0], session=start_session(**{how: "local[2]"}))
    attrgetter(stop)(lake.session)()
    uses = [
        lambda: lake.ingest(place), lambda: lake.table("records"), lambda: lake.facts("Have"),
        lake.register_views, lambda: lake.evaluate("A(P) :- Have(P)."),
    ]
    for use in uses:
        try: use()
        except SessionStopped as error: print(error)
"""


@apart
@pytest.mark.parametrize(
    ("how", "stops"),
    [
        ("master", ["stop", "sparkContext._jsc.stop"]),  # the second one is what a cluster may do
        pytest.param("remote", ["stop"], marks=pytest.mark.slow),
    ],
)
def test_a_session_that_was_stopped_is_told_whatever_a_lake_is_asked_for(
    tmp_path: Path, how: str, stops: list[str]
) -> None:
    done = run(STOPPED, str(tmp_path / "lake"), how, *stops, SPARK_TESTING="1")
    told = "was stopped, and does nothing any more: open the lake again"
    wanted = f"the Spark session of {tmp_path / 'lake'} {told}"
    assert done.stdout.splitlines() == 5 * len(stops) * [wanted], done.stderr


@apart
def test_a_master_that_spark_does_not_know_is_told() -> None:
    program = (
        "from lace.pipeline import start_session, CannotStart\n"
        "try: start_session('nonsense')\n"
        "except CannotStart as error: print(error)\n"
    )
    done = run(program)
    assert done.stdout.startswith("Spark did not start with nonsense: "), done.stderr
