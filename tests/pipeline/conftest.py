"""What tests of the pipeline share: one Spark session."""

from __future__ import annotations

from tests.sparkling import spark as spark
