"""Find the offset that each partition gets, from its stored offset and the request.

The functions add columns to one frame with a row for each source partition of each connector::

    connector string
    partition, before string           canonical JSON; before is null if nothing is stored
    topic string, kafka_partition int  null if the family has none
    before_position long               the position that ``before`` means
    log_start, log_end, lookup_offset long   null if there is no such log
    retention_ms, expired_offset, expiring_offset long   as in ``log_bounds``
    consumed boolean                   whether the connector reads the topic; null if unknown
    reset_position long                where auto.offset.reset starts without an offset; null if unknown
    here long                          the connector's position: before_position, else reset_position; for a skip, the
                                       offset of the record that the connector reads next
    selected boolean                   whether the request selects this row
    after string, after_position long  the offset to store (null: none), and the position that it means
    clamped boolean                    whether the log start replaces an earlier position
    problems array                     what the family reports about the partition or a listed offset
    times int, conflicting boolean     how often a list has the partition, and whether with different offsets
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.families import MAX_LONG, OffsetReset
from airflow_provider_connect_offsets.offsets.requests.place import PartitionSet, To
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.pipeline.frames import PlanFrames, matches_whole
from airflow_provider_connect_offsets.pipeline.plan import family_columns
from airflow_provider_connect_offsets.pipeline.plan.subjects import Subjects, is_consumed

_LOG_OF = ("connector", "topic", "kafka_partition")


def target_rows(snapshot: PlanFrames, request: Request, subjects: Subjects) -> DataFrame:
    """The rows of a request without a list: partitions with a stored offset, and partitions that a connector reads."""
    logs = logs_of(snapshot, subjects)
    read = subjects.each(logs.select("topic", "kafka_partition")).where(is_consumed(subjects.kind)).select(*_LOG_OF)
    rows = with_logs(stored_offsets(snapshot.offsets, subjects).join(read, [*_LOG_OF], "full"), logs, subjects)
    if request.to is To.SKIP:
        rows = _move_to_next_record(rows, snapshot.next_records)
    return with_target(with_selection(rows, request, F.expr("true")), request, subjects)


def listed_rows(snapshot: PlanFrames, request: Request, subjects: Subjects, listed: DataFrame) -> DataFrame:
    """The rows of a request with a list: partitions with a stored offset, and partitions in the list."""
    known = with_listed(stored_offsets(snapshot.offsets, subjects), listed, subjects)
    rows = with_logs(known, logs_of(snapshot, subjects), subjects)
    return with_selection(rows, request, F.col("times") > 0).withColumn("clamped", F.expr("false"))


def stored_offsets(offsets: DataFrame, subjects: Subjects) -> DataFrame:
    """Offsets in the snapshot: connector, partition, before, topic, kafka_partition, before_position."""
    return (
        subjects.of(offsets)
        .where("offset is not null")
        .select(
            "connector",
            "partition",
            F.col("offset").alias("before"),
            "topic",
            "kafka_partition",
            F.col("position").alias("before_position"),
        )
    )


def with_listed(stored: DataFrame, listed: DataFrame, subjects: Subjects) -> DataFrame:
    """Add the entries of a list; if entries for a partition contradict each other, one of them is taken.

    Args:
        stored: what ``stored_offsets`` returns
        listed: connector, partition, after
        subjects: the connectors

    Returns:
        ``stored``, with rows for other partitions of the list, and after, after_position, problems, times, conflicting
    """
    # collect_set ignores null, and a removal must count as another offset.
    different = F.size(F.collect_set(F.coalesce("after", F.lit("null")))) > 1
    entries = (
        listed.groupBy("connector", "partition")
        .agg(F.min("after").alias("after"), F.count("*").cast("int").alias("times"), different.alias("conflicting"))
        .withColumn("entry", family_columns.position(subjects)("connector", "partition", "after"))
    )
    return (
        stored.join(entries, ["connector", "partition"], "full")
        .withColumn("topic", F.coalesce("topic", "entry.topic"))
        .withColumn("kafka_partition", F.coalesce("kafka_partition", "entry.kafka_partition"))
        .withColumn("after_position", F.col("entry.position"))
        .withColumn("problems", F.col("entry.problems"))
        .drop("entry")
    )


def logs_of(snapshot: PlanFrames, subjects: Subjects) -> DataFrame:
    """The columns of the cluster's logs that a plan needs; no rows if the family's offsets are not positions."""
    bounds = snapshot.bounds if subjects.kind.family.has_positions else snapshot.bounds.limit(0)
    return bounds.select(
        *("topic", "kafka_partition", "log_start", "log_end", "lookup_offset"),
        *("retention_ms", "expired_offset", "expiring_offset"),
    )


def with_logs(known: DataFrame, logs: DataFrame, subjects: Subjects) -> DataFrame:
    """Add the columns of ``logs``, and the columns consumed, reset_position and here."""
    reset_position = {OffsetReset.EARLIEST: F.col("log_start"), OffsetReset.LATEST: F.col("log_end")}.get(
        subjects.kind.reset, F.lit(None).cast("long")
    )
    return (
        subjects.with_patterns(known.join(logs, ["topic", "kafka_partition"], "left"))
        .withColumn("consumed", is_consumed(subjects.kind))
        .withColumn("reset_position", reset_position)
        .withColumn("here", F.coalesce("before_position", "reset_position"))
    )


def _move_to_next_record(rows: DataFrame, next_records: DataFrame) -> DataFrame:
    """Set ``here`` to the record that is read next, as a transaction marker before it does not count as skipped."""
    there = rows.join(next_records, [*_LOG_OF], "left")
    return there.withColumn("here", F.coalesce("next_record", "here")).drop("next_record")


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


def with_target(rows: DataFrame, request: Request, subjects: Subjects) -> DataFrame:
    """Add after, after_position, clamped and problems, and the partition of rows that have only a log.

    A time after the last record means the log end. ``shift`` and times go back no further than the log start, as in
    kafka-consumer-groups.
    """
    requested = _requested_position(request)
    clampable = request.to.by_time or request.to is To.SHIFT
    too_low = F.coalesce(requested < F.col("log_start"), F.expr("false")) if clampable else F.expr("false")
    target = family_columns.target(subjects)("connector", "partition", "topic", "kafka_partition", "after_position")
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
