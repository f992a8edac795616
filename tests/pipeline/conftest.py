"""What tests of the pipeline share: one Spark session. Without the spark extra none of them is looked at."""

from __future__ import annotations

from tests.sparkling import MISSING
from tests.sparkling import spark as spark

if MISSING:
    collect_ignore_glob = ["*.py"]
