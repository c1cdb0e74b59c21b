"""The summary of a look at a flow's readiness: counts, the worst, and the longest lines of each table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import Mode
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.pipeline.plan.plan_job import sampled

LISTED = 100
# Of findings as bad as each other, the one that a person should hear of first.
WORST_FIRST = (
    Rule.RETENTION_LOSS,
    Rule.SOURCE_RECREATED,
    Rule.REMOTE_TOPIC_LOST,
    Rule.FLOW_MISMATCH,
    Rule.NOT_RUNNING,
    Rule.FAILOVER_SETTING,
    Rule.STUCK,
    Rule.LAG,
    Rule.SYNC_MISSING,
    Rule.SYNC_OLD,
    Rule.COVERAGE,
    Rule.UNPLANNED_COVERAGE,
    Rule.CHECKPOINT_OLD,
    Rule.REREADS,
)
# Errors that concern a failover of the other kind only.
_NOT_OF: Mapping[Mode, Collection[Rule]] = {
    Mode.PLANNED: {Rule.UNPLANNED_COVERAGE, Rule.CHECKPOINT_OLD},
    Mode.UNPLANNED: {Rule.COVERAGE, Rule.REREADS},
}


def sums(rows: DataFrame, totals: DataFrame) -> dict[str, Any]:
    """Partitions, lag and loss; groups, coverage and re-reads."""
    partitions = rows.agg(
        F.count("*").alias("partitions"),
        F.count_if(F.col("lag") > 0).alias("lagging"),
        F.coalesce(F.sum("lag"), F.lit(0)).alias("lag"),
        F.max("lag_ms").alias("lag_ms"),
        F.coalesce(F.sum("lost"), F.lit(0)).alias("lost"),
        F.coalesce(F.sum("unsynced"), F.lit(0)).alias("unsynced"),
    ).first()
    names = ("partitions", "planned", "unplanned", "covered", "exact", "rereads", "checkpoint_rereads")
    groups = totals.agg(
        F.count("*").alias("groups"),
        *[F.coalesce(F.sum(name), F.lit(0)).alias(f"group_{name}") for name in (*names, "without_checkpoint")],
    ).first()
    return {**(partitions.asDict() if partitions else {}), **(groups.asDict() if groups else {})}


def counted(verdicts: DataFrame) -> dict[str, Any]:
    """Verdicts by severity and rule, some of each, and whether, and for which kind of failover, the flow is ready."""
    sample = sampled(verdicts)
    times = {(row["severity"], row["rule"]): row["times"] for row in sample}
    errors = {rule for severity, rule in times if severity == Severity.ERROR}
    by_severity = {
        severity.value: sum(number for (level, _), number in times.items() if level == severity)
        for severity in Severity
    }
    return {
        "verdicts": by_severity,
        "rules": {rule: sum(n for (_, of), n in times.items() if of == rule) for rule in sorted({r for _, r in times})},
        "sample": sample,
        "ready": not errors,
        "ready_for": [mode.value for mode, others in _NOT_OF.items() if not errors - {rule.value for rule in others}],
    }


def worst(weighed: DataFrame) -> dict[str, Any] | None:
    """The error that a person should hear of first; None where there is none."""
    ranks = F.create_map(*[F.lit(part) for rank, rule in enumerate(WORST_FIRST) for part in (rule.value, rank)])
    order = [F.coalesce(ranks[F.col("rule")], F.lit(len(WORST_FIRST))), F.desc("weight"), F.col("message")]
    row = weighed.where(F.col("severity") == Severity.ERROR.value).orderBy(*order).limit(1).first()
    return None if row is None else {"rule": row["rule"], "message": row["message"]}


def partition_lines(rows: DataFrame) -> list[dict[str, Any]]:
    """Rows of the dataset ``readiness``, worst first."""
    spoken = rows.withColumn("sync_at", F.unix_millis("sync_at")).drop("observed_at", "topic_id", "target_topic_id")
    orders = (
        F.desc(F.coalesce("lost", F.lit(0))),
        F.desc_nulls_last("lag"),
        F.desc_nulls_last("unsynced"),
        "topic",
        "kafka_partition",
    )
    return lines(spoken, *orders)


def lines(frame: DataFrame, *order: Any) -> list[dict[str, Any]]:
    """The first rows in that order."""
    return [row.asDict() for row in frame.orderBy(*order).limit(LISTED).collect()]
