"""A folder of Parquet tables with atomic commits by manifest, that readers other than Spark can follow."""
