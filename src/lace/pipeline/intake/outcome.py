"""How far an ingest is, and what came of it: for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from lace.pipeline.intake.check import Checked
from lace.pipeline.intake.sources import IngestSource, StoreSource
from lace.pipeline.intake.write import SourceCounts, Written
from lace.pipeline.report import RunReport, StageTime


class IngestProgress(NamedTuple):
    """How far an ingest is."""

    stage: str
    """"look", "check", "write" or "commit"."""
    done: int
    """Tasks of the stage that are done."""
    total: int


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did."""

    lake: str
    batch: str
    version: int
    """The version that holds it; the present one where nothing was committed."""
    committed: bool
    sources: int = 0
    skipped: int = 0
    """Sources that had been ingested before."""
    passed_over: tuple[str, ...] = ()
    """What lies in the folders that were named and is no source."""
    bytes: int = 0
    records: int = 0
    """Valid records that were read."""
    stored: int = 0
    known: int = 0
    refused: int = 0
    """Records that the lake has forgotten."""
    rejected: int = 0
    """Rejected parts; a long one is one part."""
    rejected_bytes: int = 0
    rejected_before: int = 0
    """Parts of these sources that an earlier ingest rejected, and that are not read again."""
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Rejected parts by error code."""
    facts: int = 0
    files: int = 0
    splits: int = 0
    read_again: int = 0
    """Splits whose start was guessed wrong."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """By stage."""

    def to_json(self) -> dict[str, Any]:
        """Return it as a program reads it."""
        return {
            **asdict(self),
            "passed_over": list(self.passed_over),
            "reasons": dict(self.reasons),
            "seconds": dict(self.seconds),
        }

    def to_report(self, sources: Iterable[str] = ()) -> RunReport:
        """Return what people are told."""
        numbers = {
            "records read": self.records,
            "stored": self.stored,
            "known already": self.known,
            "refused": self.refused,
            "rejected parts": self.rejected,
            "facts": self.facts,
        }
        rows = {"check": self.records, "write": self.stored}
        state = "committed" if self.committed else "nothing committed"
        return RunReport(
            "Ingest",
            about={
                "lake": self.lake,
                "version": f"{self.version} ({state})",
                "sources": ", ".join(sources) or f"{self.sources:,}",
                "bytes": f"{self.bytes:,}",
                "skipped": f"{self.skipped:,} of {self.sources:,} sources had been ingested before",
            },
            numbers=numbers,
            reasons=self.reasons,
            stages=tuple(StageTime(name, spent, rows.get(name)) for name, spent in self.seconds.items()),
        )


def bytes_by_source(new: Mapping[int, IngestSource], checked: Iterable[Checked]) -> dict[int, int]:
    """Return how many bytes were read of each source; of a store, those of its records, not of its file."""
    sizes = {number: 0 if isinstance(each, StoreSource) else each.size for number, each in new.items()}
    for each in checked:
        number = each.reading.split.source
        if isinstance(new.get(number), StoreSource):
            sizes[number] += each.record_bytes + each.rejected_bytes
    return sizes


def counts_by_source(written: Iterable[Written]) -> dict[int, SourceCounts]:
    """Return what became of the records of each source, over all tasks of the second pass."""
    total: dict[int, SourceCounts] = {}
    for each in written:
        for source, counts in each.counts.items():
            before = total.get(source, SourceCounts(0, 0, 0))
            total[source] = SourceCounts(*(a + b for a, b in zip(before, counts, strict=True)))
    return total
