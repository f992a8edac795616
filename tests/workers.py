"""How workers share the tests: whatever uses the Spark of a test run is done by one of them.

Starting Java and warming it up takes half a minute of two cores, so that a second one costs more than it
brings. What starts a Spark of its own is a piece too, so that there are never many of them. Everything else
goes wherever there is room, a test function at a time: handing out ten thousand cases one by one keeps one
more process busy.

There are two workers more than there are cores: the one with the Spark, and tests of processes, mostly wait.
With three, two cores were busy for two thirds of the time.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

SPARK = "pytest.mark.spark"
APART = "from tests.sparkling import apart"


class OneJava(LoadScopeScheduling):  # type: ignore[misc]
    """Gives test functions out one by one, and those of files with a Spark in one piece."""

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Note that a test was done, and forget a piece that is: else each test counts all before it."""
        super().mark_test_complete(node, item_index, duration)
        pieces = self.assigned_work[node]
        piece = self._split_scope(self.registered_collections[node][item_index])
        if all(pieces[piece].values()):
            del pieces[piece]

    def _assign_work_unit(self, node: Any) -> None:
        """Hand out the next piece; those that take longest come first, so that nobody waits for them."""
        for piece in (APART, SPARK):
            if piece in self.workqueue:
                self.workqueue.move_to_end(piece, last=False)
        super()._assign_work_unit(node)

    def _split_scope(self, nodeid: str) -> str:
        """Return the name of the piece that a test belongs to."""
        file, _, _ = nodeid.partition("::")
        return spark_of(self.config, file) or nodeid.partition("[")[0]


@cache
def spark_of(config: pytest.Config, file: str) -> str:
    """Return which Spark a file of tests starts: that of the test run, its own, or none."""
    text = (config.rootpath / file).read_text(encoding="utf-8")
    return next((spark for spark in (SPARK, APART) if spark in text), "")
