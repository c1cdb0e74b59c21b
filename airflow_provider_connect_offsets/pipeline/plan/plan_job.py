"""spark-submit's entry for the plan: ``plan_job.py RUN_DIRECTORY [RUN_DIRECTORY …]``, one directory per connector.

Reads ``request.json``, ``connectors``, ``connector_offsets`` and ``log_bounds`` under the run directory (a URI that
Hadoop understands) and writes ``offset_plan``, ``verdicts`` and, last of all, ``summary.json``.
Whatever is wrong with the request ends as a verdict; the exit code says only whether the job ran.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.pipeline.frames import PlanFrames, write_dataset
from airflow_provider_connect_offsets.pipeline.plan.plan import Planned, plan
from airflow_provider_connect_offsets.pipeline.session import Job
from airflow_provider_connect_offsets.workspace.layout import RunDirectory

SAMPLE = 20
# Most of a small plan's time goes into Spark's driver, one thread at a time.
AT_ONCE = 4
# A plan is as small as one connector's offsets: more tasks, or plans adapted while they run, would only cost time.
DEFAULTS = {"spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false"}


def run(spark: SparkSession, directory: RunDirectory) -> dict[str, Any]:
    """Plan what ``directory`` asks for, write the datasets, and return the summary."""
    # A summary that an earlier attempt left would vouch for a plan that is not its own.
    jvm.remove(spark, directory.summary)
    request = Request.from_json(json.loads(jvm.read_text(spark, directory.request)))
    planned = plan(spark, PlanFrames.read(spark, directory), request)
    return publish(spark, directory, planned, summarise(planned, request))


def publish(spark: SparkSession, directory: RunDirectory, planned: Planned, summary: dict[str, Any]) -> dict[str, Any]:
    """Write the datasets of a plan and, last of all, its summary; return that."""
    # One file each: a plan is as large as one connector's offsets, and people open it.
    in_order = planned.rows.coalesce(1).sortWithinPartitions("topic", "kafka_partition", "partition")
    write_dataset(in_order, directory.offset_plan)
    write_dataset(planned.verdicts.coalesce(1), directory.verdicts)
    text = json.dumps(summary, indent=2, sort_keys=True, ensure_ascii=False)
    jvm.write_text(spark, directory.summary, text + "\n")
    return summary


def summarise(planned: Planned, request: Request) -> dict[str, Any]:
    """Say what a task returns and a report shows: rows by action, records, verdicts, and the plan's digest."""
    counts = planned.counts
    sample = sampled(planned.verdicts)
    times = {(row["severity"], row["rule"]): row["times"] for row in sample}
    by_severity = {
        severity.value: sum(number for (level, _), number in times.items() if level == severity)
        for severity in Severity
    }
    rules = {rule: sum(n for (_, named), n in times.items() if named == rule) for rule in sorted({r for _, r in times})}
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
        "verdicts": by_severity,
        "rules": rules,
        "worst": next((severity.value for severity in Severity if by_severity[severity.value]), None),
        "errors": _messages(sample, Severity.ERROR),
        "warnings": _messages(sample, Severity.WARNING),
        "planned_at": datetime.now(tz=UTC).isoformat(timespec="milliseconds"),
    }


def sampled(verdicts: DataFrame) -> list[dict[str, Any]]:
    """Collect some verdicts of each rule and severity, with ``times``: how many there are of the kind."""
    kind = Window.partitionBy("severity", "rule")
    numbered = verdicts.withColumn("times", F.count("*").over(kind)).withColumn(
        "number", F.row_number().over(kind.orderBy("message"))
    )
    rows = numbered.where(F.col("number") <= SAMPLE).select("severity", "rule", "message", "times").collect()
    return sorted((row.asDict() for row in rows), key=lambda row: (row["rule"], row["message"]))


def _messages(sample: list[dict[str, Any]], severity: Severity) -> list[str]:
    return [row["message"] for row in sample if row["severity"] == severity][:SAMPLE]


def _run_all(spark: SparkSession, uris: list[str]) -> None:
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        for _summary in pool.map(lambda uri: run(spark, RunDirectory(uri)), uris):
            pass  # each has written its own; the first error ends the application


JOB = Job(
    name="plan",
    usage="RUN_DIRECTORY [RUN_DIRECTORY ...]",
    run=_run_all,
    takes=range(1, sys.maxsize),
    defaults=DEFAULTS,
)
