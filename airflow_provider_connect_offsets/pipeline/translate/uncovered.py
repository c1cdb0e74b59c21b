"""Find records of the source that have no copy in the remote topic."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.events import KEY

_ELEMENT, _RECORD = 0, 1


def find_uncovered(partitions: DataFrame, elements: DataFrame, source: DataFrame | None = None) -> DataFrame:
    """Find source records that may have no copy: those in no certain element.

    A certain element is a range of the remote topic that is known to hold the copies of consecutive source records.

    Args:
        partitions: dataset ``mirror_partitions``
        elements: what ``elements.elements`` returns
        source: what ``records.source_records`` returns; None if no records were read

    Returns:
        topic, kafka_partition, at (offset in the source), missing (1: that record certainly has no copy), unknown (1:
        that record, or a record before it, may have no copy)
    """
    facts = partitions.select(
        *KEY,
        # After the stored record, a drained flow has no record to replicate; retention may have deleted unreplicated
        # records.
        F.when(
            F.col("drained") & ~F.col("transformed"),
            F.greatest(F.coalesce(F.col("stored") + 1, F.lit(0)), F.col("source_start")),
        )
        .otherwise(F.col("source_end"))
        .alias("whole_end"),
        F.coalesce("source_from", F.lit(2**62)).alias("read_from"),
        F.col("transformed"),
        # A flow that is not drained may lack copies of all records after the stored one.
        F.when(~F.col("drained"), F.coalesce(F.col("stored") + 1, F.lit(0))).alias("open_from"),
    )
    doubts = (
        elements.where(~F.col("certain"))
        .groupBy(*KEY)
        .agg(F.min("low").alias("doubts_low"), F.max("high").alias("doubts_high"))
    )
    known = facts.join(doubts, list(KEY), "left")
    steps = elements.where("certain").select(*KEY, F.col("upstream").alias("at"), F.lit(_ELEMENT).alias("kind"), "next")
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
    replicated_to = F.coalesce(F.max("next").over(in_order.rowsBetween(Window.unboundedPreceding, -1)), F.lit(0))
    located = events.withColumn("replicated_to", replicated_to).join(F.broadcast(known), list(KEY))
    return located.where(_of_record() | _of_piece()).select(
        *KEY,
        F.when(_of_record(), F.col("at")).otherwise(F.least("at", "read_from") - 1).alias("at"),
        F.when(_of_record() & ~_may_have(), 1).otherwise(0).alias("missing"),
        F.when(_of_record() & ~_may_have(), 0).otherwise(1).alias("unknown"),
    )


def _of_record() -> Column:
    return (F.col("kind") == _RECORD) & (F.col("replicated_to") <= F.col("at"))


def _of_piece() -> Column:
    """Whether an event ends a range of unread source records without a copy."""
    unread = F.least("at", "read_from")
    is_open = F.coalesce(F.col("next").isNull() & (F.col("open_from") < unread), F.expr("false"))
    return (F.col("kind") == _ELEMENT) & ((F.col("replicated_to") < unread) | is_open)


def _may_have() -> Column:
    """Whether an uncertain element may contain a record's copy, or a transform may have dropped the record."""
    possible = (F.col("at") >= F.col("doubts_low")) & (F.col("at") <= F.col("doubts_high"))
    return F.coalesce(possible, F.expr("false")) | F.col("transformed")
