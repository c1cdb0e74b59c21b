"""spark-submit's entry for the plan: ``plan_job.py RUN_DIRECTORY``.

Reads ``request.json``, ``connectors``, ``connector_offsets`` and ``log_bounds`` under the run directory (a URI that
Hadoop understands) and writes ``offset_plan``, ``verdicts`` and, last of all, ``offset_plan/summary.json``.
Whatever is wrong with the request ends as a verdict; the exit code says only whether the job ran.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.request import Request
from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.pipeline import family_columns
from airflow_provider_connect_offsets.pipeline.frames import shaped
from airflow_provider_connect_offsets.pipeline.plan import Snapshot, plan
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.schemas import OFFSET_PLAN

SAMPLE = 20


def run(spark: SparkSession, directory: RunDirectory) -> dict[str, Any]:
    """Plan what ``directory`` asks for, write the datasets, and return the summary."""
    request = Request.from_json(json.loads(_read_text(spark, directory.request)))
    snapshot = Snapshot(
        connectors=spark.read.parquet(directory.connectors),
        offsets=spark.read.parquet(directory.connector_offsets),
        bounds=spark.read.parquet(directory.log_bounds),
    )
    rows, verdicts = plan(spark, snapshot, request)
    # One file each: a plan is as large as one connector's offsets, and people open it.
    shaped(rows, OFFSET_PLAN).coalesce(1).write.mode("overwrite").parquet(directory.offset_plan)
    verdicts.coalesce(1).write.mode("overwrite").parquet(directory.verdicts)
    written = spark.read.parquet(directory.verdicts)
    summary = summarise(rows, written, request)
    _write_text(spark, directory.summary, json.dumps(summary, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    return summary


def summarise(rows: DataFrame, verdicts: DataFrame, request: Request) -> dict[str, Any]:
    """Count what a task returns and a report shows: rows by action, records, verdicts, and the plan's digest."""
    digest = family_columns.row_digest()("connector", "family", "partition", "before", "after", "action")
    counts = (
        rows.withColumn("digest", digest)
        .agg(
            F.count("*").alias("partitions"),
            *[F.count(F.when(F.col("action") == action, 1)).alias(action) for action in ("set", "clear", "keep")],
            F.coalesce(F.sum("records_again"), F.lit(0)).alias("records_again"),
            F.coalesce(F.sum("records_skipped"), F.lit(0)).alias("records_skipped"),
            F.sha2(F.array_join(F.array_sort(F.collect_list("digest")), ""), 256).alias("digest"),
        )
        .collect()[0]
        .asDict()
    )
    per_rule = verdicts.groupBy("severity", "rule").agg(F.count("*").alias("times")).collect()
    by_severity = {
        severity.value: sum(r["times"] for r in per_rule if r["severity"] == severity) for severity in Severity
    }
    worst = next((severity.value for severity in Severity if by_severity[severity.value]), None)
    return {
        **counts,
        "connector": request.connector,
        "request": request.as_json(),
        "verdicts": by_severity,
        "rules": {row["rule"]: row["times"] for row in sorted(per_rule)},
        "worst": worst,
        "errors": _sample(verdicts, Severity.ERROR),
        "warnings": _sample(verdicts, Severity.WARNING),
        "planned_at": datetime.now(tz=UTC).isoformat(timespec="milliseconds"),
    }


def _sample(verdicts: DataFrame, severity: Severity) -> list[str]:
    found = verdicts.where(F.col("severity") == severity.value).orderBy("rule", "partition").limit(SAMPLE)
    return [row["message"] for row in found.collect()]


def _read_text(spark: SparkSession, uri: str) -> str:
    return str(spark.read.text(uri, wholetext=True).collect()[0]["value"])


def _write_text(spark: SparkSession, uri: str, text: str) -> None:
    """Write a small file where Spark itself writes, whichever file system that is; py4j is the only way to it."""
    context = spark.sparkContext
    jvm = context._jvm  # noqa: SLF001
    if jvm is None:
        raise RuntimeError("the plan job needs a Spark session with a JVM of its own (spark-submit), not Spark Connect")
    path = jvm.org.apache.hadoop.fs.Path(uri)
    stream = path.getFileSystem(context._jsc.hadoopConfiguration()).create(path, True)  # type: ignore[attr-defined]  # noqa: FBT003, SLF001
    try:
        stream.write(bytearray(text.encode()))
    finally:
        stream.close()


def main(arguments: list[str]) -> int:
    """Run as a Spark application."""
    if len(arguments) != 1:
        sys.stderr.write("usage: plan_job.py RUN_DIRECTORY\n")
        return 2
    spark = SparkSession.builder.appName("connect-offsets plan").getOrCreate()
    # A plan is as small as one connector's offsets: more tasks would only cost time.
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    run(spark, RunDirectory(arguments[0]))
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
