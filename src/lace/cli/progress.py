"""Bars for long work, on stderr and only where a person looks at it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Update(Protocol):
    """Takes how much is done, how much there is, and what is being done where that changes."""

    def __call__(self, done: int, total: int | None, title: str | None = None) -> None: ...


@contextmanager
def progress_bar(title: str, unit: str) -> Iterator[Update]:
    """Lend a function that takes (done, total); it may be unknown. `unit` is records, bytes or tasks."""
    if not sys.stderr.isatty():
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
