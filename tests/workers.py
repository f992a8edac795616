"""How two workers share the tests: whatever starts a Spark runs on one of them.

Starting Java and warming it up takes half a minute of two cores, so that a second one costs more than it
brings. Everything else goes wherever there is room, a test function at a time: handing out ten thousand cases
one by one keeps a third process busy.
"""

from __future__ import annotations

from functools import cache

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

SPARK = "pytest.mark.spark"


class OneJava(LoadScopeScheduling):  # type: ignore[misc]
    """Gives test functions out one by one, and those of files with a Spark in one piece."""

    def _split_scope(self, nodeid: str) -> str:
        """Return the name of the piece that a test belongs to."""
        return SPARK if has_spark(self.config, nodeid.partition("::")[0]) else nodeid.partition("[")[0]


@cache
def has_spark(config: pytest.Config, file: str) -> bool:
    """Tell whether a file of tests starts a Spark."""
    return SPARK in (config.rootpath / file).read_text(encoding="utf-8")
