"""A Lace: one store of records, and what people do with it.

Rules of this file:
1. Whatever names a record may be an id, the beginning of one, or `//group//app//name` for the newest there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace as changed
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Literal, NoReturn, Self, TypedDict, Unpack, overload

from lace.errors import Corrupt, InputError, RecordError
from lace.facts import Fact, facts_of_record
from lace.porcelain.arguments import (
    check_choice,
    check_limit,
    check_options,
    check_records,
    check_reference,
    check_sources,
    check_store,
    check_target,
    check_text,
    check_view,
    read_conditions,
)
from lace.porcelain.clock import now_tai
from lace.porcelain.exchanging import Exchanging
from lace.porcelain.files import check_path
from lace.porcelain.formats import TABLE_FORMATS
from lace.porcelain.making import Details, make_record
from lace.porcelain.place import history_file, imports_folder, make_place, store_file
from lace.porcelain.reference import ShortId, choose, parse_reference
from lace.porcelain.streams.export import ExportReport, Target, record_pieces, write_pieces
from lace.porcelain.streams.journal import Journal
from lace.porcelain.streams.rejects import RejectFile
from lace.porcelain.streams.transfer import BATCH_RECORDS, Importer, ImportProgress, ImportReport
from lace.porcelain.table import (
    ALL_COLUMNS,
    COLUMNS,
    Condition,
    Row,
    TableView,
    all_columns,
    table_rows,
    type_condition,
)
from lace.porcelain.times import parse_time
from lace.record import Blob, Plex, Record, RecordLimits, Seal, parse_record
from lace.signing import Secret
from lace.stores import (
    MemoryStore,
    Progress,
    Rotten,
    SqliteStore,
    Statistics,
    Store,
    Stored,
    StoreRecordId,
    Verification,
    find_sources,
)
from lace.text import RecordId


class NoStoreFile(InputError):
    """A backup of records that lie in no store file."""

    code = "lace/no-file"
    text = (
        "{where} is no store file, and a backup copies one: export the records, or copy the files of a lake"
    )


class LaceStays(InputError):
    """A lace that was about to be pickled, as an argument of a process is."""

    code = "lace/stays"
    text = (
        "{where} is open here and is not pickled: hand over its path, and open it there with Lace.open(path)"
    )


class Choices(TypedDict, total=False):
    """Which rows of the table view to show, and in which order."""

    where: str | Iterable[str | Condition]
    types: str
    """Letters of B, P and S."""
    since: str
    """A time that people type."""
    until: str
    """The same; a record of that very time is not shown."""
    sort: str
    descending: bool
    limit: int


class Lace(Exchanging):
    """A store of records, with the verbs of the command line.

    >>> with Lace() as lace:  # in memory
    ...     made = lace.put(b"hello", group="u", app="notes", name="first")
    ...     lace.get("//u//notes//first").id == made.id
    True
    """

    def __init__(
        self,
        store: Store | None = None,
        *,
        journal: Path | None = None,
        history: Path | None = None,
        read_only: bool = False,
        sends_only: bool = False,
    ) -> None:
        """Work with a store that is open already, or with a new one in memory.

        `journal` is the folder that remembers how far an interrupted import came, and `history` the file
        that exchanges are noted in; without one they are noted in memory. A lace that `sends_only` stores
        nothing of what it could get in an exchange, and asks for nothing.
        """
        check_store(store)
        super().__init__(
            MemoryStore() if store is None else store,
            history,
            read_only=read_only or bool(getattr(store, "read_only", False)),
            sends_only=sends_only,
        )
        self._journal = None if journal is None else Journal(journal.absolute())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._where}{' (closed)' if self._closed else ''}>"

    def __reduce__(self) -> NoReturn:
        raise LaceStays(where=self._where)

    @classmethod
    def init(cls, path: str | Path = ".", *, admit_inner: bool = False) -> Lace:
        """Make a new lace in a folder: its store lies in the folder `.lace` there."""
        file = make_place(check_path(Path(path)))
        store = SqliteStore(file, admit_inner=admit_inner)
        return cls(store, journal=imports_folder(file), history=history_file(file))

    @classmethod
    def open(
        cls,
        path: str | Path = ".",
        *,
        read_only: bool = False,
        admit_inner: bool = False,
        send_only: str | Path | None = None,
    ) -> Lace:
        """Open the lace of a folder, or a store file.

        `admit_inner` also stores the records inside a Plex or Seal in their own right. `send_only` names a
        file for notes of exchanges: the store is only read, and its exchanges send, and ask for nothing.
        """
        file = store_file(check_path(Path(path)))
        if send_only is not None:
            from lace.porcelain.exchanges.history import prepare_history

            notes = check_path(Path(send_only))
            lace = cls(
                SqliteStore(file, create=False, read_only=True),
                history=notes,
                read_only=True,
                sends_only=True,
            )
            try:
                prepare_history(notes)
            except BaseException:
                lace.close()
                raise
            return lace
        store = SqliteStore(file, create=False, read_only=read_only, admit_inner=admit_inner)
        journal = None if read_only else imports_folder(file)
        return cls(store, journal=journal, history=history_file(file), read_only=read_only)

    @classmethod
    def open_lake(
        cls, path: str | Path, *, version: int | None = None, inbox: str | Path | None = None
    ) -> Lace:
        """Open a lake for reading, as it is or as it was; nothing here starts Spark.

        `inbox` is the folder with its history, where that is not in the lake: see `JoinedLake`.
        """
        from lace.pipeline import LakeStore, open_lake
        from lace.porcelain.lakes.joined import lake_history_file

        lake = open_lake(path)
        return cls(LakeStore(lake, version), history=lake_history_file(lake, inbox), read_only=True)

    @overload
    def make(self, data: bytes) -> Blob: ...
    @overload
    def make(
        self, data: bytes, *, group: str, app: str, name: str, sign: Secret, **details: Unpack[Details]
    ) -> Seal: ...
    @overload
    def make(
        self, data: bytes, *, group: str, app: str, name: str, sign: None = None, **details: Unpack[Details]
    ) -> Plex: ...
    @overload
    def make(
        self, data: bytes, *, group: str, app: str, name: str, sign: Secret | None, **details: Unpack[Details]
    ) -> Plex | Seal: ...
    @overload
    def make(
        self,
        data: bytes,
        *,
        group: str | None,
        app: str | None,
        name: str | None,
        sign: Secret | None = None,
        **details: Unpack[Details],
    ) -> Record: ...
    def make(
        self,
        data: bytes,
        *,
        group: str | None = None,
        app: str | None = None,
        name: str | None = None,
        sign: Secret | None = None,
        **details: Unpack[Details],
    ) -> Record:
        """Make a record without storing it: a Blob, with a place a Plex, signed a Seal."""
        return make_record(data, (group, app, name), sign, details, self.find)

    @overload
    def put(self, data: bytes) -> Blob: ...
    @overload
    def put(
        self, data: bytes, *, group: str, app: str, name: str, sign: Secret, **details: Unpack[Details]
    ) -> Seal: ...
    @overload
    def put(
        self, data: bytes, *, group: str, app: str, name: str, sign: None = None, **details: Unpack[Details]
    ) -> Plex: ...
    @overload
    def put(
        self, data: bytes, *, group: str, app: str, name: str, sign: Secret | None, **details: Unpack[Details]
    ) -> Plex | Seal: ...
    @overload
    def put(
        self,
        data: bytes,
        *,
        group: str | None,
        app: str | None,
        name: str | None,
        sign: Secret | None = None,
        **details: Unpack[Details],
    ) -> Record: ...
    def put(
        self,
        data: bytes,
        *,
        group: str | None = None,
        app: str | None = None,
        name: str | None = None,
        sign: Secret | None = None,
        **details: Unpack[Details],
    ) -> Record:
        """Make a record, store it and return it when it is durable."""
        record = make_record(data, (group, app, name), sign, details, self.find)
        self.store.put(record)
        return record

    def put_records(self, records: Iterable[Record]) -> list[Stored]:
        """Store records in one commit, all or none."""
        return self.store.put_many(check_records(records))

    def get(self, reference: str) -> Record:
        """Return a record, hashed again from its stored bytes."""
        return self.store.get(self.find(reference))

    def facts(self, reference: str) -> list[Fact]:
        """Return the facts of a record."""
        return facts_of_record(self.get(reference))

    def view(self, columns: Iterable[str] = COLUMNS, **choices: Unpack[Choices]) -> TableView:
        """Choose columns and rows of the table view; the column `*` stands for every field there is.

        Columns may also be one text with commas between them.
        """
        check_options(choices, Choices.__annotations__)
        now = now_tai()
        conditions = read_conditions(choices.get("where", ()), now)
        if types := choices.get("types"):
            check_text("types", types, "text: letters of B, P and S")
            conditions.append(type_condition(types))
        for sign, moment in ((">=", choices.get("since")), ("<", choices.get("until"))):
            if moment is not None:
                conditions.append(Condition("TAI", sign, parse_time(moment, now)))
        if isinstance(columns, str):
            columns = filter(None, map(str.strip, columns.split(",")))
        chosen = tuple(columns)
        if chosen == (ALL_COLUMNS,):
            chosen = all_columns(self.store.segments())
        sort, descending = choices.get("sort"), choices.get("descending", False)
        return TableView(chosen, tuple(conditions), sort, descending, check_limit(choices.get("limit")))

    def ls(self, columns: Iterable[str] = COLUMNS, **choices: Unpack[Choices]) -> Iterator[Row]:
        """Yield one row a record with these fields as columns, from fact columns alone."""
        return self.rows(self.view(columns, **choices))

    def rows(self, view: TableView) -> Iterator[Row]:
        """Yield the rows of a view."""
        return table_rows(self.store.segments(), view)

    def verify(self, *references: str, progress: Progress | None = None) -> Verification:
        """Hash and validate records again, signatures included.

        Without references it looks at everything, and takes rotten records out of the store.
        """
        if not references:
            return self.store.verify(progress)
        rotten = []
        for done, record_id in enumerate([self.find(each) for each in references], 1):
            try:
                raw = self.store.get(record_id).raw
                # It was let in under its reader's limits, which may have been wider than the usual ones.
                parse_record(raw, RecordLimits(len(raw), len(raw), len(raw)))
            except (Corrupt, RecordError) as error:
                rotten.append(Rotten(record_id, StoreRecordId(0), str(error)))
            if progress is not None:
                progress(done, len(references))
        return Verification(checked=len(references), rotten=tuple(rotten), taken=False)

    def import_records(
        self,
        *sources: str | Path | BinaryIO,
        rejects: str | Path | None = None,
        progress: Callable[[ImportProgress], None] | None = None,
        resume: bool = True,
        batch_records: int = BATCH_RECORDS,
    ) -> ImportReport:
        """Store the records of streams, files and folders of shards; set aside what is no record.

        An import of files that was interrupted goes on where it was when it is called again, unless
        `resume` is False, the options are others, or records were removed meanwhile. `rejects` is a file
        that bad parts are added to, none twice; it cannot be one of the sources.
        """
        check_sources(sources)
        found = find_sources(sources)
        journal = self._journal
        with nullcontext() if rejects is None else RejectFile(Path(rejects), found) as file:
            if journal is not None and not resume:
                journal.drop([source.identity for source in found if source.identity])
            return Importer(self.store, journal, file, progress, batch_records=batch_records).run(found)

    def export_records(
        self,
        target: str | Path | BinaryIO,
        *,
        view: TableView | None = None,
        shard_bytes: int | None = None,
        replace: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> ExportReport:
        """Write stored records, all or those of a view, as one stream or as a folder of shards."""
        check_view(view)
        rotten: list[RecordId] = []
        if view is None:
            ids = (record_id for _, record_id in self.store.ids())
        else:
            ids = (row.id for row in self.rows(changed(view, columns=())))
        pieces = record_pieces(self.store, ids, rotten)
        report = write_pieces(pieces, Target(_place(target), shard_bytes, replace), progress)
        return changed(report, rotten=tuple(rotten))

    def export_table(
        self,
        target: str | Path | BinaryIO,
        view: TableView | None = None,
        *,
        format: Literal["jsonl", "csv"] = "jsonl",
        shard_bytes: int | None = None,
        replace: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> ExportReport:
        """Write a table view as `jsonl` or `csv`, as one stream or as a folder of files."""
        check_choice("format", format, TABLE_FORMATS)
        check_view(view)
        shown = self.view() if view is None else view
        chosen = TABLE_FORMATS[format]
        head = chosen.head(shown.columns)
        goal = Target(_place(target), shard_bytes, replace, chosen.suffix, f"lace-{format}/1", head)
        return write_pieces(chosen.lines(self.rows(shown), shown.columns), goal, progress)

    def backup(self, folder: str | Path, progress: Progress | None = None) -> Statistics:
        """Copy the records and the history to a new lace in a folder, while both are in use.

        Returns the copy in numbers. What was forgotten is so there too; keys, policies and server files are
        not copied.
        """
        from lace.porcelain.backup import back_up

        if not isinstance(self.store, SqliteStore):
            raise NoStoreFile(where=self._where)
        return back_up(self.store, self.kept, check_path(Path(folder)), progress)

    def rm(self, *references: str) -> list[RecordId]:
        """Take records and their facts away; they may come back later. Each must be here."""
        return self.store.remove([self._stored(each) for each in references])

    def forget(self, *references: str) -> list[RecordId]:
        """Take records away and keep them out, also ones never seen; return those that were here."""
        return self.store.forget([self.find(each) for each in references])

    def allow(self, *references: str) -> list[RecordId]:
        """Let forgotten records in again; return those that were forgotten."""
        return self.store.allow([self.find_forgotten(each) for each in references])

    def find_forgotten(self, reference: str) -> RecordId:
        """Return the id of the one forgotten record that text names."""
        check_reference(reference)
        parsed = parse_reference(reference)
        if isinstance(parsed, ShortId):
            kept_out = self.store.forgotten()
            return choose(
                parsed, [each for each in kept_out if each.startswith(parsed) or each[2:].startswith(parsed)]
            )
        return self.find(reference)

    def forgotten(self) -> list[RecordId]:
        """Return what is kept out."""
        return self.store.forgotten()

    def stat(self) -> Statistics:
        """Return the store in numbers."""
        return self.store.stats()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _place(target: str | Path | BinaryIO) -> Path | BinaryIO:
    check_target(target)
    return Path(target) if isinstance(target, str) else target
