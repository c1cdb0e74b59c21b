"""Queried positions and known facts of a partition as events of one window: a union instead of a range join.

At equal offsets facts sort before queries, so a window up to a query includes all facts at its offset.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

KEY = ("topic", "kafka_partition")
# Sort order of events at equal offsets.
KNOWN, QUERY = 0, 1
SO_FAR = (Window.unboundedPreceding, Window.currentRow)
WHOLE = (Window.unboundedPreceding, Window.unboundedFollowing)


def query_events(positions: DataFrame) -> DataFrame:
    """Positions as events: topic, kafka_partition, at (the position), kind, query (struct of the whole row)."""
    row = F.struct(*positions.columns).alias("query")
    return positions.select(*KEY, F.col("position").alias("at"), F.lit(QUERY).alias("kind"), row)


def union_of(*frames: DataFrame) -> DataFrame:
    """Rows of all frames; a column that a frame lacks is null in its rows."""
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
