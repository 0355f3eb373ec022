"""Tables that an engine holds: polars lazily, DuckDB, Spark, a database. The engine counts and
reads; nothing of ours is distributed.
"""
