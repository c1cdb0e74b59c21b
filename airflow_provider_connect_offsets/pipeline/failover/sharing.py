"""How many records are read of each partition, where there is one limit for all of them together."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F


def shared_out(ranges: DataFrame, partitions: DataFrame, *, total: int) -> DataFrame:
    """Leave out of the ranges what is beyond the limit.

    ranges: topic, kafka_partition, source_from, target_from, and whatever else, of any flows
    partitions: topic, kafka_partition, source_end, target_end, and which columns else tell the rows of ``ranges`` apart
    total: how many records may be read, of both logs and all partitions together; offsets are taken for records
    returns: ranges, with what is left of them, and left_out (how many records of both logs are not read)

    No partition gets more than another one that needs more. Of both logs the end is read, in the same share.
    """
    apart = [name for name in partitions.columns if name not in {"source_end", "target_end"}]
    wanted = ranges.join(F.broadcast(partitions), apart).withColumns(
        {"of_source": _length("source"), "of_target": _length("target")}
    )
    needed = wanted.withColumn("need", F.col("of_source") + F.col("of_target"))
    level = _level(needed.select(*apart, "need"), apart, total)
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
    """Partitions in which a position isn't proved, as far as a translation tells; by the topics that groups read.

    rows: dataset ``translation``
    returns: seen_as (the topic), kafka_partition
    """
    proved = F.col("downstream").eqNullSafe(F.col("upper")) & (F.col("missing") == 0) & (F.col("max_rereads") == 0)
    left = rows.where(F.col("covered").isNotNull() & ~F.coalesce(proved, F.expr("false")))
    return left.select(F.col("source_topic").alias("seen_as"), "kafka_partition").distinct()


def _level(needed: DataFrame, apart: list[str], total: int) -> DataFrame:
    """The most that any partition gets, one row: those that need less leave the rest to the others."""
    in_order = Window.orderBy("need", *apart)
    given = F.coalesce(F.sum("need").over(in_order.rowsBetween(Window.unboundedPreceding, -1)), F.lit(0))
    others = F.count("*").over(Window.partitionBy()) - F.row_number().over(in_order) + 1
    # It rises from one to the next as long as all that a partition needs can be had, and falls from there on.
    levels = needed.select(F.greatest((F.lit(total) - given) / others, F.lit(0.0)).alias("level"))
    return levels.agg(F.coalesce(F.max("level"), F.lit(0.0)).alias("level"))


def _length(side: str) -> Column:
    """Nothing of a partition that the target lacks."""
    length = F.greatest(F.col(f"{side}_end") - F.col(f"{side}_from"), F.lit(0))
    return F.coalesce(F.when(F.col("target_end").isNotNull(), length), F.lit(0))


def _begin(side: str) -> Column:
    """Nothing is before what was to be read; where there is no log, all stays as it was."""
    return F.coalesce(
        F.greatest(F.col(f"{side}_from"), F.col(f"{side}_end") - F.col(f"of_{side}")), F.col(f"{side}_from")
    )
