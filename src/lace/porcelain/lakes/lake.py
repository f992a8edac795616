"""A lake with a Spark session: what people do with it from Python and from notebooks.

    lake = SparkLake.open("waters")                      # a session of its own, or session=mine
    lake.ingest("shards/")
    lake.facts("Field").where("name = 'Group'").groupBy("value").count().show()
    answers = lake.evaluate("Selected(P) :- Have(P), Field(P,'Group',_,'u').")
    answers["Selected"].count(), answers.why(("Selected", "P.….H3"))

Rules of this file:
1. DataFrames come out and go in; nothing here collects one.
2. A session that was given is used as it is, and is never stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from lace.algebra import LIMITS, EvaluationLimits
from lace.datalog import Program, Proof, WhyNot, parse_program
from lace.errors import InputError
from lace.facts import Fact, Predicate
from lace.porcelain.arguments import WrongArgument
from lace.porcelain.lace import Lace
from lace.porcelain.place import FOLDER, store_file
from lace.porcelain.rules.workbench import Evaluated, Workbench

if TYPE_CHECKING:
    from lace.engines.spark import SparkReport, SparkResult
    from lace.pipeline import Frame, IngestProgress, IngestReport, Lake, Session

VIEW_PREFIX = "lace_"


class NoSuchTable(InputError):
    """A table or predicate that a lake does not have."""

    code = "lake/no-table"
    text = "a lake has no {what} {name!r}; it has {known}"


def lake_source(place: str | Path) -> str | Path:
    """Return what an ingest reads: of a folder with a lace in it the store, else what was given."""
    if not isinstance(place, str | Path):
        wanted = "paths, each an argument of its own: ingest('a.records', 'more/')"
        raise WrongArgument(name="sources", wanted=wanted, found=repr(place)[:80])
    return store_file(Path(place)) if (Path(place) / FOLDER).is_dir() else place


class FrameNotRead(InputError):
    """A frame whose name the rules know, with another number of columns than they read."""

    code = "lake/frame-not-read"
    text = (
        "the frame {name} has {columns} columns, and the rules read {read}: another number of columns is"
        " another predicate. Select the columns that the rules mean, in their order"
    )


class AmbiguousAnswers(InputError):
    """The name of several predicates that were derived."""

    code = "lake/ambiguous-answers"
    text = "the rules derive several predicates called {name}: ask for one of {known}"


class LakeAnswers(Mapping[str, "Frame"]):
    """What rules derived: a frame for each predicate, and the reasons.

    `answers["A"]` is the frame of A where one predicate has that name, `answers["A/1"]` always. The columns
    of a frame are called c0, c1, … in the order of the terms; `frame.toDF("record", "author")` renames them.
    """

    def __init__(self, bench: Workbench, evaluated: Evaluated) -> None:
        self._bench = bench
        self._evaluated = evaluated
        wanted = sorted(evaluated.compiled.wanted)
        self._exact = {str(predicate): predicate for predicate in wanted}
        self._alike: dict[str, list[Predicate]] = {}
        for predicate in wanted:
            self._alike.setdefault(predicate.name, []).append(predicate)

    @property
    def result(self) -> SparkResult:
        """The engine's own result."""
        return cast("SparkResult", self._evaluated.result)

    @property
    def report(self) -> SparkReport:
        """Which strategy each component took, with rounds, rows and seconds."""
        return self.result.report

    def __getitem__(self, name: str) -> Frame:
        alike = self._alike.get(name, ())
        if len(alike) > 1:
            raise AmbiguousAnswers(name=name, known=", ".join(map(str, alike)))
        if not alike and name not in self._exact:
            raise KeyError(f"{name}; there are answers for {', '.join(self._exact) or 'nothing'}")
        return self.result.frame(alike[0] if alike else self._exact[name])

    def __contains__(self, name: object) -> bool:
        return name in self._exact or name in self._alike

    def __iter__(self) -> Iterator[str]:
        for name, alike in self._alike.items():
            yield from [name] if len(alike) == 1 else map(str, alike)

    def __len__(self) -> int:
        return len(self._exact)

    def why(self, fact: Fact) -> Proof | None:
        """Return a proof of a fact, or None where it does not hold."""
        return self._bench.why(fact)

    def why_not(self, fact: Fact) -> WhyNot:
        """Say for each rule that could derive a fact what stops it."""
        return self._bench.why_not(fact)


class SparkLake:
    """A lake, and the session that works on it.

    A session that was given is its owner's, who stops it. One that `open` started stays for the next lake of
    this process and ends with it; `lake.session.stop()` ends it earlier, and every frame of it with it.
    """

    def __init__(self, lake: Lake, session: Session) -> None:
        self.lake = lake
        self.session = session

    @classmethod
    def open(
        cls,
        place: str | Path,
        *,
        session: Session | None = None,
        master: str | None = None,
        create: bool = False,
    ) -> SparkLake:
        """Open a lake, or make one; without a session, start Spark where `master` says, by default here."""
        from lace.pipeline import NotALake, create_lake, open_lake, register_format, ship_code, start_session

        try:
            lake = open_lake(place)
        except NotALake:
            if not create:
                raise
            lake = create_lake(place)
        if session is None:
            remote = master is not None and master.startswith("sc://")
            session = start_session(remote=master) if remote else start_session(master)
            ship_code(session)
            register_format(session)
        return cls(lake, session)

    def ingest(
        self,
        *sources: str | Path,
        progress: Callable[[IngestProgress], None] | None = None,
        dry_run: bool = False,
    ) -> IngestReport:
        """Validate the records of files, folders, stores and other lakes, and commit what is new."""
        from lace.pipeline import ingest

        found = map(lake_source, sources)
        return ingest(self.lake, found, self._running(), progress=progress, dry_run=dry_run)

    def table(self, name: str, *, version: int | None = None) -> Frame:
        """Return a table: records, fields, links, blobs, plexes, rejects, sources or forgotten."""
        from lace.pipeline import TABLES

        if name not in TABLES:
            raise NoSuchTable(what="table", name=name, known=", ".join(TABLES))
        return self.lake.snapshot(version).frame(self._running(), name)

    def facts(self, predicate: str, *, version: int | None = None) -> Frame:
        """Return the facts of a record predicate: Have, Field, RecordLink, BlobHash or PlexHash."""
        from lace.pipeline import fact_frames

        frames = {
            p.name: frame for p, frame in fact_frames(self.lake.snapshot(version), self._running()).items()
        }
        if predicate not in frames:
            raise NoSuchTable(what="facts of", name=predicate, known=", ".join(frames))
        return frames[predicate]

    def register_views(self, prefix: str = VIEW_PREFIX, *, version: int | None = None) -> list[str]:
        """Make every table a view for SQL, under its name behind a prefix; return the names."""
        from lace.pipeline import TABLES

        snapshot, session = self.lake.snapshot(version), self._running()
        for name in TABLES:
            snapshot.frame(session, name).createOrReplaceTempView(f"{prefix}{name}")
        return [f"{prefix}{name}" for name in TABLES]

    def workbench(
        self,
        *,
        version: int | None = None,
        strategy: str = "auto",
        frames: Mapping[str, Frame] | None = None,
        limits: EvaluationLimits = LIMITS,
    ) -> Workbench:
        """Return a workbench over one version: use rules, ask, ask why."""
        from lace.pipeline import LakeFacts

        snapshot = self.lake.snapshot(version)
        facts = LakeFacts(snapshot, self._running(), strategy=strategy, frames=frames)
        return Workbench(facts=facts, limits=limits)

    def evaluate(
        self,
        rules: str | Program,
        *,
        wanted: Iterable[Predicate] | None = None,
        version: int | None = None,
        strategy: str = "auto",
        frames: Mapping[str, Frame] | None = None,
        limits: EvaluationLimits = LIMITS,
    ) -> LakeAnswers:
        """Evaluate rules over the lake, and over more relations that are frames of text.

        A frame is the predicate of its name with as many terms as it has columns, which count by position.
        One that no rule names is not read; one that the rules name with other numbers of terms is refused.
        """
        program = parse_program(rules) if isinstance(rules, str) else rules
        bench = self.workbench(version=version, strategy=strategy, frames=frames, limits=limits)
        _check_read(frames or {}, program)
        bench.use(program)
        return LakeAnswers(bench, bench.evaluate(wanted))

    def _running(self) -> Session:
        from lace.pipeline import check_running

        check_running(self.session, self.lake.where)
        return self.session

    def lace(self, *, version: int | None = None) -> Lace:
        """Return the lake as a lace that is read: ls, get, export, without a job of Spark."""
        from lace.pipeline import LakeStore

        return Lace(LakeStore(self.lake, version))


def _check_read(frames: Mapping[str, Frame], program: Program) -> None:
    """Refuse frames that the rules name and do not read."""
    for name, frame in frames.items():
        columns = len(frame.columns)
        named = sorted(each for each in program.predicates if each.name == name)
        if named and Predicate(name, columns) not in named:
            raise FrameNotRead(name=name, columns=columns, read=", ".join(map(str, named)))
