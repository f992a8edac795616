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
from lace.porcelain.lace import Lace
from lace.porcelain.place import FOLDER, store_file
from lace.porcelain.workbench import Evaluated, Workbench

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
    return store_file(Path(place)) if (Path(place) / FOLDER).is_dir() else place


class LakeAnswers(Mapping[str, "Frame"]):
    """What rules derived: a frame for each predicate, by name, and the reasons."""

    def __init__(self, bench: Workbench, evaluated: Evaluated) -> None:
        self._bench = bench
        self._evaluated = evaluated
        self._names = {predicate.name: predicate for predicate in sorted(evaluated.compiled.wanted)}

    @property
    def result(self) -> SparkResult:
        """The engine's own result."""
        return cast("SparkResult", self._evaluated.result)

    @property
    def report(self) -> SparkReport:
        """Which strategy each component took, with rounds, rows and seconds."""
        return self.result.report

    def __getitem__(self, name: str) -> Frame:
        return self.result.frame(self._names[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def why(self, fact: Fact) -> Proof | None:
        """Return a proof of a fact, or None where it does not hold."""
        return self._bench.why(fact)

    def why_not(self, fact: Fact) -> WhyNot:
        """Say for each rule that could derive a fact what stops it."""
        return self._bench.why_not(fact)


class SparkLake:
    """A lake, and the session that works on it."""

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
        return ingest(self.lake, found, self.session, progress=progress, dry_run=dry_run)

    def table(self, name: str, *, version: int | None = None) -> Frame:
        """Return a table: records, fields, links, blobs, plexes, rejects, sources or forgotten."""
        from lace.pipeline import TABLES

        if name not in TABLES:
            raise NoSuchTable(what="table", name=name, known=", ".join(TABLES))
        return self.lake.snapshot(version).frame(self.session, name)

    def facts(self, predicate: str, *, version: int | None = None) -> Frame:
        """Return the facts of a record predicate: Have, Field, RecordLink, BlobHash or PlexHash."""
        from lace.pipeline import fact_frames

        frames = {
            p.name: frame for p, frame in fact_frames(self.lake.snapshot(version), self.session).items()
        }
        if predicate not in frames:
            raise NoSuchTable(what="facts of", name=predicate, known=", ".join(frames))
        return frames[predicate]

    def register_views(self, prefix: str = VIEW_PREFIX, *, version: int | None = None) -> list[str]:
        """Make every table a view for SQL, under its name behind a prefix; return the names."""
        from lace.pipeline import TABLES

        snapshot = self.lake.snapshot(version)
        for name in TABLES:
            snapshot.frame(self.session, name).createOrReplaceTempView(f"{prefix}{name}")
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

        facts = LakeFacts(self.lake.snapshot(version), self.session, strategy=strategy, frames=frames)
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
        """Evaluate rules over the lake, and over more relations that are frames of text."""
        bench = self.workbench(version=version, strategy=strategy, frames=frames, limits=limits)
        bench.use(parse_program(rules) if isinstance(rules, str) else rules)
        return LakeAnswers(bench, bench.evaluate(wanted))

    def lace(self, *, version: int | None = None) -> Lace:
        """Return the lake as a lace that is read: ls, get, export, without a job of Spark."""
        from lace.pipeline import LakeStore

        return Lace(LakeStore(self.lake, version))
