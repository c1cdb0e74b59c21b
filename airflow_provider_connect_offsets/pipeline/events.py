"""Positions and what is known of a partition, as events of one window: a union instead of a range join.

What is known stands before a position at the same place, so that a window up to it has come by all that concerns it.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

KEY = ("topic", "kafka_partition")
# In the order in which they are come by at the same place.
KNOWN, ASKED = 0, 1
SO_FAR = (Window.unboundedPreceding, Window.currentRow)


def asked_events(positions: DataFrame) -> DataFrame:
    """Positions as what the window answers: topic, kafka_partition, at, kind, asked (the row as a whole)."""
    whole = F.struct(*positions.columns).alias("asked")
    return positions.select(*KEY, F.col("position").alias("at"), F.lit(ASKED).alias("kind"), whole)


def union_of(one: DataFrame, other: DataFrame) -> DataFrame:
    """Rows of both; a column that one of them lacks is null."""
    return one.unionByName(other, allowMissingColumns=True)
