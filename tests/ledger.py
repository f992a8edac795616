"""Which requirements the tests that passed have shown: the plugin behind the `req` marker.

Rules of this file:
1. A row is shown by a test function when a test of it that names the row passed and none failed.
   Parameters are not told apart: `test_x[1]` and `test_x[2]` are both `test_x`.
2. What was skipped, deselected or expected to fail shows nothing.
3. The file is whole or absent: it is written beside its place and moved there.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

REQ = "req"


class Ledger:
    """Collects reports of one run; the workers of pytest-xdist send theirs to the one that writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._passed: dict[str, set[str]] = defaultdict(set)
        self._failed: dict[str, set[str]] = defaultdict(set)

    def record(self, nodeid: str, rows: Iterable[str], outcome: str) -> None:
        """Note how one phase of a test that names these rows ended."""
        function = nodeid.partition("[")[0]
        for row in rows:
            if outcome == "failed":
                self._failed[row].add(function)
            elif outcome == "passed":
                self._passed[row].add(function)

    def rows(self) -> dict[str, list[str]]:
        """Return the tests that show each row, sorted."""
        shown = {row: sorted(tests - self._failed[row]) for row, tests in self._passed.items()}
        return {row: shown[row] for row in sorted(shown) if shown[row]}

    def write(self) -> None:
        """Put the ledger in its place in one step."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        beside.write_text(json.dumps(self.rows(), indent=1) + "\n", encoding="utf-8")
        beside.replace(self.path)

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        rows = [str(value) for name, value in report.user_properties if name == REQ]
        # Setup and teardown pass for every test; they count only when they fail.
        if rows and not hasattr(report, "wasxfail") and (report.when == "call" or report.failed):
            self.record(report.nodeid, rows, report.outcome)

    @pytest.hookimpl
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not session.config.option.collectonly:
            self.write()


def name_rows(items: Iterable[pytest.Item]) -> None:
    """Let each test's reports carry the rows it names, also from a worker to the one that writes."""
    for item in items:
        rows = {row for mark in item.iter_markers(REQ) for row in mark.args}
        item.user_properties.extend((REQ, row) for row in sorted(rows))
