"""What a run did, for people and for programs: one value, as JSON and as one page of HTML.

Rules of this file:
1. The page is one file: no script, nothing fetched, readable in light and dark, printable.
2. Every plot stands beside the numbers it is drawn from. Text of records and files is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

_BAR_WIDTH = 420
_ROW_HEIGHT = 26


@dataclass(frozen=True, slots=True)
class StageTime:
    """One stage of a run."""

    name: str
    seconds: float
    rows: int | None = None
    """Rows that came out of it, where that means something."""

    @property
    def rate(self) -> float | None:
        """Rows a second."""
        return None if self.rows is None or self.seconds <= 0 else self.rows / self.seconds


@dataclass(frozen=True, slots=True)
class ComponentRun:
    """How one component of a relation program was evaluated."""

    predicates: tuple[str, ...]
    strategy: str
    iterations: int
    rows: Mapping[str, int]
    """Derived facts, by predicate."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars of one kind under a head."""

    head: str
    bars: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run did."""

    title: str
    about: Mapping[str, str] = field(default_factory=dict)
    """What it ran on: the lake, its version, the sources."""
    numbers: Mapping[str, int] = field(default_factory=dict)
    """Sums in the order in which they are read: rows in, stored, rejected …"""
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Rejected parts by error code."""
    stages: tuple[StageTime, ...] = ()
    components: tuple[ComponentRun, ...] = ()
    charts: tuple[Chart, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """All stages together."""
        return sum(stage.seconds for stage in self.stages)

    def to_json(self) -> dict[str, Any]:
        """Return the report as a program reads it."""
        return {
            "title": self.title,
            "about": dict(self.about),
            "numbers": dict(self.numbers),
            "reasons": dict(self.reasons),
            "stages": [{**asdict(stage), "rate": stage.rate} for stage in self.stages],
            "components": [
                {**asdict(each), "predicates": list(each.predicates), "rows": dict(each.rows)}
                for each in self.components
            ],
            "charts": {chart.head: dict(chart.bars) for chart in self.charts},
            "seconds": self.seconds,
            "notes": list(self.notes),
        }

    def to_html(self) -> str:
        """Return the report as one page.

        >>> "<script" in RunReport("ingest", numbers={"records in": 3}).to_html()
        False
        """
        parts = [f"<h1>{escape(self.title)}</h1>", _pairs(self.about)]
        if self.numbers:
            parts.append(_section("What happened", _bars((n, c, f"{c:,}") for n, c in self.numbers.items())))
        if self.reasons:
            most = sorted(self.reasons.items(), key=lambda each: (-each[1], each[0]))
            parts.append(_section("Rejected, by reason", _bars((n, c, f"{c:,}") for n, c in most)))
        for chart in self.charts:
            parts.append(_section(chart.head, _bars((n, c, f"{c:,}") for n, c in chart.bars.items())))
        if self.stages:
            parts.append(_section("Seconds by stage", _bars(map(_stage_bar, self.stages))))
        if self.components:
            parts.append(_section("Rules", _component_table(self.components)))
        parts += [f"<p class=note>{escape(note)}</p>" for note in self.notes]
        return _PAGE.format(title=escape(self.title), body="\n".join(parts))


def _stage_bar(stage: StageTime) -> tuple[str, float, str]:
    rate = "" if stage.rate is None else f"  ·  {stage.rows:,} rows, {stage.rate:,.0f}/s"
    return stage.name, stage.seconds, f"{stage.seconds:.2f} s{rate}"


def _section(head: str, body: str) -> str:
    return f"<section><h2>{escape(head)}</h2>\n{body}</section>"


def _pairs(pairs: Mapping[str, str]) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in pairs.items())
    return f"<dl>{rows}</dl>" if rows else ""


def _bars(rows: Iterable[tuple[str, float, str]]) -> str:
    """Draw bars over one scale, each with its name and its number."""
    drawn = list(rows)
    greatest = max((size for _, size, _ in drawn), default=0) or 1
    lines = []
    for at, (name, size, label) in enumerate(drawn):
        y = at * _ROW_HEIGHT
        width = max(1.0, size / greatest * _BAR_WIDTH) if size else 0
        lines.append(
            f'<text class=name x="190" y="{y + 17}">{escape(name)}</text>'
            f'<rect x="200" y="{y + 4}" width="{width:.1f}" height="{_ROW_HEIGHT - 9}" rx="2"/>'
            f'<text class=value x="{208 + width:.1f}" y="{y + 17}">{escape(label)}</text>'
        )
    height = len(drawn) * _ROW_HEIGHT
    return f'<svg viewBox="0 0 900 {height}" height="{height}" role="img">{"".join(lines)}</svg>'


def _component_table(components: Iterable[ComponentRun]) -> str:
    rows = "".join(
        "<tr>"
        f"<td>{escape(', '.join(each.predicates))}</td><td>{escape(each.strategy)}</td>"
        f"<td class=number>{each.iterations:,}</td>"
        f"<td>{escape(', '.join(f'{name} {count:,}' for name, count in each.rows.items()))}</td>"
        f"<td class=number>{each.seconds:.2f}</td></tr>"
        for each in components
    )
    head = "<tr><th>predicates</th><th>strategy</th><th>rounds</th><th>facts</th><th>seconds</th></tr>"
    return f"<table>{head}{rows}</table>"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width">
<style>
:root {{ color-scheme: light dark; --ink: #1c2530; --paper: #fbfaf7; --soft: #6b7682; --bar: #3d7ea6; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e6e4de; --paper: #16191d; --soft: #98a2ad; --bar: #6fb1d6; }}
}}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 60rem; margin: 2.5rem auto; padding: 0 1.5rem; }}
h1 {{ font-size: 1.5rem; font-weight: 600; }}
h2 {{ font-size: 1rem; font-weight: 600; margin: 2rem 0 .6rem; color: var(--soft); }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; }}
dt {{ color: var(--soft); }}
dd {{ margin: 0; overflow-wrap: anywhere; }}
svg {{ width: 100%; max-width: 900px; overflow: visible; }}
svg text {{ font: 13px system-ui, sans-serif; fill: var(--ink); }}
svg .name {{ text-anchor: end; }}
svg .value {{ fill: var(--soft); }}
svg rect {{ fill: var(--bar); }}
table {{ border-collapse: collapse; }}
th, td {{ text-align: left; padding: .25rem 1rem .25rem 0; border-bottom: 1px solid color-mix(in srgb, var(--soft) 30%, transparent); }}
.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
.note {{ color: var(--soft); }}
</style></head>
<body>
{body}
</body></html>
"""  # noqa: E501
