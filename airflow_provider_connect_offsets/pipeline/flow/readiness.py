"""Measure a flow's partitions: lag, loss and age of offset syncs, now and over earlier runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.frames import conform
from airflow_provider_connect_offsets.workspace.flow_schemas import LAG_HISTORY, LAG_TREND, READINESS

DRAWN = 8


@dataclass(frozen=True, slots=True)
class ObservedLogs:
    """What was observed of a flow's logs.

    Attributes:
        offsets: dataset ``connector_offsets`` of the MirrorSource
        topics: dataset ``flow_topics``
        bounds: dataset ``log_bounds`` of both clusters
        remaining: dataset ``remaining``
        syncs: dataset ``offset_syncs``
        source: the source's ``kafka_cluster`` in ``bounds``
        target: the target's ``kafka_cluster`` in ``bounds``
        observed_at: when the flow was observed
        starts_elsewhere: whether MirrorSource starts elsewhere than at the log start if no offset is stored
    """

    offsets: DataFrame
    topics: DataFrame
    bounds: DataFrame
    remaining: DataFrame
    syncs: DataFrame
    source: str
    target: str
    observed_at: datetime
    starts_elsewhere: bool = False


def readiness(observed: ObservedLogs) -> DataFrame:
    """Dataset ``readiness``: a row for each partition that the flow reads or has an offset for.

    ``lag`` counts offsets from the position (stored + 1) to the log end, or from the log start if the position is
    missing or out of range. It is 0 if no record remains, though transaction markers may. ``lag_ms`` is the age of the
    first record that is not replicated. Both are null if unknown: the partition no longer exists, or no offset is
    stored and MirrorSource then starts elsewhere than at the log start.
    ``lost`` counts offsets between the position and the log start. ``unsynced`` counts offsets replicated after the
    newest sync, and ``sync_age_ms`` is the age of that sync; 0 if ``unsynced`` is 0. Both are null without a position
    or a sync.
    """
    rows = (
        _source_partitions(observed)
        .join(F.broadcast(observed.topics), "topic", "left")
        .join(_remote_ends(observed), ["target_topic", "kafka_partition"], "left")
        .join(observed.remaining.select(*KEY, "log_offset", "written_at"), list(KEY), "left")
        .join(newest_syncs(observed.syncs), list(KEY), "left")
        .withColumn("observed_at", F.lit(observed.observed_at))
    )
    unknown = F.col("log_end").isNull() | (F.col("position").isNull() & F.lit(observed.starts_elsewhere))
    drained = F.col("log_offset").isNull()
    unsynced = clip_negative(F.col("position") - 1 - F.col("sync_upstream"))
    none = F.lit(0).cast("long")
    return conform(
        rows.withColumns(
            {
                "target_topic": F.coalesce("target_topic", "topic"),
                "lag": F.when(unknown, None).when(drained, none).otherwise(F.col("log_end") - _resumes_at()),
                "lag_ms": F.when(unknown, None).when(drained, none).otherwise(_milliseconds_since("written_at")),
                "lost": F.when(
                    F.col("position") <= F.col("log_end"), clip_negative(F.col("log_start") - F.col("position"))
                ),
                "unsynced": unsynced,
                "sync_age_ms": F.when(unsynced == 0, none).when(unsynced > 0, _milliseconds_since("sync_at")),
            }
        ),
        READINESS,
    )


def newest_syncs(syncs: DataFrame) -> DataFrame:
    """The last sync of each partition.

    Args:
        syncs: dataset ``offset_syncs``

    Returns:
        topic, kafka_partition, sync_upstream, sync_downstream, sync_at
    """
    last = F.max_by(
        F.struct(
            F.col("upstream").alias("sync_upstream"),
            F.col("downstream").alias("sync_downstream"),
            F.col("log_timestamp").alias("sync_at"),
        ),
        "log_offset",
    ).alias("last")
    return syncs.groupBy(*KEY).agg(last).select(*KEY, "last.*")


def with_progress(rows: DataFrame, history: DataFrame, *, stuck_after: int) -> DataFrame:
    """Compare each partition with earlier runs.

    Args:
        rows: dataset ``readiness``
        history: dataset ``lag_history`` of earlier runs
        stuck_after: seconds without progress after which a partition is stuck

    Returns:
        ``rows`` with earlier_topic_id, earlier_target_topic_id, earlier_at (of the run before) and stuck_since (time of
        the last observation at least ``stuck_after`` ago; null unless it had the same position, and a lag then and now)
    """
    ids = F.struct(
        F.col("topic_id").alias("earlier_topic_id"),
        F.col("target_topic_id").alias("earlier_target_topic_id"),
        F.col("observed_at").alias("earlier_at"),
    )
    now = rows.select(*KEY, F.col("position").alias("now_at"), F.col("observed_at").alias("now"))
    is_old = F.unix_millis("observed_at") <= F.unix_millis("now") - stuck_after * 1000
    then = F.struct("position", "lag", "observed_at")
    earlier = (
        history.join(now, list(KEY))
        .groupBy(*KEY)
        .agg(
            F.max_by(ids, "observed_at").alias("ids"),
            F.max_by(F.when(is_old, then), F.when(is_old, F.col("observed_at"))).alias("then"),
            F.first("now_at").alias("now_at"),
        )
        .select(
            *KEY,
            "ids.*",
            F.when(
                F.col("then.position").eqNullSafe(F.col("now_at")) & (F.col("then.lag") > 0),
                F.col("then.observed_at"),
            ).alias("stuck_since"),
        )
    )
    return rows.join(earlier, list(KEY), "left").withColumn(
        "stuck_since", F.when(F.col("lag") > 0, F.col("stuck_since"))
    )


def as_history(rows: DataFrame, *, run_uri: str) -> DataFrame:
    """Rows of a run for dataset ``lag_history``, from its dataset ``readiness``."""
    return conform(rows.withColumn("run_uri", F.lit(run_uri)), LAG_HISTORY)


def trend(history: DataFrame, *, drawn: int = DRAWN) -> DataFrame:
    """Dataset ``lag_trend``: total lag and greatest age of all partitions, and the partitions that lag most.

    Args:
        history: dataset ``lag_history``, including this run
        drawn: how many partitions, ranked by their lag in the newest run, then by their greatest lag
    """
    sums = history.groupBy("observed_at").agg(F.sum("lag").alias("lag"), F.max("lag_ms").alias("lag_ms"))
    total = sums.withColumns({"topic": F.lit(None).cast("string"), "kafka_partition": F.lit(None).cast("int")})
    greatest = history.groupBy(*KEY).agg(F.max_by("lag", "observed_at").alias("now"), F.max("lag").alias("ever"))
    order = [F.desc_nulls_last("now"), F.desc_nulls_last("ever"), F.col("topic"), F.col("kafka_partition")]
    worst = greatest.orderBy(*order).limit(drawn).select(*KEY)
    lines = history.join(F.broadcast(worst), list(KEY), "left_semi")
    return conform(total, LAG_TREND).unionByName(conform(lines, LAG_TREND))


def _source_partitions(observed: ObservedLogs) -> DataFrame:
    """Partitions of the source.

    Returns topic, kafka_partition, log_start, log_end (null: the partition no longer exists), position (null: no offset
    is stored).
    """
    logs = observed.bounds.where(F.col("kafka_cluster") == observed.source).select(*KEY, "log_start", "log_end")
    stored = observed.offsets.where(F.col("topic").isNotNull() & F.col("kafka_partition").isNotNull()).select(
        *KEY, "position"
    )
    return logs.join(stored.where(F.col("position").isNotNull()), list(KEY), "full")


def _remote_ends(observed: ObservedLogs) -> DataFrame:
    return observed.bounds.where(F.col("kafka_cluster") == observed.target).select(
        F.col("topic").alias("target_topic"), "kafka_partition", F.col("log_end").alias("target_end")
    )


def _resumes_at() -> Column:
    """Where MirrorMaker 2 would resume; the log start if its position is missing or beyond the log end."""
    usable = F.col("position").isNotNull() & (F.col("position") <= F.col("log_end"))
    return F.when(usable, F.col("position")).otherwise(F.col("log_start"))


def _milliseconds_since(column: str) -> Column:
    """Age when the flow was observed; not negative if another clock is ahead."""
    return clip_negative(F.unix_millis("observed_at") - F.unix_millis(column))


def clip_negative(number: Column) -> Column:
    """The number, or 0 if it is negative; null stays null, which ``greatest`` would ignore."""
    return F.when(number < 0, F.lit(0).cast("long")).otherwise(number)
