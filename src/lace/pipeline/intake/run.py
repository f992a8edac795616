"""An ingest from its sources to its commit: what the driver does.

Rules of this file:
1. The driver sees splits, files and counts, never a record.
2. One commit an ingest. Before it nothing has happened, after it everything has; to run again is always safe,
   because a source that was ingested whole is known.
3. Who was overtaken looks at what the winner added and commits what is still new, on top of it.
4. Whatever ends an ingest, its staged files go with it, and so does what it wrote for a commit that did not
   come. Those of a killed process are vacuum's.
5. A dry run leaves the lake alone: it stages outside of it, wherever its tasks share a disk with the driver.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from lace.errors import LaceError
from lace.pipeline.intake.check import STAGED_FOLDER, Checked, CheckJob, check_split
from lace.pipeline.intake.outcome import IngestProgress, IngestReport, bytes_by_source, counts_by_source
from lace.pipeline.intake.sources import (
    FileSource,
    Given,
    IngestSource,
    count_rejected,
    read_earlier,
    resolve,
    source_name,
    stands,
    what_is_new,
)
from lace.pipeline.intake.splits import Reading, Split, choose_split_bytes, settle
from lace.pipeline.intake.write import (
    BUCKET_BYTES,
    REJECTS_TASK,
    SourceCounts,
    WriteJob,
    Written,
    amend_bucket,
    write_bucket,
)
from lace.pipeline.lake.erase import NO_IDENTITY
from lace.pipeline.lake.faults import Overtaken
from lace.pipeline.lake.folder import Folder, LocalFolder
from lace.pipeline.lake.lake import Lake
from lace.pipeline.lake.manifest import REMEMBERED, Change, DataFile
from lace.pipeline.lake.snapshot import Snapshot
from lace.pipeline.lake.work import clear
from lace.pipeline.lake.write import new_work, write_table
from lace.pipeline.progress import SparkWork, watch
from lace.pipeline.rows import batch_of_rows
from lace.pipeline.spark import shares_disk
from lace.pipeline.tasks import run_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_BUCKETS: Final = 4096
PACK_SPLITS: Final = 100
"""So many small files one task reads at most; they share one, because the list of sources travels to each."""
EVEN_BUCKETS: Final = 4
EVEN_BYTES: Final = 4 * 1024 * 1024
"""An ingest is written by at least `EVEN_BUCKETS` tasks from the size at which each has so many bytes."""


def ingest(
    lake: Lake,
    sources: Iterable[Given],
    session: SparkSession | None = None,
    *,
    progress: Callable[[IngestProgress], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    batch: str | None = None,
    stream: tuple[str, int] | None = None,
    dry_run: bool = False,
    split_bytes: int | None = None,
    operation: str = "ingest",
) -> IngestReport:
    """Validate the records of all sources and commit what is new to the lake.

    `batch` names the work: a batch that was committed is not committed again. A dry run reads, validates
    and counts, and commits nothing. Without a session everything is done in this process. `operation` is what
    the history calls it.
    """
    batch = batch or f"{operation}-{token_hex(8)}"
    work = _Ingest(lake, session, progress, cancel, batch, stream, dry_run, operation)
    return work.run(sources, split_bytes)


class _Ingest:
    """One ingest."""

    def __init__(
        self,
        lake: Lake,
        session: SparkSession | None,
        progress: Callable[[IngestProgress], None] | None,
        cancel: Callable[[], bool] | None,
        batch: str,
        stream: tuple[str, int] | None,
        dry_run: bool,
        operation: str,
    ) -> None:
        self._lake = lake
        self._session = session
        self._progress = progress
        self._cancel = cancel
        self._batch = batch
        self._stream = stream
        self._dry_run = dry_run
        self._operation = operation
        self._seconds: dict[str, float] = {}
        self._work = new_work()
        self._staged = f"{STAGED_FOLDER}/{self._work}"
        self._again = 0
        self._met: frozenset[str] = frozenset()
        self._passed_over: list[Path] = []
        self._rejected_before = 0
        self._tried: int | None = None
        """The version on which the last commit was to stand; None before there was one."""

    def run(self, given: Iterable[Given], split_bytes: int | None) -> IngestReport:
        """Do everything."""
        base = self._lake.snapshot()
        if base.has_batch(self._batch, self._stream):
            return IngestReport(self._lake.where, self._batch, base.version, committed=False)
        with self._staging() as folder:
            return self._run_on(base, folder, given, split_bytes)

    @contextmanager
    def _staging(self) -> Iterator[Folder]:
        """Lend the folder in which the passes meet."""
        if self._dry_run and (self._session is None or shares_disk(self._session)):
            with TemporaryDirectory(prefix="lace-dry-run-") as place:
                yield LocalFolder(place)
        else:
            yield self._lake.folder

    def _run_on(
        self, base: Snapshot, folder: Folder, given: Iterable[Given], split_bytes: int | None
    ) -> IngestReport:
        with self._stage("look"):
            everything = resolve(given, self._passed_over)
            earlier = read_earlier(base, everything)
            self._met = frozenset(earlier)
            self._rejected_before = count_rejected(base, everything)
            new = {
                number: fresh
                for number, source in enumerate(everything)
                if (fresh := what_is_new(source, earlier.get(source.name, ()))) is not None
            }
        if not new and self._stream is None:
            return self._report(base, base.version, len(everything), {}, (), ())
        seen = frozenset(number for number, source in new.items() if source.name in earlier)
        folder.make(STAGED_FOLDER)
        try:
            with self._stage("check"):
                total = sum(source.size for source in new.values())
                buckets = _count_buckets(total)
                known = base if seen else None
                job = CheckJob(folder, self._staged, new, buckets, seen, known, self._dry_run)
                checked = self._check(job, split_bytes or choose_split_bytes(total))
            version, committed, kept, written = self._write_and_commit(base, folder, new, checked, buckets)
        except BaseException:
            self._clear_written()
            raise
        finally:
            self._clear(folder)
        return self._report(committed, version, len(everything), kept, checked, written)

    def _check(self, job: CheckJob, split_bytes: int) -> list[Checked]:
        """Read everything, and again what was cut wrong, until all of it fits together."""
        splits = {number: source.splits(number, split_bytes) for number, source in job.sources.items()}
        wanted = [split for each in splits.values() for split in each]
        results: dict[Reading, Checked] = {}
        readings: dict[int, dict[int, list[Reading]]] = {number: {} for number in splits}
        first = True
        while wanted:
            packs = _pack(job.sources, wanted, split_bytes)
            done = self._run("check", partial(_check_each, partial(check_split, job)), packs)
            for result in chain.from_iterable(done):
                split = result.reading.split
                results[result.reading] = result
                readings[split.source].setdefault(split.stop, []).append(result.reading)
            self._again += 0 if first else len(wanted)
            first, wanted = False, []
            for number, source in job.sources.items():
                if isinstance(source, FileSource):
                    wanted += settle(splits[number], readings[number])[1]
        kept: list[Checked] = []
        for number, source in job.sources.items():
            if isinstance(source, FileSource):
                source.check_unchanged()
                fitting = settle(splits[number], readings[number])[0]
            else:
                fitting = [each for found in readings[number].values() for each in found]
            kept += [results[reading] for reading in fitting]
        return kept

    def _write_and_commit(
        self,
        base: Snapshot,
        folder: Folder,
        new: Mapping[int, IngestSource],
        checked: Sequence[Checked],
        buckets: int,
    ) -> tuple[int, Snapshot, Mapping[int, IngestSource], list[Written]]:
        tasks = list(range(buckets)) if any(each.run for each in checked) else []
        tasks += [REJECTS_TASK] if any(each.rejects for each in checked) else []
        not_whole = {each.reading.split.source for each in checked if not each.is_whole}
        written: list[Written] | None = None
        before = base
        while True:
            with self._stage("write"):
                job = self._write_job(base, folder, new, checked, buckets)
                if written is None:
                    written = self._run("write", partial(write_bucket, job), tasks)
                else:
                    done = [(task, each, before) for task, each in zip(tasks, written, strict=True)]
                    stale = [file for each in written for file in each.files]
                    written = self._run("write", partial(amend_bucket, job), done)
                    self._remove(set(stale) - {file for each in written for file in each.files})
            if self._dry_run:
                return base.version, base, new, written
            with self._stage("commit"):
                if self._progress is not None:
                    self._progress(IngestProgress("commit", 0, 1))
                change = self._change(job, new, checked, written, not_whole)
                self._tried = base.version
                try:
                    made = self._lake.commit(base, change)
                    if self._progress is not None:
                        self._progress(IngestProgress("commit", 1, 1))
                    return made.version, made, new, written
                except Overtaken as overtaken:
                    before, base = base, overtaken.winner
                    self._remove(file for file in change.added if file.table == "sources")
            # What another writer ingested whole in the meantime is not ingested a second time.
            earlier = read_earlier(base, list(new.values()))
            self._met |= earlier.keys()
            done_now = {n for n, each in new.items() if each.identity in earlier.get(each.name, ())}
            self._rejected_before += count_rejected(base, [new[number] for number in done_now])
            new = {number: source for number, source in new.items() if number not in done_now}
            # What was left out because it was in the lake may have been taken out of it.
            not_whole |= {n for n, each in new.items() if not stands(each, earlier.get(each.name, ()))}
            if not new and self._stream is None:
                self._remove(file for each in written for file in each.files)
                return base.version, base, new, []

    def _write_job(
        self,
        base: Snapshot,
        folder: Folder,
        new: Mapping[int, IngestSource],
        checked: Sequence[Checked],
        buckets: int,
    ) -> WriteJob:
        names = {number: source.name for number, source in new.items()}
        ours = [each for each in checked if each.reading.split.source in names]
        ordered = sorted(ours, key=lambda each: (names[each.reading.split.source], each.reading.began or 0))
        return WriteJob(
            folder,
            base,
            tuple(each.run for each in ours if each.run),
            buckets,
            tuple(each.rejects for each in ordered if each.rejects),
            names,
            self._batch,
            self._dry_run,
            self._work,
            self._met,
        )

    def _change(
        self,
        job: WriteJob,
        new: Mapping[int, IngestSource],
        checked: Sequence[Checked],
        written: Sequence[Written],
        not_whole: Collection[int],
    ) -> Change:
        counts = counts_by_source(written)
        records: Counter[int] = Counter()
        rejected: Counter[int] = Counter()
        for each in checked:
            records[each.reading.split.source] += each.records
            rejected[each.reading.split.source] += sum(each.parts.values())
        rows = []
        sizes = bytes_by_source(new, checked)
        for number, source in sorted(new.items(), key=lambda each: each[1].name):
            of = counts.get(number, SourceCounts(0, 0, 0))
            seen = (records[number], of.known, of.refused, rejected[number])
            identity = NO_IDENTITY if number in not_whole else source.identity
            rows.append((source.name, identity, sizes[number], *seen, self._batch))
        sources = [batch_of_rows("sources", rows)] if rows else []
        listed = write_table(job.folder, "sources", sources, self._work)
        files = [file for each in written for file in each.files]
        report = self._report(job.base, 0, 0, new, checked, written)
        return Change(
            self._operation,
            self._batch,
            added=(*files, *([listed] if listed is not None else [])),
            stream=self._stream,
            counts={
                name: getattr(report, name)
                for name in ("records", "stored", "known", "refused", "rejected", "facts", "bytes")
            },
        )

    def _report(
        self,
        base: Snapshot,
        version: int,
        sources: int,
        new: Mapping[int, IngestSource],
        checked: Sequence[Checked],
        written: Sequence[Written],
    ) -> IngestReport:
        ours = [each for each in checked if each.reading.split.source in new]
        counts = counts_by_source(written).values()
        reasons: Counter[str] = Counter()
        for each in ours:
            reasons.update(each.parts)
        return IngestReport(
            lake=self._lake.where,
            batch=self._batch,
            version=version,
            committed=base.has_batch(self._batch, self._stream),
            sources=sources,
            skipped=sources - len(new),
            passed_over=tuple(source_name(each) for each in self._passed_over),
            bytes=sum(bytes_by_source(new, ours).values()),
            records=sum(each.records for each in ours),
            stored=sum(each.stored for each in counts),
            known=sum(each.known for each in counts),
            refused=sum(each.refused for each in counts),
            rejected=sum(reasons.values()),
            rejected_bytes=sum(each.rejected_bytes for each in ours),
            rejected_before=self._rejected_before,
            reasons=dict(sorted(reasons.items())),
            facts=sum(each.facts for each in written),
            files=sum(len(each.files) for each in written),
            splits=len(ours),
            read_again=self._again,
            seconds=dict(self._seconds),
        )

    def _run(self, stage: str, work: Callable[[Any], Any], things: Sequence[Any]) -> list[Any]:
        tell = self._progress
        watching: Any = nullcontext()
        if tell is not None:
            tell(IngestProgress(stage, 0, len(things)))

            def moved(seen: SparkWork) -> None:
                tell(IngestProgress(stage, min(seen.tasks_done, len(things)), len(things)))

            if self._session is not None:
                watching = watch(self._session, moved)
        with watching:
            results = run_tasks(self._session, work, things, what="the ingest", cancel=self._cancel)
        if tell is not None:
            tell(IngestProgress(stage, len(things), len(things)))
        return results

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        start = time.monotonic()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.monotonic() - start

    def _remove(self, files: Iterable[DataFile]) -> None:
        """Take away files that were written and will never be committed."""
        with suppress(LaceError):
            for file in files:
                self._lake.folder.remove(file.path)

    def _clear_written(self) -> None:
        """Take away what was written; a commit that failed in the middle may have happened."""
        with suppress(LaceError):
            now = self._lake.snapshot()
            # Where more was committed since than a version remembers, it cannot tell that ours was not.
            told = self._tried is None or now.version <= self._tried + REMEMBERED
            if told and not self._dry_run and not now.has_batch(self._batch, self._stream):
                clear(self._lake.folder, self._work)

    def _clear(self, folder: Folder) -> None:
        with suppress(LaceError):
            for entry in folder.list(STAGED_FOLDER):
                if entry.path.startswith(self._staged):
                    folder.remove(entry.path)


def _pack(sources: Mapping[int, IngestSource], splits: Iterable[Split], most: int) -> list[list[Split]]:
    """Put short splits of files together: a task costs more than a small file does."""
    packs: list[list[Split]] = []
    room = 0
    for split in splits:
        # Splits of stores and lakes count records and files, and are cut to size.
        size = split.stop - split.start if isinstance(sources[split.source], FileSource) else most
        if not packs or size > room or len(packs[-1]) == PACK_SPLITS:
            packs.append([])
            room = most
        packs[-1].append(split)
        room -= size
    return packs


def _check_each(check: Callable[[Split], Checked], splits: Iterable[Split]) -> list[Checked]:
    return [check(split) for split in splits]


def _count_buckets(total: int) -> int:
    """Return into how many ranges so many bytes are cut; more than one as soon as two cores are worth it."""
    least = EVEN_BUCKETS if total >= EVEN_BUCKETS * EVEN_BYTES else 1
    return max(least, min(MAX_BUCKETS, -(-total // BUCKET_BYTES)))
