"""The job ``replay``: plan a bounded replay.

Reads ``request.json`` and ``replay_ranges``; writes ``replay_plan``, ``verdicts`` and, last of all, ``summary.json``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.replay import ReplayAction
from airflow_provider_connect_offsets.offsets.requests.replay import ReplayRequest
from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.pipeline.frames import read_dataset, write_dataset
from airflow_provider_connect_offsets.pipeline.plan.counts import digest_of
from airflow_provider_connect_offsets.pipeline.replay.replay import plan_rows, replay_verdicts, row_digest, with_action
from airflow_provider_connect_offsets.pipeline.session import Job, begin
from airflow_provider_connect_offsets.pipeline.summary import SAMPLE, now, sampled, verdict_counts, write_summary
from airflow_provider_connect_offsets.workspace.layout import ReplayDirectory
from airflow_provider_connect_offsets.workspace.schemas import REPLAY_PLAN, REPLAY_RANGES, VERDICTS

# A replay has one connector's partitions: more tasks and adaptive execution would only cost time.
DEFAULTS = {"spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false"}


def run(spark: SparkSession, directory: ReplayDirectory) -> dict[str, Any]:
    """Plan the replay of ``directory``, write the datasets, and return the summary."""
    request = ReplayRequest.from_json(begin(spark, directory))
    decided = with_action(read_dataset(spark, directory.replay_ranges, REPLAY_RANGES))
    age = datetime.now(tz=UTC) - request.begins
    in_order = plan_rows(decided).coalesce(1).sortWithinPartitions("topic", "kafka_partition")
    write_dataset(in_order, directory.replay_plan)
    verdicts = replay_verdicts(decided, request, age_ms=int(age.total_seconds() * 1000))
    write_dataset(verdicts.coalesce(1), directory.verdicts)
    rows = read_dataset(spark, directory.replay_plan, REPLAY_PLAN)
    found = read_dataset(spark, directory.verdicts, VERDICTS)
    return write_summary(spark, directory.summary, summarise(rows, found, request))


def summarise(rows: DataFrame, verdicts: DataFrame, request: ReplayRequest) -> dict[str, Any]:
    """The summary: counts of partitions and offsets, verdicts, and the digest.

    Args:
        rows: dataset ``replay_plan``
        verdicts: dataset ``verdicts``
        request: the request
    """
    is_replayed = F.col("action") == ReplayAction.REPLAY.value
    totals = rows.agg(
        F.count_if(is_replayed).alias("partitions"),
        F.count_if(~is_replayed).alias("left_out"),
        F.coalesce(F.sum(F.col("ends") - F.col("begins")), F.lit(0)).alias("offsets"),
        digest_of(row_digest()).alias("digest"),
    ).first()
    sample = sampled(verdicts)
    messages = {
        severity: [row["message"] for row in sample if row["severity"] == severity][:SAMPLE] for severity in Severity
    }
    return {
        "connector": request.connector,
        "clone": request.clone,
        "request": request.as_json(),
        **({} if totals is None else totals.asDict()),
        **verdict_counts(sample),
        "worst": next((severity.value for severity in Severity if messages[severity]), None),
        "errors": messages[Severity.ERROR],
        "warnings": messages[Severity.WARNING],
        "planned_at": now(),
    }


JOB = Job.of_one_run("replay", run, ReplayDirectory, DEFAULTS)
