"""From what is stored and what was asked for to the offset that each partition is to have.

The steps pass on one frame, a row per source partition::

    partition, before string           canonical JSON; before is null where nothing is stored
    topic string, kafka_partition int  null where the family has none
    before_position long               the position that ``before`` means
    log_start, log_end, lookup_offset long
    here long                          where the connector stands: before_position, or what auto.offset.reset gives
    selected boolean                   whether the request is about this row
    after string, after_position long  what is to be stored (null: nothing), and the position it means
    clamped boolean                    whether the log start was taken instead of a position before it
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.families import OffsetReset
from airflow_provider_connect_offsets.offsets.request import PartitionSet, Request, To
from airflow_provider_connect_offsets.pipeline import family_columns
from airflow_provider_connect_offsets.pipeline.frames import Subject, matches_whole

_TRUE, _FALSE = True, False


def known_partitions(offsets: DataFrame, bounds: DataFrame, subject: Subject) -> DataFrame:
    """All partitions that a change may touch: those with an offset, and those of topics that the connector reads.

    offsets: dataset ``connector_offsets`` · bounds: dataset ``log_bounds``
    returns: partition, before, topic, kafka_partition, before_position
    """
    stored = offsets.where(F.col("connector") == subject.name).select(
        "partition",
        F.col("offset").alias("before"),
        "topic",
        "kafka_partition",
        F.col("position").alias("before_position"),
    )
    consumed = subject.family.consumed_topics(subject.config) if subject.family.has_positions else None
    if consumed is None:
        return stored
    missing = (
        bounds.where(is_consumed(F.col("topic"), subject))
        .select("topic", "kafka_partition")
        .join(stored, ["topic", "kafka_partition"], "left_anti")
        .withColumn("partition", family_columns.partition_key(subject)("topic", "kafka_partition"))
    )
    return stored.unionByName(missing, allowMissingColumns=True)


def is_consumed(topic: Column, subject: Subject) -> Column:
    """Whether the connector's configuration makes it read ``topic``; true where that can't be told."""
    consumed, excluded = subject.family.consumed_topics(subject.config), subject.family.excluded_topics(subject.config)
    read = F.lit(_TRUE) if consumed is None else matches_whole(topic, consumed)
    return read if excluded is None else read & ~matches_whole(topic, excluded)


def with_listed(partitions: DataFrame, wanted: DataFrame, subject: Subject) -> DataFrame:
    """Join the entries of ``to=file`` and ``to=connector``, one per partition.

    wanted: partition, after · adds: after, after_position, listed
    """
    listed = wanted.select("partition", "after", F.lit(_TRUE).alias("listed")).withColumn(
        "place", family_columns.place(subject)("partition", "after")
    )
    return (
        partitions.join(listed, "partition", "full")
        .withColumn("topic", F.coalesce("topic", "place.topic"))
        .withColumn("kafka_partition", F.coalesce("kafka_partition", "place.kafka_partition"))
        .withColumn("after_position", F.col("place.position"))
        .withColumn("listed", F.coalesce("listed", F.lit(_FALSE)))
        .drop("place")
    )


def with_bounds(partitions: DataFrame, bounds: DataFrame, subject: Subject) -> DataFrame:
    """Add log_start, log_end, lookup_offset and here."""
    limits = bounds.select("topic", "kafka_partition", "log_start", "log_end", "lookup_offset")
    starts_at_end = subject.family.offset_reset(subject.config) is OffsetReset.LATEST
    return partitions.join(limits, ["topic", "kafka_partition"], "left").withColumn(
        "here", F.coalesce("before_position", "log_end" if starts_at_end else "log_start")
    )


def with_selection(partitions: DataFrame, request: Request) -> DataFrame:
    """Add ``selected``: chosen by the request's ``topics`` and ``partitions``, and listed where it takes a list."""
    chosen = F.col("listed") if request.to.by_list else F.lit(_TRUE)
    if request.topics is not None:
        chosen = chosen & F.coalesce(matches_whole(F.col("topic"), request.topics), F.lit(_FALSE))
    if request.partitions is not None:
        chosen = chosen & F.coalesce(_in_ranges(request.partitions), F.lit(_FALSE))
    return partitions.withColumn("selected", chosen)


def _in_ranges(partitions: PartitionSet) -> Column:
    chosen = F.lit(_FALSE)
    for low, high in partitions.ranges:
        chosen = chosen | F.col("kafka_partition").between(low, high)
    return chosen


def with_target(partitions: DataFrame, request: Request, subject: Subject) -> DataFrame:
    """Add after, after_position and clamped for a request that names no list.

    A moment after the last record means the log end. ``shift`` and moments stop at the log start, as
    kafka-consumer-groups does.
    """
    wanted = _wanted_position(request)
    clampable = request.to.by_time or request.to is To.SHIFT
    too_low = F.coalesce(wanted < F.col("log_start"), F.lit(_FALSE)) if clampable else F.lit(_FALSE)
    placed = partitions.withColumn("clamped", too_low).withColumn(
        "after_position", F.when(too_low, F.col("log_start")).otherwise(wanted)
    )
    if request.to is To.CLEAR or not subject.family.has_positions:
        return placed.withColumn("after", F.lit(None).cast("string"))
    return placed.withColumn("after", family_columns.offset_at(subject)("after_position"))


def _wanted_position(request: Request) -> Column:
    here, end, amount = F.col("here"), F.col("log_end"), F.lit(request.amount).cast("long")
    by_time = F.coalesce("lookup_offset", end)
    return {
        To.EARLIEST: F.col("log_start"),
        To.LATEST: end,
        To.CURRENT: F.col("before_position"),
        To.CLEAR: F.lit(None).cast("long"),
        To.OFFSET: amount,
        To.DATETIME: by_time,
        To.DURATION: by_time,
        To.SHIFT: here + amount,
        To.SKIP: here + amount,
    }[request.to]
