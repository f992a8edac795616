"""PySpark over many records: a lake of Parquet tables, ingest, and rules at the size of a cluster.

Importing this loads neither pyspark nor pyarrow: each name does that when it is used.
"""

from lace.pipeline.java import NoJava
from lace.pipeline.spark import CannotStart, MasterUnreachable, NoSpark, OtherSession, start_session

__all__ = ["CannotStart", "MasterUnreachable", "NoJava", "NoSpark", "OtherSession", "start_session"]
