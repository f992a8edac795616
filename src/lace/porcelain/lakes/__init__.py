"""Lakes as laces: with a Spark session, in exchanges, and brought together."""
