"""Files that keep arriving in a folder: the same ingest, once a micro-batch (Structured Streaming).

    LAKE/streams/NAME/hold.lock       held by the process that follows
    LAKE/streams/NAME/token.json      which stream this is, made once
    LAKE/streams/NAME/token-N.json    which it is since checkpoint and lake disagreed for the N-th time
    LAKE/streams/NAME/TOKEN/          Spark's checkpoint: the files of each batch

Rules of this file:
1. Spark's file source says which files are new, the lake's manifest which batches were committed. A batch
   that was committed is not ingested again, one that was not is, whenever the process was killed.
2. A checkpoint that does not fit the lake, because it was lost or because the lake went back to an older
   version, is another stream: its batches start anew, and what was ingested is known as such.
3. Spark lists files and never reads them; what is in them is read once, by the tasks of the ingest.
4. Spark passes over names that begin with `_` or `.`, as of files that are not whole yet. Every ingest does,
   and what is not taken is told. So is what Spark cannot see: Java leaves names out that it cannot spell.
   What Spark finds behind links to folders, which may lead in circles, is not taken, as by no ingest.
5. One process at a time follows a folder into a lake: of two with one checkpoint Spark lets one fail, in the
   middle of a batch, and that may be the one that has followed for weeks.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_hex
from threading import Event
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from lace.errors import EngineError, InputError, Unavailable
from lace.pipeline.hold import take_hold
from lace.pipeline.intake.outcome import IngestProgress, IngestReport
from lace.pipeline.intake.run import ingest
from lace.pipeline.intake.sources import CannotIngest, source_name
from lace.pipeline.lake.folder import LocalFolder, literal_path
from lace.pipeline.lake.lake import Lake
from lace.pipeline.progress import is_connect
from lace.pipeline.tasks import Cancelled, TasksFailed, first_reason
from lace.stores import SHARD_SUFFIX, look_into
from lace.text import digest, encode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STREAMS: Final = "streams"
HOLD_FILE: Final = "hold.lock"
BATCH_FILES: Final = 1000
"""Files in one micro-batch, so that what waited for long is committed bit by bit."""
ANY_AGE: Final = "36500d"
"""Else Spark passes over files a week older than the newest it has taken: what is moved in keeps its time."""
UNSEEN: Final = "Spark cannot read its name in this locale; without --once and --follow it can be"
LOOK_SECONDS: Final = 0.1
STOP_SECONDS: Final = 30.0
"""How long a batch that was cancelled waits for Spark to take note; it is asked to at the same moment."""
_TOKEN: Final = re.compile(r"token-([1-9][0-9]*)\.json")
_SCHEMA: Final = "path string, modificationTime timestamp, length long, content binary"


class NothingToFollow(InputError):
    """A place in which no files can arrive."""

    code = "ingest/nothing-to-follow"
    text = "{where} is no folder: name the folder in which files *{suffix} arrive"


class FollowedAlready(Unavailable):
    """A folder that another process follows into the same lake."""

    code = "ingest/followed"
    text = (
        "another process takes the files of {where} into {lake} already (--follow or --once), and nothing was"
        " done here: what is in the folder is its work. Wait for it, or stop it"
    )


class NotOverConnect(EngineError):
    """A stream whose batches would be handled in another process than this one."""

    code = "ingest/not-over-connect"
    text = "a folder cannot be followed over Spark Connect: run this where the driver is, or ingest anew"


class StoppedBatch(Exception):
    """Ends a batch that was cancelled, in the words that Spark takes for an interruption of its own.

    Spark tells a stream that was stopped from one that failed by this text (`StreamExecution.PROXY_ERROR`);
    anything else it prints as a fault, with the stacks of Python and Java.
    """

    def __init__(self) -> None:
        super().__init__(
            "py4j.protocol.Py4JJavaError: An error occurred while calling: java.lang.InterruptedException"
        )


@dataclass(slots=True)
class FollowReport:
    """What following a folder came to."""

    stream: str
    batches: int = 0
    """Micro-batches that were committed now."""
    gone: int = 0
    """Files that were listed and had disappeared when their batch came."""
    passed_over: tuple[str, ...] = ()
    """What lies in the folder and is not taken."""
    unseen: tuple[str, ...] = ()
    """Files that would be taken, but for names that Spark cannot read in this locale."""
    records: int = 0
    stored: int = 0
    known: int = 0
    refused: int = 0
    rejected: int = 0
    version: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return it as a program reads it."""
        return {**asdict(self), "passed_over": list(self.passed_over), "unseen": list(self.unseen)}

    def add(self, report: IngestReport) -> None:
        """Count one more batch."""
        self.version = report.version
        if report.committed:
            self.batches += 1
            for name in ("records", "stored", "known", "refused", "rejected"):
                setattr(self, name, getattr(self, name) + getattr(report, name))


def follow(
    lake: Lake,
    folder: str | Path,
    session: SparkSession,
    *,
    every: float | None = None,
    told: Callable[[IngestReport], None] | None = None,
    progress: Callable[[IngestProgress], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    batch_files: int = BATCH_FILES,
) -> FollowReport:
    """Ingest the files *.records of a folder, those there now and then stop, or all that come.

    `every` is the time between two looks at the folder, in seconds; without it everything that is there is
    ingested and that is all. `told` gets the report of each batch, `cancel` ends the following.
    """
    if not os.path.isdir(folder):
        raise NothingToFollow(where=str(folder), suffix=SHARD_SUFFIX)
    if is_connect(session):
        raise NotOverConnect()
    sees = _sees(session)
    if not sees(folder):
        raise CannotIngest(what=str(folder), reason=UNSEEN)
    with _held(lake, folder):
        stream, checkpoint = open_stream(lake, folder)
        work = _Follower(lake, Path(os.path.abspath(folder)), session, stream, told, progress, cancel)
        report = work.watch(_start(session, folder, checkpoint, work, every, batch_files))
    content = look_into(Path(folder))
    report.passed_over = tuple(map(source_name, content.passed_over))
    report.unseen = tuple(source_name(path) for path in content.files if not sees(path))
    return report


def _start(
    session: SparkSession,
    folder: str | Path,
    checkpoint: str,
    work: _Follower,
    every: float | None,
    batch_files: int,
) -> Any:
    """Let Spark look into the folder, and hand over what it finds."""
    files = (
        session.readStream.format("binaryFile")
        .schema(_SCHEMA)
        .option("pathGlobFilter", f"*{SHARD_SUFFIX}")
        .option("recursiveFileLookup", "true")
        .option("maxFilesPerTrigger", str(batch_files))
        .option("maxFileAge", ANY_AGE)
        .load(literal_path(Path(os.path.abspath(folder)).as_posix()))
        .select("path")  # the content of a file that is not asked for is not read
    )
    writer = files.writeStream.foreachBatch(work.take).option("checkpointLocation", checkpoint)
    writer = (
        writer.trigger(availableNow=True)
        if every is None
        else writer.trigger(processingTime=f"{every} seconds")
    )
    try:
        return writer.start()
    except Exception as error:
        raise TasksFailed(what="the stream", reason=first_reason(error)) from error


@contextmanager
def _held(lake: Lake, folder: str | Path) -> Iterator[None]:
    """Keep others from following the same folder into the same lake, where that is on a disk of a machine."""
    if not isinstance(lake.folder, LocalFolder):
        yield
        return
    place = _place(folder)
    lake.folder.make(place)
    held = take_hold(Path(lake.where, place, HOLD_FILE))
    if held is None:
        raise FollowedAlready(where=source_name(folder), lake=lake.where)
    with held:
        yield


def _place(folder: str | Path) -> str:
    return f"{STREAMS}/{encode(digest(source_name(folder).encode()))[:22]}"


def _sees(session: SparkSession) -> Callable[[str | Path], bool]:
    """Return what tells whether Spark finds a path under its name: Java has an encoding of its own."""
    encoding = session.sparkContext._jvm.System.getProperty("sun.jnu.encoding")  # type: ignore[union-attr]

    def sees(path: str | Path) -> bool:
        whole = os.path.abspath(path)
        try:
            return os.fsencode(whole).decode(encoding) == whole
        except (UnicodeDecodeError, LookupError):
            return False

    return sees


def open_stream(lake: Lake, folder: str | Path) -> tuple[str, str]:
    """Return the name of the stream from this folder into this lake, and where its checkpoint lies."""
    place = _place(folder)
    lake.folder.make(place)
    number = max((_token_number(entry.path) for entry in lake.folder.list(place)), default=0)
    stream = _take_token(lake, folder, place, number)
    if not _fits(lake, stream):
        stream = _take_token(lake, folder, place, number + 1)
    lake.folder.make(stream)
    return stream, lake.folder.address(stream)


def _take_token(lake: Lake, folder: str | Path, place: str, number: int) -> str:
    """Return the stream that a token names, which is made where there is none."""
    path = f"{place}/token-{number}.json" if number else f"{place}/token.json"
    about = {"folder": source_name(folder), "token": token_hex(8)}
    lake.folder.create(path, json.dumps(about).encode() + b"\n")
    return f"{place}/{json.loads(lake.folder.read(path) or b'')['token']}"


def _token_number(path: str) -> int:
    found = _TOKEN.fullmatch(path.rpartition("/")[2])
    return int(found[1]) if found else 0


def _fits(lake: Lake, stream: str) -> bool:
    """Tell whether a checkpoint and the lake's newest version can be two views of one stream.

    Spark writes down what a batch is, the lake commits it, Spark writes down that it is done: asked in the
    other order, each knows at least what the one before knew, also while somebody follows the folder.
    """
    done = _last_number(lake, f"{stream}/commits")
    committed = lake.snapshot().streams.get(stream, -1)
    if not done <= committed <= _last_number(lake, f"{stream}/offsets"):
        return False
    return committed < 0 or _last_number(lake, f"{stream}/sources/0") >= 0


def _last_number(lake: Lake, path: str) -> int:
    """Return the last entry of one of the logs in a checkpoint; -1 where there is none."""
    names = (entry.path.rpartition("/")[2].removesuffix(".compact") for entry in lake.folder.list(path))
    return max((int(name) for name in names if name.isdecimal()), default=-1)


class _Follower:
    """One stream while it runs."""

    def __init__(
        self,
        lake: Lake,
        folder: Path,
        session: SparkSession,
        stream: str,
        told: Callable[[IngestReport], None] | None,
        progress: Callable[[IngestProgress], None] | None,
        cancel: Callable[[], bool] | None,
    ) -> None:
        self._lake = lake
        self._folder = folder
        self._session = session
        self._told = told
        self._progress = progress
        self._cancel = cancel
        self._stopped = Event()
        self._query: Any = None
        self._fault: BaseException | None = None
        self._report = FollowReport(stream, version=lake.snapshot().version)

    def take(self, frame: DataFrame, number: int) -> None:
        """Ingest the files of one micro-batch."""
        try:
            found = [_local_path(row["path"]) for row in frame.collect()]
            listed = [path for path in found if not self._is_behind_link(path)]
            there = sorted(path for path in listed if os.path.exists(path))
            self._report.gone += len(listed) - len(there)
            report = ingest(
                self._lake,
                there,
                self._session,
                progress=self._progress,
                cancel=self._stopped.is_set,
                batch=f"{self._report.stream}/{number}",
                stream=(self._report.stream, number),
            )
        except Cancelled as error:
            self._fault = error
            self._wait_until_stopped()
            raise StoppedBatch() from None
        except BaseException as error:
            self._fault = error
            raise
        self._report.add(report)
        if self._told is not None:
            self._told(report)

    def _is_behind_link(self, path: str) -> bool:
        between = (each for each in Path(path).parents if self._folder in each.parents)
        return any(map(os.path.islink, between))

    def watch(self, query: Any) -> FollowReport:
        """Wait for the stream to end, or end it."""
        self._query = query
        try:
            while not query.awaitTermination(LOOK_SECONDS):
                if self._cancel is not None and self._cancel():
                    self._stop(query)
                    break
        except KeyboardInterrupt:
            self._stop(query)
            raise
        except Exception as error:
            if self._fault is not None:
                raise self._fault from None
            raise TasksFailed(what="the stream", reason=first_reason(error)) from error
        if self._fault is not None and not isinstance(self._fault, Cancelled):
            raise self._fault
        return self._report

    def _wait_until_stopped(self) -> None:
        """Let Spark know first that the stream ends: before that, every end of a batch is a failure to it."""
        deadline = time.monotonic() + STOP_SECONDS
        while self._query is not None and self._query.isActive and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)

    def _stop(self, query: Any) -> None:
        self._stopped.set()
        with suppress(Exception):  # it ends with the batch that we have just cancelled
            query.stop()
            query.awaitTermination()


def _local_path(listed: str) -> str:
    """Return the path of a file that Spark lists.

    >>> _local_path("file:/a b/c%d.records"), _local_path("file:///a/b")
    ('/a b/c%d.records', '/a/b')
    """
    parts = urlsplit(listed)
    return "/" + listed.removeprefix("file:").lstrip("/") if parts.scheme == "file" else listed
