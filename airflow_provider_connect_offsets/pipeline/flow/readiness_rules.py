"""Verdicts on a flow's partitions: each rule is a condition on a row and a sentence for people.

Each verdict has a weight, which ranks verdicts of the same rule.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.readiness import Thresholds
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.pipeline.plan.findings import finding

_NO = "false"


def partition_verdicts(rows: DataFrame, thresholds: Thresholds, *, connector: str, running: bool) -> DataFrame:
    """Judge the partitions.

    Args:
        rows: what ``readiness.with_progress`` returns
        thresholds: limits of the request
        connector: the MirrorSource
        running: whether the connector and all its tasks are RUNNING; else no partition is reported as stuck

    Returns:
        dataset ``verdicts``, and weight (long)
    """
    findings = [
        *_loss(),
        *_recreated(),
        *_remote_partition(),
        *([_stuck()] if running and thresholds.stuck_after else []),
        *_lag(thresholds),
        *_syncs(thresholds),
    ]
    prefix = F.format_string("`%s`, topic `%s`, partition %d: ", F.lit(connector), "topic", "kafka_partition")
    weight = F.greatest(*[F.coalesce(name, F.lit(0)) for name in ("lost", "lag", "unsynced")])
    partition = F.to_json(F.struct(F.col("kafka_partition").alias("partition"), "topic"))
    return weighed_verdicts(rows, findings, connector=connector, prefix=prefix, partition=partition, weight=weight)


def _loss() -> list[Column]:
    return [
        finding(
            Rule.RETENTION_LOSS,
            Severity.ERROR,
            F.col("lost") > 0,
            "records ",
            number("position"),
            " to ",
            F.format_number(F.col("log_start") - 1, 0),
            " (",
            number("lost"),
            " offsets) were deleted from the source before they were replicated: its log now starts at ",
            number("log_start"),
            ". The remote topic will never have them.",
        )
    ]


def _recreated() -> list[Column]:
    other = _differs("topic_id")
    return [
        finding(
            Rule.SOURCE_RECREATED,
            Severity.ERROR,
            other,
            "the source topic was deleted and created again since the run of ",
            moment("earlier_at"),
            ". Positions and offset syncs belong to the old topic, so new records may be left out, and groups may "
            "resume anywhere. Reset the flow.",
        ),
        finding(
            Rule.SOURCE_RECREATED,
            Severity.ERROR,
            (F.col("position") > F.col("log_end")) & ~other,
            "MirrorMaker 2 has position ",
            number("position"),
            ", beyond the log end ",
            number("log_end"),
            ": the source topic was deleted and created again, or has lost its end. MirrorMaker 2 continues as its "
            "auto.offset.reset decides, and positions of groups mean other records now. Reset the flow.",
        ),
        finding(
            Rule.SOURCE_RECREATED,
            Severity.WARNING,
            F.col("log_end").isNull(),
            "it no longer exists on the source, and MirrorMaker 2 keeps position ",
            number("position"),
            " for it: if it is created again, it is not replicated from its beginning.",
        ),
    ]


def _remote_partition() -> list[Column]:
    shorter = F.coalesce(F.col("target_end") <= F.col("sync_downstream"), F.expr(_NO))
    return [
        finding(
            Rule.REMOTE_TOPIC_LOST,
            Severity.ERROR,
            F.col("target_end").isNull() & F.col("position").isNotNull() & F.col("log_end").isNotNull(),
            "it was replicated up to ",
            number("position"),
            ", but on the target there is no such partition of `",
            F.col("target_topic"),
            "`. Reset the flow.",
        ),
        finding(
            Rule.REMOTE_TOPIC_LOST,
            Severity.ERROR,
            shorter,
            "its remote topic `",
            F.col("target_topic"),
            "` ends at ",
            number("target_end"),
            ", but an offset sync refers to its record ",
            number("sync_downstream"),
            ": it was deleted and created again, or has lost its end. Reset the flow.",
        ),
        finding(
            Rule.REMOTE_TOPIC_LOST,
            Severity.ERROR,
            _differs("target_topic_id") & ~shorter,
            "its remote topic `",
            F.col("target_topic"),
            "` was deleted and created again since the run of ",
            moment("earlier_at"),
            ", so records that were replicated before are gone from the target. Reset the flow.",
        ),
    ]


def _stuck() -> Column:
    return finding(
        Rule.STUCK,
        Severity.ERROR,
        F.col("stuck_since").isNotNull(),
        "the connector runs, but has been at position ",
        number("position"),
        " at least since ",
        moment("stuck_since"),
        ", with a lag of ",
        number("lag"),
        " records.",
    )


def _lag(thresholds: Thresholds) -> list[Column]:
    many = F.lit(thresholds.max_lag_records > 0) & (F.col("lag") > thresholds.max_lag_records)
    old = F.lit(thresholds.max_lag_seconds > 0) & (F.col("lag_ms") > thresholds.max_lag_seconds * 1000)
    age = F.format_number(F.col("lag_ms") / 1000, 0)
    return [
        finding(
            Rule.LAG,
            Severity.ERROR,
            F.coalesce(many, F.expr(_NO)) | F.coalesce(old, F.expr(_NO)),
            number("lag"),
            " records are not replicated yet",
            F.coalesce(F.concat(F.lit(", the first of them "), age, F.lit(" s old")), F.lit("")),
            ".",
        )
    ]


def _syncs(thresholds: Thresholds) -> list[Column]:
    if not thresholds.max_sync_age:
        return []
    return [
        finding(
            Rule.SYNC_MISSING,
            Severity.ERROR,
            F.col("sync_at").isNull() & F.col("position").isNotNull() & F.col("log_end").isNotNull(),
            "it is replicated up to ",
            number("position"),
            " without an offset sync, so no group can be translated.",
        ),
        finding(
            Rule.SYNC_OLD,
            Severity.ERROR,
            F.col("sync_age_ms") > thresholds.max_sync_age * 1000,
            number("unsynced"),
            " records were replicated after the newest offset sync, which is of ",
            moment("sync_at"),
            ".",
        ),
    ]


def _differs(column: str) -> Column:
    """Whether an id differs from that of the run before; false if one of them is unknown."""
    return F.coalesce(F.col(column) != F.col(f"earlier_{column}"), F.expr(_NO))


def weighed_verdicts(
    rows: DataFrame, findings: list[Column], *, connector: str, prefix: Column, partition: Column, weight: Column
) -> DataFrame:
    """Make verdicts of findings.

    Args:
        rows: any frame
        findings: columns of ``findings.finding``
        connector: the connector of the verdicts
        prefix: beginning of each message
        partition: the verdict's partition, JSON
        weight: ranks verdicts of the same rule

    Returns:
        dataset ``verdicts``, and weight (long)
    """
    return (
        rows.withColumn("finding", F.explode(F.array_compact(F.array(*findings))))
        .withColumn("prefix", prefix)
        .select(
            F.col("finding.rule").alias("rule"),
            F.col("finding.severity").alias("severity"),
            F.lit(connector).alias("connector"),
            partition.alias("partition"),
            F.concat("prefix", "finding.message").alias("message"),
            weight.cast("long").alias("weight"),
        )
    )


def number(column: str) -> Column:
    """A number with thousands separators."""
    return F.format_number(F.col(column), 0)


def moment(column: str) -> Column:
    """A timestamp as text, in UTC, to the second."""
    return F.concat(
        F.date_format(F.to_utc_timestamp(column, F.current_timezone()), "yyyy-MM-dd HH:mm:ss"), F.lit(" UTC")
    )
