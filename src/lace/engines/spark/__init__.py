"""The engine on Spark: relational programs over DataFrames. Importing this door imports pyspark."""

from lace.engines.spark.engine import SparkEngine, SparkEvaluation, UnknownStrategy
from lace.engines.spark.evaluator import STRATEGIES
from lace.engines.spark.failures import SparkFailed, with_advice
from lace.engines.spark.relation import NullInFrame, WrongFrame
from lace.engines.spark.report import ComponentReport, SparkReport
from lace.engines.spark.result import SparkResult

__all__ = [
    "STRATEGIES",
    "ComponentReport",
    "NullInFrame",
    "SparkEngine",
    "SparkEvaluation",
    "SparkFailed",
    "SparkReport",
    "SparkResult",
    "UnknownStrategy",
    "WrongFrame",
    "with_advice",
]
