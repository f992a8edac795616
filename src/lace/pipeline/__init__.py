"""PySpark over many records: a lake of Parquet tables, ingest, and rules at the size of a cluster."""

__all__: list[str] = []
