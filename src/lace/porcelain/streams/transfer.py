"""Streams of stored records into a store.

Rules of this file:
1. Every byte of a source is accounted for: in a record that is stored, known or refused, or in a rejected
   part. What is bad is set aside, and what follows it is imported.
2. A commit holds a thousand records or some megabytes. The journal moves on after each, always to the end of
   a record, where a fresh reader is as good as the one that was interrupted.
3. An import goes on only under the options that it began with, and only where nothing was removed since:
   otherwise it begins again, and what is stored already is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from lace.porcelain.streams.journal import Counts, Entry, Journal
from lace.porcelain.streams.readahead import is_worth_it, read_items, read_items_ahead
from lace.porcelain.streams.rejects import RejectFile
from lace.record import Accepted, Item, Record, Rejected
from lace.stores import Removed, Source, Store, Stored, file_faults

BATCH_RECORDS: Final = 1000
BATCH_BYTES: Final = 16 * 1024 * 1024
REJECTS_SHOWN: Final = 5


class ImportProgress(NamedTuple):
    """How far an import is, after a commit."""

    source: str
    done: int
    """Bytes dealt with, in all sources."""
    total: int | None
    """Bytes there are; None where a stream has no known length."""
    counts: Counts


@dataclass(slots=True)
class ImportReport:
    """What an import did, earlier interrupted runs of it included."""

    counts: Counts = field(default_factory=Counts)
    sources: int = 0
    resumed_bytes: int = 0
    """Bytes that an earlier, interrupted run had dealt with."""
    first_rejects: list[tuple[str, Rejected]] = field(default_factory=list)
    """The first few rejected parts of this run, with their sources."""


class Importer:
    """One import, from its first source to its last."""

    def __init__(
        self,
        store: Store,
        journal: Journal | None,
        rejects: RejectFile | None,
        progress: Callable[[ImportProgress], None] | None,
        *,
        batch_records: int = BATCH_RECORDS,
        read_ahead: bool = True,
    ) -> None:
        self._store = store
        self._journal = journal
        self._rejects = rejects
        self._progress = progress
        self._batch_records = batch_records
        self._read_ahead = read_ahead
        self._report = ImportReport()
        self._before = 0
        self._total: int | None = 0
        self._entry = Entry()
        self._batch: list[Record] = []
        self._batch_bytes = 0
        self._end = 0
        self._seen = 0
        """Where the last item that came in ends."""
        self._part: object = None

    def run(self, sources: Sequence[Source]) -> ImportReport:
        """Import everything; entries of the journal are dropped when all of it is done."""
        entries = self._read_entries(sources)
        sizes = [source.size for source in sources]
        self._total = None if None in sizes else sum(size for size in sizes if size)
        for source, entry in zip(sources, entries, strict=True):
            self._import(source, entry)
            self._report.sources += 1
            self._before += source.size or 0
        if self._journal is not None:
            self._journal.drop([source.identity for source in sources if source.identity])
        return self._report

    def _import(self, source: Source, entry: Entry) -> None:
        self._entry = entry
        self._end = self._seen = entry.offset
        self._report.resumed_bytes += entry.offset
        if not entry.finished:
            file = source.open()
            try:
                self._read(source, file)
            finally:
                if file is not source.stream:  # what was given open stays open
                    file.close()
            entry.finished = True
            self._commit(source)
        for name in Counts.__slots__:
            total = getattr(self._report.counts, name) + getattr(entry.counts, name)
            setattr(self._report.counts, name, total)

    def _read(self, source: Source, file: BinaryIO) -> None:
        where = source.path or Path(source.name)
        start = self._end
        if source.path is not None and self._read_ahead and is_worth_it(source.size, start):
            items = read_items_ahead(source.path, start)
        else:
            if start:
                with file_faults(where):
                    file.seek(start)
            items = read_items(file, start)
        with closing(items):
            while True:
                with file_faults(where):
                    found = next(items, None)
                if found is None:
                    break
                self._take(source, found)
        self._end = self._seen

    def _take(self, source: Source, items: list[Item]) -> None:
        batch = self._batch
        for item in items:
            if type(item) is Accepted:
                record = item.record
                batch.append(record)
                self._batch_bytes += record.size
                if len(batch) >= self._batch_records or self._batch_bytes >= BATCH_BYTES:
                    self._end = item.offset + record.size
                    self._commit(source)
            elif isinstance(item, Rejected):
                self._reject(source, item)
        if items:
            last = items[-1]
            size = last.record.size if isinstance(last, Accepted) else len(last.raw)
            self._seen = last.offset + size

    def _reject(self, source: Source, part: Rejected) -> None:
        counts = self._entry.counts
        if part.error is not self._part:  # a long part comes in several pieces with one reason
            self._part = part.error
            counts.rejected += 1
            if len(self._report.first_rejects) < REJECTS_SHOWN:
                self._report.first_rejects.append((source.name, part))
        counts.rejected_bytes += len(part.raw)
        if self._rejects is not None:
            self._rejects.add(source.name, part)

    def _commit(self, source: Source) -> None:
        """Store what has gathered; everything before `_end` is dealt with afterwards."""
        entry, counts = self._entry, self._entry.counts
        if self._batch:
            outcomes = self._store.put_many(self._batch, arriving=True)
            new = [outcome.new for outcome in outcomes if isinstance(outcome, Stored)]
            stored = sum(new)
            counts.stored += stored
            counts.known += len(new) - stored
            counts.refused += len(outcomes) - len(new)
            self._batch.clear()
            self._batch_bytes = 0
        entry.offset = self._end
        if self._rejects is not None:
            entry.rejects_bytes = self._rejects.flush()
        if self._journal is not None and source.identity is not None:
            self._journal.write(source.identity, self._store.version(), entry)
        if self._progress is not None:
            self._progress(ImportProgress(source.name, self._before + entry.offset, self._total, counts))

    def _read_entries(self, sources: Sequence[Source]) -> list[Entry]:
        """Return where each source goes on, from its start where no entry counts (rule 3)."""
        rejects = None if self._rejects is None else str(self._rejects.path.resolve())
        length = 0 if self._rejects is None else self._rejects.flush()
        inner: bool = getattr(self._store, "admit_inner", False)
        version = self._store.version()
        entries = [
            Entry() if self._journal is None or source.identity is None
            else self._journal.read(source.identity, version)
            for source in sources
        ]  # fmt: skip
        begun = [entry.last for entry in entries if entry != Entry()]
        log = self._store.log(min(begun)) if begun else ()
        removal = max((each.seq for each in log if isinstance(each, Removed)), default=0)
        return [
            entry
            if (entry.rejects_path, entry.admit_inner) == (rejects, inner)
            and entry.rejects_bytes <= length  # what it tells of may have been taken away
            and entry.last >= removal
            else Entry(rejects_path=rejects, admit_inner=inner)
            for entry in entries
        ]
