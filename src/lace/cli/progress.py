"""Bars for long work, on stderr and only where a person looks at it, or lines where a log wants them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from lace.cli.output import write_aside
from lace.cli.world import World

STEPS: Final = 4
"""So many lines are told of one piece of work, at most, after its first."""


class Update(Protocol):
    """Takes how much is done, how much there is, and what is being done where that changes."""

    def __call__(self, done: int, total: int | None, title: str | None = None) -> None: ...


@contextmanager
def progress_bar(title: str, unit: str) -> Iterator[Update]:
    """Lend a function that takes (done, total); it may be unknown. `unit` is records, bytes or tasks."""
    if not sys.stderr.isatty():
        if World.here().wants_lines():
            yield _Lines(title, unit)
            return
        yield lambda done, total, title=None: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    counted = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), counted, Remaining())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)

        def update(done: int, total: int | None, title: str | None = None) -> None:
            if title is not None:
                progress.update(task, description=title)
            progress.update(task, completed=done, total=total)

        yield update


class _Lines:
    """Tells progress a line at a time: when other work begins, and at every quarter of it."""

    def __init__(self, title: str, unit: str) -> None:
        self._title, self._unit = "", unit
        self._told = 0
        self._begin(title)

    def __call__(self, done: int, total: int | None, title: str | None = None) -> None:
        if title is not None and title != self._title:
            self._begin(title)
        step = done * STEPS // total if total else 0
        if step > self._told:
            self._told = step
            self._line(f"{self._title}: {done:,} of {total:,} {self._unit}")

    def _begin(self, title: str) -> None:
        self._title, self._told = title, 0
        self._line(f"{title} …")

    def _line(self, text: str) -> None:
        write_aside(f"lace: {text}\n".encode("utf-8", "backslashreplace"))
