"""Spark's own types under our names, for packages above that pass them on without knowing Spark."""

from __future__ import annotations

from pyspark.sql import DataFrame as Frame
from pyspark.sql import SparkSession as Session

__all__ = ["Frame", "Session"]
