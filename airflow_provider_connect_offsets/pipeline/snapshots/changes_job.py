"""The job ``offset-changes``: compare a snapshot of a Connect cluster with the one before.

Reads ``request.json``, ``kept.json`` and both kept snapshots; writes ``offset_changes``, ``verdicts`` and, last of all,
``summary.json``. What has changed becomes a verdict; the job itself does not fail.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.snapshots import COMPARED, SnapshotRequest
from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.pipeline.frames import make_frame, read_dataset, write_dataset
from airflow_provider_connect_offsets.pipeline.session import Job, begin
from airflow_provider_connect_offsets.pipeline.snapshots.changes import (
    Observed,
    OffsetChange,
    change_verdicts,
    offset_changes,
)
from airflow_provider_connect_offsets.pipeline.summary import (
    collect_first,
    now,
    sample_verdicts,
    totals,
    verdict_counts,
    write_summary,
)
from airflow_provider_connect_offsets.workspace.schemas import (
    CONNECTOR_OFFSETS,
    CONNECTORS,
    LOG_BOUNDS,
    OFFSET_CHANGES,
    VERDICTS,
)
from airflow_provider_connect_offsets.workspace.snapshots import (
    ComparisonDirectory,
    KeptSnapshot,
    SnapshotDirectory,
    SnapshotRecord,
)

_UNEXPECTED = (OffsetChange.VANISHED, OffsetChange.MOVED_BACK, OffsetChange.JUMPED, OffsetChange.STUCK)


def run(spark: SparkSession, directory: ComparisonDirectory) -> dict[str, Any]:
    """Compare the snapshots that ``directory`` names, write the datasets, and return the summary."""
    document = begin(spark, directory)
    request = SnapshotRequest.from_json(document)
    kept = KeptSnapshot.from_json(jvm.read_json(spark, directory.kept))
    record, later = _read(spark, kept.uri)
    before, earlier = (None, None) if kept.previous is None else _read(spark, kept.previous)
    write_dataset(offset_changes(later, earlier, request).coalesce(1), directory.offset_changes)
    rows = read_dataset(spark, directory.offset_changes, OFFSET_CHANGES)
    write_dataset(change_verdicts(rows, request, record).coalesce(1), directory.verdicts)
    summary = {
        "request": document,
        **kept.as_json(),
        "observed_at": record.as_json()["observed_at"],
        "previous_at": None if before is None else before.as_json()["observed_at"],
        "connect_cluster": record.connect_cluster,
        "connectors": record.connectors,
        "unread": len(record.unread),
        **_totals(rows),
        **_summarise(read_dataset(spark, directory.verdicts, VERDICTS)),
        "connector_lines": _connector_lines(rows),
        "judged_at": now(),
    }
    return write_summary(spark, directory.summary, summary)


def _read(spark: SparkSession, uri: str) -> tuple[SnapshotRecord, Observed]:
    snapshot = SnapshotDirectory(uri)
    record = SnapshotRecord.from_json(jvm.read_json(spark, snapshot.record))
    return record, Observed(
        connectors=read_dataset(spark, snapshot.connectors, CONNECTORS),
        offsets=read_dataset(spark, snapshot.connector_offsets, CONNECTOR_OFFSETS),
        bounds=read_dataset(spark, snapshot.log_bounds, LOG_BOUNDS),
        logs=make_frame(spark, list(record.logs.items()), "family string, kafka_cluster string"),
        unread=tuple(record.unread),
    )


def _totals(rows: DataFrame) -> dict[str, Any]:
    """Count the partitions with an offset, sum up their lag, and count the partitions by what happened to them."""
    values = totals(
        rows,
        F.count_if(F.col("after").isNotNull()).alias("partitions"),
        F.coalesce(F.sum("lag"), F.lit(0)).alias("lag"),
        *[F.count_if(F.col("change") == change.value).alias(change.value) for change in OffsetChange],
    )
    changes = {change.value: values.pop(change.value) for change in OffsetChange}
    return {**values, "changes": changes}


def _summarise(verdicts: DataFrame) -> dict[str, Any]:
    """Count and sample dataset ``verdicts``, and find the error that a person should learn of first."""
    sample = sample_verdicts(verdicts)
    order = [rule.value for rule in COMPARED]
    severities = [severity.value for severity in Severity]
    found = sorted(sample, key=lambda row: (severities.index(row["severity"]), order.index(row["rule"])))
    worst = found[0] if found and found[0]["severity"] == Severity.ERROR else None
    return {**verdict_counts(sample), "found": found, "worst": worst}


def _connector_lines(rows: DataFrame) -> list[dict[str, Any]]:
    """List the first connectors: those with most unexpected changes come first, then those with most lag."""
    odd = F.col("change").isin([change.value for change in _UNEXPECTED])
    by_connector = rows.groupBy("connector").agg(
        F.first("state").alias("state"),
        F.first("family").alias("family"),
        F.count("*").alias("partitions"),
        F.count_if(odd).alias("odd"),
        F.count_if(F.coalesce(F.col("before") != F.col("after"), F.expr("false"))).alias("moved_partitions"),
        F.sum("moved").alias("moved"),
        F.sum("lag").alias("lag"),
    )
    lag, moved = F.desc_nulls_last("lag"), F.desc_nulls_last("moved")
    return collect_first(by_connector, F.desc("odd"), lag, moved, "connector")


JOB = Job.of_one_run("offset-changes", run, ComparisonDirectory)
