"""Find the offset that each partition gets, from its stored offset and the request.

The functions add columns to one frame with a row per source partition::

    partition, before string           canonical JSON; before is null if nothing is stored
    topic string, kafka_partition int  null if the family has none
    before_position long               the position that ``before`` means
    log_start, log_end, lookup_offset long   null if there is no such log
    retention_ms, expired_offset, expiring_offset long   as in ``log_bounds``
    topic_exists, consumed boolean     whether the cluster has the topic, and whether the connector reads it
    reset_position long                where auto.offset.reset starts without an offset; null if unknown
    here long                          the connector's position: before_position, else reset_position
    selected boolean                   whether the request selects this row
    after string, after_position long  the offset to store (null: none), and the position that it means
    clamped boolean                    whether the log start replaces an earlier position
    problems array                     what the family reports about the partition or a listed offset
    times int, conflicting boolean     how often a list has the partition, and whether with different offsets
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.families import MAX_LONG, OffsetReset
from airflow_provider_connect_offsets.offsets.requests.request import PartitionSet, Request, To
from airflow_provider_connect_offsets.pipeline.frames import PlanFrames, Subject, matches_whole
from airflow_provider_connect_offsets.pipeline.plan import family_columns


def target_rows(snapshot: PlanFrames, request: Request, subject: Subject) -> DataFrame:
    """The rows of a request without a list: partitions with a stored offset, and those that the connector reads."""
    known = stored_offsets(snapshot.offsets, subject).withColumn("known", F.expr("true"))
    rows = with_logs(known, snapshot.bounds, subject).where(F.col("known") | F.col("consumed"))
    return with_target(with_selection(rows, request, F.expr("true")), request, subject)


def listed_rows(snapshot: PlanFrames, request: Request, subject: Subject, listed: DataFrame) -> DataFrame:
    """The rows of ``to=file`` and ``to=connector``: partitions with a stored offset, and those in the list."""
    known = with_listed(stored_offsets(snapshot.offsets, subject), listed, subject)
    rows = with_logs(known, snapshot.bounds, subject).where("partition is not null")
    return with_selection(rows, request, F.col("times") > 0).withColumn("clamped", F.expr("false"))


def stored_offsets(offsets: DataFrame, subject: Subject) -> DataFrame:
    """Offsets of the connector in the snapshot: partition, before, topic, kafka_partition, before_position."""
    return offsets.where((F.col("connector") == subject.name) & F.col("offset").isNotNull()).select(
        "partition",
        F.col("offset").alias("before"),
        "topic",
        "kafka_partition",
        F.col("position").alias("before_position"),
    )


def with_listed(stored: DataFrame, listed: DataFrame, subject: Subject) -> DataFrame:
    """Add the entries of a list; of entries that contradict each other, one is taken.

    Args:
        stored: what ``stored_offsets`` returns
        listed: partition, after
        subject: the connector

    Returns:
        ``stored``, with rows for other partitions of the list, and after, after_position, problems, times, conflicting
    """
    # collect_set ignores null, and a removal must count as another offset.
    different = F.size(F.collect_set(F.coalesce("after", F.lit("null")))) > 1
    entries = (
        listed.groupBy("partition")
        .agg(F.min("after").alias("after"), F.count("*").cast("int").alias("times"), different.alias("conflicting"))
        .withColumn("entry", family_columns.position(subject)("partition", "after"))
    )
    return (
        stored.join(entries, "partition", "full")
        .withColumn("topic", F.coalesce("topic", "entry.topic"))
        .withColumn("kafka_partition", F.coalesce("kafka_partition", "entry.kafka_partition"))
        .withColumn("after_position", F.col("entry.position"))
        .withColumn("problems", F.col("entry.problems"))
        .drop("entry")
    )


def with_logs(known: DataFrame, bounds: DataFrame, subject: Subject) -> DataFrame:
    """Add the log's columns, and rows for all other partitions of the cluster; one join and one window."""
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
    """Whether the connector reads ``topic``, by its configuration; null if unknown."""
    consumed, excluded = subject.family.consumed_topics(subject.config), subject.family.excluded_topics(subject.config)
    if consumed is None:
        return F.lit(None).cast("boolean")
    read = matches_whole(F.col("topic"), consumed)
    if not subject.family.lists_topics:
        return F.when(read, F.expr("true"))
    return read if excluded is None else read & ~matches_whole(F.col("topic"), excluded)


def with_selection(rows: DataFrame, request: Request, eligible: Column) -> DataFrame:
    """Add ``selected``: whether a row is eligible and matches the request's ``topics`` and ``partitions``."""
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
    """Add after, after_position, clamped and problems, and the partition if a row has only its log.

    A time after the last record means the log end. ``shift`` and times stop at the log start, as
    kafka-consumer-groups does.
    """
    requested = _requested_position(request)
    clampable = request.to.by_time or request.to is To.SHIFT
    too_low = F.coalesce(requested < F.col("log_start"), F.expr("false")) if clampable else F.expr("false")
    target = family_columns.target(subject)("partition", "topic", "kafka_partition", "after_position")
    return (
        rows.withColumn("clamped", too_low)
        .withColumn("after_position", F.when(F.col("clamped"), F.col("log_start")).otherwise(requested))
        .withColumn("target", target)
        .withColumn("partition", F.col("target.partition"))
        .withColumn("after", F.col("target.after"))
        .withColumn("problems", F.col("target.problems"))
        .drop("target")
    )


def _requested_position(request: Request) -> Column:
    end, amount = F.col("log_end"), F.lit(request.amount).cast("long")
    nowhere = F.lit(None).cast("long")
    by_time = F.coalesce("lookup_offset", end)
    # An overflow becomes the largest long; no log reaches that far.
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
