"""Records into a lake: sources, splits, the two passes, streaming. Its door is that of `lace.pipeline`.

The package does not bear the name of the function `ingest`: to load one would hide the other.
"""
