"""From what is stored and what was asked for to the offset that each partition is to have.

The steps pass on one frame, a row per source partition::

    partition, before string           canonical JSON; before is null where nothing is stored
    topic string, kafka_partition int  null where the family has none
    before_position long               the position that ``before`` means
    log_start, log_end, lookup_offset long   null where there is no such log
    retention_ms, expired_offset, expiring_offset long   as in ``log_bounds``
    topic_exists, consumed boolean     whether the cluster has the topic, and whether the connector reads it
    reset_position long                where auto.offset.reset starts without an offset; null where that can't be told
    here long                          where the connector stands: before_position, or else reset_position
    selected boolean                   whether the request is about this row
    after string, after_position long  what is to be stored (null: nothing), and the position it means
    clamped boolean                    whether the log start was taken instead of a position before it
    problems array                     what the family finds wrong with the partition, or with a listed offset
    times int, conflicting boolean     how often a list names the partition, and whether with different offsets
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.families import MAX_LONG, OffsetReset
from airflow_provider_connect_offsets.offsets.requests.request import PartitionSet, Request, To
from airflow_provider_connect_offsets.pipeline.frames import PlanFrames, Subject, matches_whole
from airflow_provider_connect_offsets.pipeline.plan import family_columns


def aimed_rows(snapshot: PlanFrames, request: Request, subject: Subject) -> DataFrame:
    """Give the rows of a request that names no list: all that is stored, and all that the connector reads."""
    known = stored_offsets(snapshot.offsets, subject).withColumn("known", F.expr("true"))
    placed = with_logs(known, snapshot.bounds, subject).where(F.col("known") | F.col("consumed"))
    return with_target(with_selection(placed, request, F.expr("true")), request, subject)


def listed_rows(snapshot: PlanFrames, request: Request, subject: Subject, wanted: DataFrame) -> DataFrame:
    """Give the rows of ``to=file`` and ``to=connector``: all that is stored, and all that is listed."""
    known = with_listed(stored_offsets(snapshot.offsets, subject), wanted, subject)
    placed = with_logs(known, snapshot.bounds, subject).where("partition is not null")
    return with_selection(placed, request, F.col("times") > 0).withColumn("clamped", F.expr("false"))


def stored_offsets(offsets: DataFrame, subject: Subject) -> DataFrame:
    """What the snapshot says the connector has stored: partition, before, topic, kafka_partition, before_position."""
    return offsets.where((F.col("connector") == subject.name) & F.col("offset").isNotNull()).select(
        "partition",
        F.col("offset").alias("before"),
        "topic",
        "kafka_partition",
        F.col("position").alias("before_position"),
    )


def with_listed(stored: DataFrame, wanted: DataFrame, subject: Subject) -> DataFrame:
    """Join the entries of a list; where they contradict each other, one of them, and ``conflicting``.

    wanted: partition, after · adds: after, after_position, problems, times, conflicting
    """
    # A null must count as an offset of its own, and collect_set passes over nulls.
    different = F.size(F.collect_set(F.coalesce("after", F.lit("null")))) > 1
    listed = (
        wanted.groupBy("partition")
        .agg(F.min("after").alias("after"), F.count("*").cast("int").alias("times"), different.alias("conflicting"))
        .withColumn("place", family_columns.place(subject)("partition", "after"))
    )
    return (
        stored.join(listed, "partition", "full")
        .withColumn("topic", F.coalesce("topic", "place.topic"))
        .withColumn("kafka_partition", F.coalesce("kafka_partition", "place.kafka_partition"))
        .withColumn("after_position", F.col("place.position"))
        .withColumn("problems", F.col("place.problems"))
        .drop("place")
    )


def with_logs(known: DataFrame, bounds: DataFrame, subject: Subject) -> DataFrame:
    """Add the log's columns, and rows for partitions of the cluster that aren't known.

    One join and one window; the topics of the cluster are in the rows already.
    """
    if not subject.family.has_positions:
        bounds = bounds.limit(0)
    logs = bounds.select(
        *("topic", "kafka_partition", "log_start", "log_end", "lookup_offset"),
        *("retention_ms", "expired_offset", "expiring_offset"),
    )
    per_topic = Window.partitionBy("topic")
    reset_position = {OffsetReset.EARLIEST: F.col("log_start"), OffsetReset.LATEST: F.col("log_end")}.get(
        subject.family.offset_reset(subject.config), F.lit(None).cast("long")
    )
    return (
        known.join(logs, ["topic", "kafka_partition"], "full")
        .withColumn("topic_exists", F.max(F.col("log_end").isNotNull()).over(per_topic))
        .withColumn("consumed", is_consumed(subject))
        .withColumn("reset_position", reset_position)
        .withColumn("here", F.coalesce("before_position", "reset_position"))
    )


def is_consumed(subject: Subject) -> Column:
    """Whether the connector's configuration makes it read ``topic``; null where that can't be told."""
    consumed, excluded = subject.family.consumed_topics(subject.config), subject.family.excluded_topics(subject.config)
    if consumed is None:
        return F.lit(None).cast("boolean")
    read = matches_whole(F.col("topic"), consumed)
    return read if excluded is None else read & ~matches_whole(F.col("topic"), excluded)


def with_selection(rows: DataFrame, request: Request, eligible: Column) -> DataFrame:
    """Add ``selected``: what is eligible and matches the request's ``topics`` and ``partitions``."""
    chosen = eligible
    if request.topics is not None:
        chosen = chosen & matches_whole(F.col("topic"), request.topics)
    if request.partitions is not None:
        chosen = chosen & _in_ranges(request.partitions)
    return rows.withColumn("selected", F.coalesce(chosen, F.expr("false")))


def _in_ranges(partitions: PartitionSet) -> Column:
    chosen = F.expr("false")
    for low, high in partitions.ranges:
        chosen = chosen | F.col("kafka_partition").between(low, high)
    return chosen


def with_target(rows: DataFrame, request: Request, subject: Subject) -> DataFrame:
    """Add after, after_position, clamped and problems, and the partition where only its log was known.

    A moment after the last record means the log end. ``shift`` and moments stop at the log start, as
    kafka-consumer-groups does.
    """
    wanted = _wanted_position(request)
    clampable = request.to.by_time or request.to is To.SHIFT
    too_low = F.coalesce(wanted < F.col("log_start"), F.expr("false")) if clampable else F.expr("false")
    aimed = family_columns.aim(subject)("partition", "topic", "kafka_partition", "after_position")
    return (
        rows.withColumn("clamped", too_low)
        .withColumn("after_position", F.when(F.col("clamped"), F.col("log_start")).otherwise(wanted))
        .withColumn("aim", aimed)
        .withColumn("partition", F.col("aim.partition"))
        .withColumn("after", F.col("aim.after"))
        .withColumn("problems", F.col("aim.problems"))
        .drop("aim")
    )


def _wanted_position(request: Request) -> Column:
    end, amount = F.col("log_end"), F.lit(request.amount).cast("long")
    nowhere = F.lit(None).cast("long")
    by_time = F.coalesce("lookup_offset", end)
    # Past the largest long there is no record either, so that the largest does for all.
    moved = F.when(F.col("here").isNotNull(), F.coalesce(F.try_add("here", amount), F.lit(MAX_LONG)))
    return {
        To.EARLIEST: F.col("log_start"),
        To.LATEST: end,
        To.CURRENT: nowhere,
        To.CLEAR: nowhere,
        To.OFFSET: amount,
        To.DATETIME: by_time,
        To.DURATION: by_time,
        To.SHIFT: moved,
        To.SKIP: moved,
    }[request.to]
