"""Share a limit of records to be read among partitions."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F


def shared_out(ranges: DataFrame, partitions: DataFrame, *, total: int) -> DataFrame:
    """Shorten ranges of records so that all together keep the limit.

    No partition gets more than another one that needs more. The same share of both logs is read, at their ends.

    Args:
        ranges: topic, kafka_partition, source_from, target_from, and any others; of one or several flows
        partitions: topic, kafka_partition, source_end, target_end, and all other columns of the key of ``ranges``
        total: how many records may be read, of both logs and all partitions; offsets count as records

    Returns:
        ``ranges``, shortened, with left_out (how many records of both logs are not read)
    """
    key = [name for name in partitions.columns if name not in {"source_end", "target_end"}]
    needed = (
        ranges.join(F.broadcast(partitions), key)
        .withColumns({"of_source": _length("source"), "of_target": _length("target")})
        .withColumn("need", F.col("of_source") + F.col("of_target"))
    )
    level = _level(needed.select(*key, "need"), key, total)
    share = F.least(F.lit(1.0), F.col("level") / F.greatest("need", F.lit(1)))
    granted = needed.crossJoin(F.broadcast(level)).withColumns(
        {side: F.floor(F.col(side) * share).cast("long") for side in ("of_source", "of_target")}
    )
    return granted.withColumns(
        {
            "source_from": _begin("source"),
            "target_from": _begin("target"),
            "left_out": F.col("need") - F.col("of_source") - F.col("of_target"),
        }
    ).select(*ranges.columns, "left_out")


def unproved(rows: DataFrame) -> DataFrame:
    """Partitions with a position that is not proved.

    Args:
        rows: dataset ``translation``

    Returns:
        read_as (the topic that groups read), kafka_partition
    """
    proved = F.col("downstream").eqNullSafe(F.col("upper")) & (F.col("missing") == 0) & (F.col("max_rereads") == 0)
    left = rows.where(F.col("covered").isNotNull() & ~F.coalesce(proved, F.expr("false")))
    return left.select(F.col("source_topic").alias("read_as"), "kafka_partition").distinct()


def _level(needed: DataFrame, key: list[str], total: int) -> DataFrame:
    """The most that a partition gets, as one row: partitions that need less leave the rest to the others."""
    in_order = Window.orderBy("need", *key)
    given = F.coalesce(F.sum("need").over(in_order.rowsBetween(Window.unboundedPreceding, -1)), F.lit(0))
    others = F.count("*").over(Window.partitionBy()) - F.row_number().over(in_order) + 1
    # The level rises up to the last partition that gets all it needs, and falls from there on.
    levels = needed.select(F.greatest((F.lit(total) - given) / others, F.lit(0.0)).alias("level"))
    return levels.agg(F.coalesce(F.max("level"), F.lit(0.0)).alias("level"))


def _length(side: str) -> Column:
    """Length of a range; 0 if the target lacks the partition."""
    length = F.greatest(F.col(f"{side}_end") - F.col(f"{side}_from"), F.lit(0))
    return F.coalesce(F.when(F.col("target_end").isNotNull(), length), F.lit(0))


def _begin(side: str) -> Column:
    """Begin of the shortened range; unchanged if there is no log."""
    return F.coalesce(
        F.greatest(F.col(f"{side}_from"), F.col(f"{side}_end") - F.col(f"of_{side}")), F.col(f"{side}_from")
    )
