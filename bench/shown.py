"""Times, ratios and goals as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table

from bench.goals import Judged
from bench.harness import Spent, machine
from bench.peers import NAMES
from bench.rounds import OURS, Measured

CHANGES = {
    "one more fact": {
        "load": "one load",
        "evaluation": "one evaluation",
        "together": "one together",
        "by insert": "one insert",
        "the first by insert": "first insert",
    },
    "1,000 more at once": {
        "load": "batch load",
        "evaluation": "batch evaluation",
        "together": "batch together",
        "by insert": "batch insert",
    },
    "a proof": {"why": "why"},
}
"""What is told about changes, and by which name it was measured."""


def time_text(seconds: float) -> str:
    """Write a time with three digits.

    >>> time_text(2.5), time_text(0.0123456), time_text(0.00002)
    ('2.5 s', '12.3 ms', '20 µs')
    """
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def spent_text(spent: Spent | None) -> str:
    """Write CPU over wall time."""
    return "–" if spent is None else f"{time_text(spent.cpu)}\n[dim]{time_text(spent.wall)}[/]"


def megabytes(size: int | None) -> str:
    """Write a size.

    >>> megabytes(12_345_678), megabytes(None)
    ('12 MB', '–')
    """
    return "–" if size is None else f"{size / 1e6:,.0f} MB"


def workload_table(name: str, measured: Sequence[Measured]) -> Table:
    """Return the times of one workload as people read them; engines that gave none are left out."""
    columns = ["load", "first", "again", *(["parsed"] if name == "w6" else []), "read"]
    there = [each for each in measured if each.samples]
    facts = max((each.told.get("facts", 0) for each in there), default=0)
    answers = max((count for each in there for count in each.counts), default=0)
    title = f"{name}: {facts:,} facts, {answers:,} answers"
    shown = Table(title=title, title_justify="left")
    for head in ("engine", *columns, "× ours: first", "again", "read", "held", "peak", "rounds"):
        shown.add_column(head, justify="left" if head == "engine" else "right")
    ours = next((each for each in there if each.engine == OURS), None)
    for each in there:
        shown.add_row(
            each.engine,
            *(spent_text(each.seconds(what)) for what in columns),
            *(times_ours(each, ours, what) for what in ("first", "again", "read")),
            megabytes(each.told.get("held")),
            megabytes(each.told.get("peak")),
            str(len(each.samples["load"])),
        )
    return shown


def notes(measured: Sequence[Measured]) -> Iterator[str]:
    """Yield what is to be said below the table of a workload."""
    for each in measured:
        if each.failed:
            yield f"[yellow]{each.engine}: {each.failed}[/]"
        for way, other in each.others.items():
            yield f"{each.engine}, {way}: {time_text(other['spent'][0])}"
        for title, kinds in CHANGES.items():
            texts = {kind: each.seconds(what) for kind, what in kinds.items()}
            if said := ", ".join(f"{kind} {time_text(spent.cpu)}" for kind, spent in texts.items() if spent):
                yield f"{each.engine}, {title}: {said}"


def times_ours(each: Measured, ours: Measured | None, what: str) -> str:
    """Write how many times our CPU time an engine takes."""
    theirs, mine = each.seconds(what), ours.seconds(what) if ours else None
    return f"{theirs.cpu / mine.cpu:.3g}" if theirs and mine else "–"


def goals_table(lines: Sequence[Judged]) -> Table:
    """Return the goals as people read them."""
    shown = Table(title="goals", title_justify="left", caption=machine())
    for head in ("", "ours", "against", "theirs", "ratio", "goal", ""):
        shown.add_column(head)
    for line in lines:
        verdicts = {True: "[green]met[/]", False: "[red]missed[/]", None: f"[yellow]{line.missing}[/]"}
        shown.add_row(
            line.title,
            spent_text(line.ours),
            line.other,
            spent_text(line.theirs),
            "–"
            if line.cpu_ratio is None
            else f"{ratio_text(line.cpu_ratio)}\n[dim]{ratio_text(line.wall_ratio)}[/]",
            f"{'≥' if line.goal.of == 'rate' else '≤'} {ratio_text(line.goal.bound)}",
            verdicts[line.met],
        )
    return shown


def ratio_text(ratio: float | None) -> str:
    """Write a ratio, a small one as a part.

    >>> ratio_text(4.25), ratio_text(1 / 500)
    ('4.25×', '1/500')
    """
    if ratio is None:
        return "–"
    return f"{ratio:.3g}×" if ratio >= 0.5 else f"1/{1 / ratio:.3g}"


def engines_table(results: Mapping[str, Sequence[Measured]]) -> Table:
    """Return what is to be known about the engines."""
    shown = Table(title="engines", title_justify="left")
    for head in ("engine", "one thread", "what its evaluation is"):
        shown.add_column(head)
    told = {each.engine: each.told for found in results.values() for each in found if each.told}
    for name in NAMES:
        if name in told:
            shown.add_row(f"{name} {told[name]['version']}", told[name]["threads"], told[name]["about"])
    return shown
