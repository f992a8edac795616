"""What came of a convergence, for people, for programs and for the history of both lakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lace.errors import LaceError
from lace.interlace import Cause
from lace.pipeline.report import Chart, RunReport, StageTime

TOLD_PLACES = 20


@dataclass(frozen=True, slots=True)
class ConvergeSide:
    """What one side did: an `InterlaceResult` whose lists are counts."""

    where: str
    cause: Cause
    error: LaceError | None = None
    version: int | None = None
    """The version of a lake after it; None for a store."""
    advertised: int = 0
    """Records of its send set, in the last loop."""
    received: int = 0
    """Validated and stored."""
    rejections: Mapping[str, int] = field(default_factory=dict)
    """What came and was not kept, by error code."""
    not_available: int = 0
    """Asked for, and the other side could no longer send it."""
    deferred: int = 0
    """Asked for last, and left for later."""
    sent: int = 0
    held_back: int = 0
    bytes_received: int = 0
    bytes_sent: int = 0

    @property
    def rejected(self) -> int:
        """All that came and was not kept."""
        return sum(self.rejections.values())

    def to_json(self) -> dict[str, Any]:
        """Return it as a program reads it."""
        return {
            "where": self.where,
            "cause": self.cause.value,
            "error": None if self.error is None else self.error.to_json(),
            "version": self.version,
            "advertised": self.advertised,
            "received": self.received,
            "rejected": dict(self.rejections),
            "not_available": self.not_available,
            "deferred": self.deferred,
            "sent": self.sent,
            "held_back": self.held_back,
            "bytes_received": self.bytes_received,
            "bytes_sent": self.bytes_sent,
        }


class LoopRun(NamedTuple):
    """One loop."""

    number: int
    compared: int
    """Partitions in which something differed, of both directions."""
    skipped: int
    """Partitions that were equal."""
    hashed: int
    """Advertisement records that were hashed."""
    asked: tuple[int, int]
    """By the side that asked."""
    received: tuple[int, int]


@dataclass(frozen=True, slots=True)
class ConvergeReport:
    """What two sides did."""

    exchange: str
    plan: str | None
    began: str
    """TAI."""
    sides: tuple[ConvergeSide, ConvergeSide]
    loops: tuple[LoopRun, ...] = ()
    moved: Mapping[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """Records and bytes that were sent, both ways, by group and app."""
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    """By stage."""
    dry_run: bool = False

    @property
    def complete(self) -> bool:
        """Whether the fixed point was reached."""
        return all(side.cause is Cause.FIXED_POINT for side in self.sides)

    @property
    def error(self) -> LaceError | None:
        """What went wrong, where something did."""
        return next((side.error for side in self.sides if side.error is not None), None)

    @property
    def compared(self) -> int:
        """Partitions that were looked into, in all loops."""
        return sum(each.compared for each in self.loops)

    @property
    def skipped(self) -> int:
        """Partitions that cost nothing, in all loops."""
        return sum(each.skipped for each in self.loops)

    def to_json(self) -> dict[str, Any]:
        """Return it as a program reads it."""
        return {
            "exchange": self.exchange,
            "plan": self.plan,
            "began": self.began,
            "complete": self.complete,
            "dry_run": self.dry_run,
            "sides": [side.to_json() for side in self.sides],
            "loops": [each._asdict() for each in self.loops],
            "compared": self.compared,
            "skipped": self.skipped,
            "moved": [
                {"group": group, "app": app, "records": records, "bytes": size}
                for (group, app), (records, size) in self._most()
            ],
            "notes": list(self.notes),
            "seconds": dict(self.seconds),
        }

    def _most(self) -> list[tuple[tuple[str, str], tuple[int, int]]]:
        return sorted(self.moved.items(), key=lambda each: (-each[1][0], each[0]))

    def to_report(self) -> RunReport:
        """Return what people are told."""
        left, right = self.sides
        numbers = {
            f"to {left.where}": left.received,
            f"to {right.where}": right.received,
            "rejected": left.rejected + right.rejected,
            "not available": left.not_available + right.not_available,
            "left for later": left.deferred + right.deferred,
        }
        reasons: dict[str, int] = {}
        for side in self.sides:
            for code, count in side.rejections.items():
                reasons[code] = reasons.get(code, 0) + count
        most = self._most()[:TOLD_PLACES]
        moved = {f"//{g}//{a}" if a else g: records for (g, a), (records, _) in most}
        sizes = {f"//{g}//{a}" if a else g: size for (g, a), (_, size) in most}
        charts = (
            Chart("What moved, records by group and app", moved),
            Chart("What moved, bytes by group and app", sizes),
            Chart("Records received, by loop", {f"loop {e.number}": sum(e.received) for e in self.loops}),
            Chart("Partitions compared, by loop", {f"loop {e.number}": e.compared for e in self.loops}),
            Chart("Partitions skipped, by loop", {f"loop {e.number}": e.skipped for e in self.loops}),
            Chart("Advertisements hashed, by loop", {f"loop {e.number}": e.hashed for e in self.loops}),
        )
        return RunReport(
            "Convergence" + (" (dry run)" if self.dry_run else ""),
            about={
                "left": left.where,
                "right": right.where,
                "plan": self.plan or "none was agreed on",
                "ended": left.cause.value
                if left.cause is right.cause
                else f"{left.cause.value}, {right.cause.value}",
                "loops": str(len(self.loops)),
                "exchange": self.exchange,
            },
            numbers=numbers,
            reasons=reasons,
            stages=tuple(StageTime(name, spent) for name, spent in self.seconds.items()),
            charts=tuple(chart for chart in charts if any(chart.bars.values())),
            notes=self.notes,
        )

    def row(self, index: int) -> tuple[Any, ...]:
        """Return the report as a row of `exchanges` of one side."""
        side, other = self.sides[index], self.sides[1 - index]
        return (
            self.began,
            self.exchange,
            other.where,
            self.plan,
            index,
            side.cause.value,
            None if side.error is None else side.error.code,
            len(self.loops),
            side.received,
            side.rejected,
            side.not_available,
            side.deferred,
            side.sent,
            side.held_back,
            side.bytes_received,
            side.bytes_sent,
            self.compared,
            self.skipped,
        )
