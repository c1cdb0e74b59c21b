"""Records of the source that have no copy in the remote topic, as far as that is known."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.events import KEY

_ELEMENT, _RECORD = 0, 1


def uncovered(partitions: DataFrame, found: DataFrame, source: DataFrame | None = None) -> DataFrame:
    """Find what no certain element holds.

    partitions: dataset ``mirror_partitions``; found: of ``elements``; source: of ``source_records``, or None
    returns: topic, kafka_partition, at (offset in the source), missing (1: that record surely has no copy), unknown (1:
    that one, or some before it, may have none)
    """
    facts = partitions.select(
        *KEY,
        # Behind what is stored, of one that has caught up, stands nothing that is to be replicated; but retention may
        # have taken what was not yet.
        F.when(
            F.col("drained") & ~F.col("transformed"),
            F.greatest(F.coalesce(F.col("stored") + 1, F.lit(0)), F.col("source_start")),
        )
        .otherwise(F.col("source_end"))
        .alias("whole_end"),
        F.coalesce("source_from", F.lit(2**62)).alias("read_from"),
        F.col("transformed"),
        # Of one that has not caught up, nothing behind what is stored is known to be there.
        F.when(~F.col("drained"), F.coalesce(F.col("stored") + 1, F.lit(0))).alias("open_from"),
    )
    doubts = (
        found.where(~F.col("certain"))
        .groupBy(*KEY)
        .agg(F.min("low").alias("doubts_low"), F.max("high").alias("doubts_high"))
    )
    known = facts.join(doubts, list(KEY), "left")
    steps = found.where("certain").select(*KEY, F.col("upstream").alias("at"), F.lit(_ELEMENT).alias("kind"), "next")
    ends = known.select(
        *KEY,
        F.coalesce("whole_end", F.lit(2**62)).alias("at"),
        F.lit(_ELEMENT).alias("kind"),
        F.lit(None).cast("long").alias("next"),
    )
    events = steps.unionByName(ends)
    if source is not None:
        records = source.select(
            *KEY, F.col("upstream").alias("at"), F.lit(_RECORD).alias("kind"), F.lit(None).cast("long").alias("next")
        )
        events = events.unionByName(records)
    in_order = Window.partitionBy(*KEY).orderBy("at", "kind")
    come_to = F.coalesce(F.max("next").over(in_order.rowsBetween(Window.unboundedPreceding, -1)), F.lit(0))
    seen = events.withColumn("come_to", come_to).join(F.broadcast(known), list(KEY))
    return seen.where(_of_record() | _of_piece()).select(
        *KEY,
        F.when(_of_record(), F.col("at")).otherwise(F.least("at", "read_from") - 1).alias("at"),
        F.when(_of_record() & ~_may_have(), 1).otherwise(0).alias("missing"),
        F.when(_of_record() & ~_may_have(), 0).otherwise(1).alias("unknown"),
    )


def _of_record() -> Column:
    return (F.col("kind") == _RECORD) & (F.col("come_to") <= F.col("at"))


def _of_piece() -> Column:
    """A piece of the source that nothing covers, as far as its records were not read."""
    unread = F.least("at", "read_from")
    is_open = F.coalesce(F.col("next").isNull() & (F.col("open_from") < unread), F.expr("false"))
    return (F.col("kind") == _ELEMENT) & ((F.col("come_to") < unread) | is_open)


def _may_have() -> Column:
    """Whether an element that is not certain may hold a copy of it, or none was to be had."""
    held = (F.col("at") >= F.col("doubts_low")) & (F.col("at") <= F.col("doubts_high"))
    return F.coalesce(held, F.expr("false")) | F.col("transformed")
