"""The job ``plan``: plan the change of a connector's offsets in each run directory.

Reads ``request.json``, ``connectors``, ``connector_offsets`` and ``log_bounds``; writes ``offset_plan``, ``verdicts``
and, last of all, ``summary.json``. An error in the request becomes a verdict; the job itself does not fail.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.pipeline.frames import PlanFrames, write_dataset
from airflow_provider_connect_offsets.pipeline.plan.plan import Planned, plan
from airflow_provider_connect_offsets.pipeline.session import Job
from airflow_provider_connect_offsets.pipeline.summary import SAMPLE, now, sampled, verdict_counts, write_summary
from airflow_provider_connect_offsets.workspace.layout import RunDirectory

# Concurrent plans: most of a small plan's time is spent in one thread of Spark's driver.
AT_ONCE = 4
# A plan has one connector's offsets: more tasks and adaptive execution would only cost time.
DEFAULTS = {"spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false"}

# How many classes Spark keeps that it generated for queries; by default 100, which the queries of four plans push out
# before the next plans can use them. It is fixed when the session starts.
GENERATED_CLASSES = {"spark.sql.codegen.cache.maxEntries": "1000"}


def run(spark: SparkSession, directory: RunDirectory) -> dict[str, Any]:
    """Plan the request of ``directory``, write the datasets, and return the summary."""
    # The summary of an earlier attempt would belong to another plan.
    jvm.remove(spark, directory.summary)
    request = Request.from_json(jvm.read_json(spark, directory.request))
    planned = plan(spark, PlanFrames.read(spark, directory), request)
    try:
        return publish(spark, directory, planned, summarise(planned, request))
    finally:
        # Spark compares every later query with all that are cached.
        planned.forget()


def publish(spark: SparkSession, directory: RunDirectory, planned: Planned, summary: dict[str, Any]) -> dict[str, Any]:
    """Write the datasets of a plan and, last of all, its summary; return the summary."""
    # One file each: the datasets are small, and people open them.
    in_order = planned.rows.coalesce(1).sortWithinPartitions("topic", "kafka_partition", "partition")
    write_dataset(in_order, directory.offset_plan)
    write_dataset(planned.verdicts.coalesce(1), directory.verdicts)
    return write_summary(spark, directory.summary, summary)


def summarise(planned: Planned, request: Request) -> dict[str, Any]:
    """The summary, which a task returns and a report shows: counts of rows, records and verdicts, and the digest."""
    counts = planned.counts
    sample = sampled(planned.verdicts)
    messages = {
        severity: [row["message"] for row in sample if row["severity"] == severity][:SAMPLE] for severity in Severity
    }
    return {
        "connector": request.connector,
        "request": request.as_json(),
        "partitions": counts.partitions,
        "set": counts.set,
        "clear": counts.clear,
        "keep": counts.keep,
        "records_again": counts.records_again,
        "records_skipped": counts.records_skipped,
        "digest": counts.digest,
        **verdict_counts(sample),
        "worst": next((severity.value for severity in Severity if messages[severity]), None),
        "errors": messages[Severity.ERROR],
        "warnings": messages[Severity.WARNING],
        "planned_at": now(),
    }


def _run_all(spark: SparkSession, uris: list[str]) -> None:
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        for _summary in pool.map(lambda uri: run(spark, RunDirectory(uri)), uris):
            pass  # each run has written its summary; the first error ends the application


JOB = Job(
    name="plan",
    usage="RUN_DIRECTORY [RUN_DIRECTORY ...]",
    run=_run_all,
    takes=range(1, sys.maxsize),
    defaults={**DEFAULTS, **GENERATED_CLASSES},
)
