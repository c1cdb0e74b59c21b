"""Parts of the summary of the job ``readiness``: counts, the worst error, and the first lines of each table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import Mode
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.pipeline.summary import collect_first, sample_verdicts, totals, verdict_counts

# Errors in the order in which a person should learn of them.
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
# Errors that do not concern a failover, by its mode.
_NOT_OF: Mapping[Mode, Collection[Rule]] = {
    Mode.PLANNED: {Rule.UNPLANNED_COVERAGE, Rule.CHECKPOINT_OLD},
    Mode.UNPLANNED: {Rule.COVERAGE, Rule.REREADS},
}


def summarise(rows: DataFrame, groups: DataFrame, weighed: DataFrame) -> dict[str, Any]:
    """Compute the parts of the summary that come from these frames.

    Args:
        rows: dataset ``readiness``
        groups: what ``group_rules.by_group`` returns
        weighed: dataset ``verdicts``, and weight
    """
    worst_groups = F.desc(F.col("partitions") - F.col("covered")), F.desc_nulls_last("rereads"), "group"
    return {
        **_sums(rows, groups),
        **_count(weighed),
        "worst": _find_worst(weighed),
        "group_lines": collect_first(groups, *worst_groups),
        "partition_lines": _partition_lines(rows),
    }


def _sums(rows: DataFrame, groups: DataFrame) -> dict[str, Any]:
    """Sum up partitions, lag, loss, groups, coverage and re-reads."""
    partitions = totals(
        rows,
        F.count("*").alias("partitions"),
        F.count_if(F.col("lag") > 0).alias("lagging"),
        F.coalesce(F.sum("lag"), F.lit(0)).alias("lag"),
        F.max("lag_ms").alias("lag_ms"),
        F.coalesce(F.sum("lost"), F.lit(0)).alias("lost"),
        F.coalesce(F.sum("unsynced"), F.lit(0)).alias("unsynced"),
    )
    names = ("partitions", "planned", "unplanned", "covered", "exact", "rereads", "checkpoint_rereads")
    counts = totals(
        groups,
        F.count("*").alias("groups"),
        *[F.coalesce(F.sum(name), F.lit(0)).alias(f"group_{name}") for name in (*names, "without_checkpoint")],
    )
    return {**partitions, **counts}


def _count(verdicts: DataFrame) -> dict[str, Any]:
    """Count and sample ``verdicts``, and find for which modes of failover the flow is ready."""
    sample = sample_verdicts(verdicts)
    errors = {row["rule"] for row in sample if row["severity"] == Severity.ERROR}
    return {
        **verdict_counts(sample),
        "sample": sample,
        "ready": not errors,
        "ready_for": [mode.value for mode, others in _NOT_OF.items() if not errors - {rule.value for rule in others}],
    }


def _find_worst(weighed: DataFrame) -> dict[str, Any] | None:
    """Find the error to show first; None without errors."""
    ranks = F.create_map(*[F.lit(part) for rank, rule in enumerate(WORST_FIRST) for part in (rule.value, rank)])
    order = [F.coalesce(ranks[F.col("rule")], F.lit(len(WORST_FIRST))), F.desc("weight"), F.col("message")]
    row = weighed.where(F.col("severity") == Severity.ERROR.value).orderBy(*order).limit(1).first()
    return None if row is None else {"rule": row["rule"], "message": row["message"]}


def _partition_lines(rows: DataFrame) -> list[dict[str, Any]]:
    """Collect the first rows of dataset ``readiness``, worst first; ``sync_at`` in milliseconds since 1970."""
    shown = rows.withColumn("sync_at", F.unix_millis("sync_at")).drop("observed_at", "topic_id", "target_topic_id")
    lag, unsynced = F.desc_nulls_last("lag"), F.desc_nulls_last("unsynced")
    return collect_first(shown, F.desc(F.coalesce("lost", F.lit(0))), lag, unsynced, "topic", "kafka_partition")
