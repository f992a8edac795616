"""Spark starts in one place, quietly, with what it needs; a session of others is theirs."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lace.pipeline import CannotStart, MasterUnreachable, NoSpark, OtherSession, ship_code, start_session
from lace.pipeline.spark import SETTINGS, uninterrupted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]

DOOR = """
import sys
import lace.pipeline
print({"pyspark", "pyarrow", "pandas", "numpy", "py4j"} & set(sys.modules))
"""


def told(session: SparkSession) -> list[str]:
    """Ask a worker where its code and its interpreter are."""

    def ask(batches):  # type: ignore[no-untyped-def]
        import sys

        import pyarrow as pa

        import lace.record

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"told": [lace.record.__file__, sys.executable]})

    rows = session.range(0, 1, 1, 1).mapInArrow(ask, "told string").collect()
    return [row.told for row in rows]


def run(program: str, *given: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program of its own, in which Spark can be started anew."""
    dropped = ("JAVA_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    places = {name: value for name, value in os.environ.items() if name not in dropped}
    return subprocess.run(
        [sys.executable, "-c", program, *given],
        cwd=ROOT,
        env={**places, **environment},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


@pytest.mark.net
def test_the_door_loads_no_guest() -> None:
    done = run(DOOR)
    assert done.stdout == "set()\n", done.stderr


def test_the_door_gives_the_very_things_that_stand_behind_it() -> None:
    import importlib

    import lace.pipeline as door

    for name, room in door._ROOM_OF.items():
        assert getattr(door, name) is getattr(importlib.import_module(room), name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = door.nothing
    assert set(door.__all__) <= set(dir(door))


def test_without_pyspark_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.errors", None)
    with pytest.raises(NoSpark, match=r"pip install 'lace-py\[spark\]'"):
        start_session()


def test_without_pyarrow_the_door_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import lace.pipeline as door

    monkeypatch.delitem(vars(door), "open_lake", raising=False)
    monkeypatch.delitem(sys.modules, "lace.pipeline.lake.lake", raising=False)
    monkeypatch.delitem(sys.modules, "lace.pipeline.tables", raising=False)
    monkeypatch.setitem(sys.modules, "lace.pipeline.lake.folder", None)
    with pytest.raises(ModuleNotFoundError):
        _ = door.open_lake
    monkeypatch.delitem(sys.modules, "lace.pipeline.lake.folder")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(NoSpark, match="pyarrow is not installed"):
        _ = door.open_lake


@pytest.mark.net
@pytest.mark.parametrize("scheme", ["sc", "spark"])
def test_a_master_that_does_not_answer_is_told_at_once(scheme: str) -> None:
    pytest.importorskip("pyspark")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        where = f"{scheme}://127.0.0.1:{taken.getsockname()[1]}"
        program = (
            "from lace.pipeline import start_session, MasterUnreachable\n"
            "import sys\n"
            "try: start_session(**{sys.argv[1]: sys.argv[2]})\n"
            "except MasterUnreachable as error: print(error)\n"
        )
        done = run(program, "remote" if scheme == "sc" else "master", where)
    assert done.stdout.startswith(f"no Spark answers at {where} (Connection refused)"), done.stderr


def test_an_address_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from lace.pipeline.spark import _knock

    for where in ("sc://127.0.0.1:port", "spark://:0"):
        with pytest.raises(MasterUnreachable, match="check the address"):
            _knock(where)


def test_a_master_and_a_connect_address_are_too_much() -> None:
    pytest.importorskip("pyspark")
    with pytest.raises(CannotStart, match="not both"):
        start_session("local", "sc://localhost")


@pytest.mark.parametrize(
    ("master", "reason"),
    [
        ("mesos://there", "there is no such master; name one as local"),
        ("LOCAL[2]", "there is no such master"),
        ("yarn", "set HADOOP_CONF_DIR or YARN_CONF_DIR"),
    ],
)
def test_a_master_that_spark_would_refuse_with_a_trace_is_told(
    master: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyspark")
    from lace.pipeline.spark import _check_master

    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(CannotStart, match=re.escape(reason)):
        _check_master(master)
    monkeypatch.setenv("YARN_CONF_DIR", "/etc/hadoop")
    for fine in ("yarn", "local", "local[2]", "local-cluster[2,1,1024]", "k8s://there", "sc://there"):
        _check_master(fine)


def test_where_a_cluster_is_installed_spark_knows_its_settings_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyspark")
    from lace.pipeline.spark import _check_master

    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "spark-env.sh").write_text("export HADOOP_CONF_DIR=/etc/hadoop/conf\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    _check_master("yarn")


@pytest.mark.spark
def test_a_start_that_fails_says_why_and_nothing_else() -> None:
    program = (
        "from lace.pipeline import start_session, CannotStart\n"
        "try: start_session('local[x]')\n"
        "except CannotStart as error: print(error)\n"
    )
    done = run(program)
    assert done.stdout.endswith("Could not parse Master URL: 'local[x]'\n"), done.stdout
    assert "\tat " not in done.stderr


@pytest.mark.spark
def test_a_session_has_what_it_needs(spark: SparkSession) -> None:
    assert {name: spark.conf.get(name) for name in SETTINGS} == SETTINGS
    assert spark.conf.get("spark.ui.enabled") == "false"
    assert spark.conf.get("spark.driver.host") == "127.0.0.1"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert told(spark)[1] == sys.executable


@pytest.mark.spark
def test_a_session_that_is_there_is_used_as_it_is(spark: SparkSession) -> None:
    assert start_session() is spark
    assert start_session("local[2]", config={"spark.sql.shuffle.partitions": "7"}, app="other") is spark
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    with pytest.raises(OtherSession, match=r"already runs Spark with local\[2\], and yarn was asked for"):
        start_session("yarn")
    with pytest.raises(OtherSession):
        start_session(remote="sc://localhost")


@pytest.mark.spark
def test_workers_in_our_own_process_group_need_no_code_sent(spark: SparkSession) -> None:
    assert not ship_code(spark)


@pytest.mark.spark
def test_options_for_java_of_whoever_runs_the_machine_stand_beside_ours(spark: SparkSession) -> None:
    machine = spark.sparkContext._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()  # type: ignore[union-attr]
    told = list(machine.getInputArguments())
    assert "-XX:TieredStopAtLevel=1" in told  # tests/spark_conf
    assert any(option.startswith("-Dlog4j2.configurationFile=") for option in told)


def test_the_environment_is_as_it_was_after_the_start(spark: SparkSession) -> None:
    assert "lace-spark-" not in os.environ.get("JAVA_HOME", "")


def test_an_interrupt_waits_until_spark_has_started_and_a_second_one_does_not() -> None:
    done = []

    def start(presses: int) -> None:
        with uninterrupted():
            for _ in range(presses):
                signal.raise_signal(signal.SIGINT)
            done.append(presses)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        start(0)
        for presses in (1, 2):
            with pytest.raises(KeyboardInterrupt):
                start(presses)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == [0, 1]
