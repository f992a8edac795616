"""The one place that starts Spark.

Rules of this file:
1. A session that was running before is its owner's: it is returned as it is, not stopped, not reconfigured.
2. DataFrame API only, no `sparkContext`: everything here and above it works over Spark Connect.
3. What a caller sets in `config` wins over our settings.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from lace.errors import EngineError
from lace.pipeline.java import find_java, write_java_home
from lace.text import digest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL: Final = "local[*]"
CONNECT_PORT: Final = 15002
KNOCK_SECONDS: Final = 5.0
"""How long a master may take to accept a connection; Spark itself would try for a minute or more."""

SETTINGS: Final = {
    # The distributed loop: re-planning each small round costs more than it saves, and inferred constraints
    # grow with every round until the planner fails with "key not found".
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # Else `format("lace")` is not told what is looked for.
    "spark.sql.python.filterPushdown.enabled": "true",
}
"""What every session of ours has; a Connect server lets us set these too."""

OWN_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""What a driver in this process has besides."""

LOCAL_SETTINGS: Final = {
    # Nothing of a local session needs to be reached from another machine.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    # Driver and executors share one Java here, and its own default is too little for both.
    "spark.driver.memory": "2g",
}

QUIET: Final = """\
rootLogger.level = error
rootLogger.appenderRef.screen.ref = screen
appender.screen.type = Console
appender.screen.name = screen
appender.screen.target = SYSTEM_ERR
appender.screen.layout.type = PatternLayout
appender.screen.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
logger.shell.name = org.apache.spark.api.python.PythonGatewayServer
logger.shell.level = error
logger.context.name = org.apache.spark.SparkContext
logger.context.level = off
logger.executor.name = org.apache.spark.executor
logger.executor.level = off
logger.scheduler.name = org.apache.spark.scheduler
logger.scheduler.level = off
"""
"""Log settings from the first line on: Spark's own level can be set only after its start has been noisy. A
start or task that fails reaches its caller as an error; its trace on the screen would only repeat it."""

_MASTERS: Final = ("local", "spark://", "k8s://", "yarn")
_HADOOP: Final = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")


class NoSpark(EngineError):
    """The Python package of Spark is not installed."""

    code = "spark/missing"
    text = "{missing} is not installed, and a lake needs it: pip install 'lace-py[spark]'"


class CannotStart(EngineError):
    """Spark did not start."""

    code = "spark/cannot-start"
    text = "Spark did not start with {where}: {reason}"


class MasterUnreachable(EngineError):
    """Nothing answers where the master should be."""

    code = "spark/unreachable"
    text = (
        "no Spark answers at {where} ({reason}); check the address and that it is running,"
        " or leave it out to run here"
    )


class OtherSession(EngineError):
    """Another session than the one asked for is running in this process."""

    code = "spark/other-session"
    text = (
        "this process already runs Spark with {running}, and {wanted} was asked for:"
        " use that session, or stop it first"
    )


class SessionStopped(EngineError):
    """A session that somebody stopped."""

    code = "spark/stopped"
    text = "the Spark session of {what} was stopped, and does nothing any more: open the lake again"


def start_session(
    master: str | None = None,
    remote: str | None = None,
    *,
    config: Mapping[str, str] | None = None,
    app: str = "lace",
) -> SparkSession:
    """Start Spark, or return the session that this process has already.

    Without master and remote it runs on the cores of this machine; under spark-submit and where
    SPARK_REMOTE is set, on what these name.
    """
    try:
        from pyspark.errors import PySparkRuntimeError
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise NoSpark(missing=error.name or "pyspark") from error
    if master is not None and remote is not None:
        raise CannotStart(where=f"{master} and {remote}", reason="give a master or a Connect URL, not both")
    if master is None and remote is None:
        remote = os.environ.get("SPARK_REMOTE")
    with suppress(PySparkRuntimeError):  # there is none
        return _same(SparkSession.active(), master or remote)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    where = remote or master or ("spark-submit" if submitted else LOCAL)
    _check_master(where)
    _knock(where)
    settings = dict(SETTINGS)
    builder = SparkSession.Builder().appName(app)
    if remote is not None:
        builder = builder.remote(remote)
    elif not submitted or master is not None:
        builder = builder.master(where)
    if where.startswith("local"):
        settings |= LOCAL_SETTINGS
        settings["spark.sql.shuffle.partitions"] = str(max(2, _cores(where)))
    starts_java = not where.startswith("sc://") and not submitted
    with _surroundings(starts_java=starts_java, once=is_local(where)) as folder:
        if folder is not None:
            settings |= OWN_SETTINGS
            settings["spark.sql.warehouse.dir"] = str(folder / "warehouse")
        settings |= config or {}
        if folder is not None:
            # The other options of Java, `extraJavaOptions`, belong to whoever runs this machine.
            options = settings.get("spark.driver.defaultJavaOptions", "")
            quiet = f"-Dlog4j2.configurationFile=file:{folder / 'log4j2.properties'}"
            settings["spark.driver.defaultJavaOptions"] = f"{quiet} {options}".strip()
        for name, value in settings.items():
            builder = builder.config(name, value)
        try:
            with warnings.catch_warnings(), uninterrupted():
                # A Connect server of our own gets all settings at its start, and is told them again in vain.
                warnings.filterwarnings("ignore", message="Failed to set", category=UserWarning)
                return builder.getOrCreate()
        except ImportError as error:
            raise NoSpark(missing=error.name or "a part of pyspark") from error
        except Exception as error:  # py4j, grpc and pyspark each have errors of their own
            raise CannotStart(where=where, reason=_first_line(error)) from error


def running_session() -> SparkSession:
    """Return the session that this process works with."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    assert running is not None, "whoever asks has started one"
    return running


def check_running(session: SparkSession, what: str) -> None:
    """Raise where a session was stopped: what Spark itself says of that differs from call to call."""
    if _is_stopped(session):
        raise SessionStopped(what=what)


def ship_code(session: SparkSession) -> bool:
    """Send this package to executors that do not share our disk; tell whether that was needed.

    The libraries that it imports (blake3, a binding of libsecp256k1, pyarrow, numpy) must be installed there.
    """
    if shares_disk(session):
        return False
    package = _packed_code()
    if package is None:
        return False
    session.addArtifacts(str(package), pyfile=True)
    return True


def shares_disk(session: SparkSession) -> bool:
    """Tell whether tasks run in processes of this machine that the driver's own folders are open to."""
    return not _is_connected(session) and is_local(session.conf.get("spark.master", LOCAL) or LOCAL)


@cache
def _packed_code() -> Path | None:
    """Write our package as a zip, named by its content; None where we were imported from one."""
    root = Path(__file__).parent.parent
    if not root.is_dir():
        return None
    files = {
        f"lace/{each.relative_to(root).as_posix()}": each.read_bytes() for each in sorted(root.rglob("*.py"))
    }
    named = digest(repr(files).encode()).hex()[:16]
    package = Path(_private_folder(), f"lace-{named}.zip")
    with ZipFile(package, "w", ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(ZipInfo(name), content)
    return package


def is_local(master: str) -> bool:
    """Tell whether a master runs tasks in the process of the driver.

    >>> [is_local(m) for m in ("local", "local[4]", "local[*,3]", "local-cluster[2,1,1024]", "yarn")]
    [True, True, True, False, False]
    """
    return master == "local" or master.startswith("local[")


def _cores(master: str) -> int:
    """Count the tasks that a local master runs at once.

    >>> _cores("local"), _cores("local[3]"), _cores("local[3,2]"), _cores("local-cluster[2,4,1024]")
    (1, 3, 3, 8)
    """
    name, _, inside = master.rstrip("]").partition("[")
    numbers = [
        int(each) if each.strip().isdigit() else os.cpu_count() or 1 for each in inside.split(",") if each
    ]
    if name == "local-cluster" and len(numbers) > 1:
        return numbers[0] * numbers[1]
    return numbers[0] if numbers else 1


def _same(running: SparkSession, wanted: str | None) -> SparkSession:
    now = running.conf.get("spark.master", None)
    # A Connect server has a master of its own; its address is not known any more.
    if wanted is not None and (not _is_connected(running) if wanted.startswith("sc://") else now != wanted):
        raise OtherSession(running=now or "Connect", wanted=wanted)
    return running


def _is_connected(session: SparkSession) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


def _is_stopped(session: SparkSession) -> bool:
    if _is_connected(session):
        return bool(session.is_stopped)  # type: ignore[attr-defined]
    context = session.sparkContext._jsc
    # A cluster may end what runs on it, and Python is not told.
    return context is None or bool(context.sc().isStopped())


def _check_master(where: str) -> None:
    """Refuse what Spark refuses before it can be asked why: it prints a trace and is gone."""
    if not where.startswith((*_MASTERS, "sc://", "spark-submit")):
        known = "local[N], spark://HOST:PORT, yarn, k8s://ADDRESS or sc://HOST:PORT"
        raise CannotStart(where=where, reason=f"there is no such master; name one as {known}")
    if where == "yarn" and not any(map(os.environ.get, _HADOOP)) and not _is_told_more():
        reason = f"set {' or '.join(_HADOOP)} to the folder that has the cluster's yarn-site.xml"
        raise CannotStart(where=where, reason=reason)


def _is_told_more() -> bool:
    """Tell whether Spark sets variables of its own before it starts, as where a cluster is installed."""
    from pyspark.find_spark_home import _find_spark_home

    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(_find_spark_home(), "conf")
    return os.path.isfile(os.path.join(folder, "spark-env.sh"))


def _knock(where: str) -> None:
    """Ask at the door of a master that has an address, because Spark asks for minutes before it gives up."""
    scheme, _, rest = where.partition("://")
    if scheme not in ("sc", "spark"):
        return
    reason = ""
    for place in rest.partition("/")[0].split(","):
        address = urlsplit(f"//{place}")
        try:
            port = address.port or (CONNECT_PORT if scheme == "sc" else 7077)
            with socket.create_connection((address.hostname or "", port), timeout=KNOCK_SECONDS):
                return
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
    raise MasterUnreachable(where=where, reason=reason)


@contextmanager
def _surroundings(*, starts_java: bool, once: bool) -> Iterator[Path | None]:
    """Let Spark find the interpreter and, where it starts one, a Java; yield a private folder for that.

    Where Java is started once, the folder goes at once: a process that is killed later leaves none behind.
    """
    # The default is whatever `python3` is on a path, which has another version or not our packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if not starts_java:
        yield None
        return
    java = find_java(os.environ)
    folder = _private_folder()
    (folder / "log4j2.properties").write_text(QUIET, encoding="utf-8")
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = str(write_java_home(java, folder / "java"))
    try:
        yield folder
    finally:
        if before is None:
            del os.environ["JAVA_HOME"]
        else:
            os.environ["JAVA_HOME"] = before
        if once:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Keep Ctrl-C until the block ends; a second one is not kept.

    Java that is interrupted between its start and its first answer stays behind without anybody to stop it,
    and complains to the screen.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    pressed = False

    def keep(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            signal.default_int_handler(number, frame)
        pressed = True

    signal.signal(signal.SIGINT, keep)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is keep:  # Spark sets one of its own
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if pressed:
        raise KeyboardInterrupt


def _private_folder() -> Path:
    """Make a folder for as long as this process runs: executors of local-cluster start Java at any time."""
    folder = Path(tempfile.mkdtemp(prefix="lace-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _first_line(error: Exception) -> str:
    """Return the first line of an error that says something, after that of who called whom."""
    lines = [line.strip(": ") for line in str(error).splitlines()]
    told = (line for line in lines if line and not line.startswith("An error occurred while calling"))
    return next(told, type(error).__name__)
