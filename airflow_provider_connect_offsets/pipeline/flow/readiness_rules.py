"""Verdicts on a flow's partitions: each rule is a condition on a row and a message.

Each verdict has a weight, which ranks verdicts of the same rule.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.readiness import Thresholds
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.pipeline.verdicts import finding, sentence, verdicts

_NO = "false"


def partition_verdicts(rows: DataFrame, thresholds: Thresholds, *, connector: str, running: bool) -> DataFrame:
    """Judge the partitions.

    Args:
        rows: what ``readiness.with_progress`` returns
        thresholds: limits of the request
        connector: the MirrorSource's name
        running: whether the connector and all its tasks are RUNNING; otherwise no partition is reported as stuck

    Returns:
        dataset ``verdicts``, and weight (long)
    """
    findings = [
        _loss(),
        *_judge_recreated(),
        *_remote_partition(),
        *([_judge_stuck()] if running and thresholds.stuck_after else []),
        _lag(thresholds),
        *_syncs(thresholds),
    ]
    weight = F.greatest(*[F.coalesce(name, F.lit(0)) for name in ("lost", "lag", "unsynced")])
    return verdicts(
        rows,
        findings,
        weight.cast("long").alias("weight"),
        connector=F.lit(connector),
        partition=F.to_json(F.struct(F.col("kafka_partition").alias("partition"), "topic")),
        prefix=sentence("`{connector}`, topic `{topic}`, partition {kafka_partition}: ", connector=connector),
    )


def _loss() -> Column:
    return finding(
        Rule.RETENTION_LOSS,
        Severity.ERROR,
        F.col("lost") > 0,
        "records {position:number} to {last:number} ({lost:offset}) were deleted from the source before they "
        "were replicated. The source's log now starts at {log_start:number}, and the remote topic will never have "
        "these records.",
        last=F.col("log_start") - 1,
    )


def _judge_recreated() -> list[Column]:
    other = _differs("topic_id")
    return [
        finding(
            Rule.SOURCE_RECREATED,
            Severity.ERROR,
            other,
            "the source topic has been deleted and created again since the run of {earlier_at:moment}. Positions and "
            "offset syncs belong to the old topic, so new records may not be replicated, and groups may resume at "
            "wrong positions. Reset the flow.",
        ),
        finding(
            Rule.SOURCE_RECREATED,
            Severity.ERROR,
            (F.col("position") > F.col("log_end")) & ~other,
            "MirrorMaker 2 is at position {position:number}, beyond the log end {log_end:number}. The source topic "
            "was deleted and created again, or has lost its last records. auto.offset.reset decides where MirrorMaker "
            "2 continues, and positions of groups now refer to different records. Reset the flow.",
        ),
        finding(
            Rule.SOURCE_RECREATED,
            Severity.WARNING,
            F.col("log_end").isNull(),
            "the partition no longer exists on the source, but MirrorMaker 2 keeps position {position:number} for it. "
            "If the partition is created again, it is not replicated from its beginning.",
        ),
    ]


def _remote_partition() -> list[Column]:
    shorter = F.coalesce(F.col("target_end") <= F.col("sync_downstream"), F.expr(_NO))
    return [
        finding(
            Rule.REMOTE_TOPIC_LOST,
            Severity.ERROR,
            F.col("target_end").isNull() & F.col("position").isNotNull() & F.col("log_end").isNotNull(),
            "it was replicated up to {position:number}, but the target has no partition {kafka_partition} of "
            "`{target_topic}`. Reset the flow.",
        ),
        finding(
            Rule.REMOTE_TOPIC_LOST,
            Severity.ERROR,
            shorter,
            "the remote topic `{target_topic}` ends at {target_end:number}, but an offset sync refers to offset "
            "{sync_downstream:number} in it. The remote topic was deleted and created again, or has lost its last "
            "records. Reset the flow.",
        ),
        finding(
            Rule.REMOTE_TOPIC_LOST,
            Severity.ERROR,
            _differs("target_topic_id") & ~shorter,
            "the remote topic `{target_topic}` has been deleted and created again since the run of "
            "{earlier_at:moment}, so the target no longer has the records that were replicated before. Reset the flow.",
        ),
    ]


def _judge_stuck() -> Column:
    return finding(
        Rule.STUCK,
        Severity.ERROR,
        F.col("stuck_since").isNotNull(),
        "the connector is RUNNING, but has been at position {position:number} since at least {stuck_since:moment}, "
        "with a lag of {lag:record}.",
    )


def _lag(thresholds: Thresholds) -> Column:
    many = F.lit(thresholds.max_lag_records > 0) & (F.col("lag") > thresholds.max_lag_records)
    old = F.lit(thresholds.max_lag_seconds > 0) & (F.col("lag_ms") > thresholds.max_lag_seconds * 1000)
    age = sentence("; the oldest is {seconds:number} s old", seconds=F.col("lag_ms") / 1000)
    return finding(
        Rule.LAG,
        Severity.ERROR,
        F.coalesce(many, F.expr(_NO)) | F.coalesce(old, F.expr(_NO)),
        "{lag:record is} not replicated yet{age}.",
        age=F.coalesce(age, F.lit("")),
    )


def _syncs(thresholds: Thresholds) -> list[Column]:
    if not thresholds.max_sync_age:
        return []
    return [
        finding(
            Rule.SYNC_MISSING,
            Severity.ERROR,
            F.col("sync_at").isNull() & F.col("position").isNotNull() & F.col("log_end").isNotNull(),
            "it is replicated up to {position:number}, but has no offset sync, so no group's position can be "
            "translated.",
        ),
        finding(
            Rule.SYNC_OLD,
            Severity.ERROR,
            F.col("sync_age_ms") > thresholds.max_sync_age * 1000,
            "{unsynced:record was} replicated after the newest offset sync ({sync_at:moment}).",
        ),
    ]


def _differs(column: str) -> Column:
    """Whether an id differs from the id in the run before; false if either is unknown."""
    return F.coalesce(F.col(column) != F.col(f"earlier_{column}"), F.expr(_NO))
