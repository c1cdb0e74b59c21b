"""The job ``orphans``: find offsets of connectors that no longer exist.

Reads ``request.json``, ``known.json`` (the connectors that exist) and ``stored_records``; writes ``orphans`` and, last
of all, ``summary.json``. An invalid regular expression becomes the summary's ``problem``; the job itself does not fail.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.orphans import OrphanRequest
from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.pipeline.frames import few_rows, read_dataset, write_dataset
from airflow_provider_connect_offsets.pipeline.orphans.orphans import (
    by_connector,
    key_counts,
    last_of_each_key,
    orphan_digest,
    orphans,
    owned,
)
from airflow_provider_connect_offsets.pipeline.plan.counts import digest_of
from airflow_provider_connect_offsets.pipeline.session import Job, begin
from airflow_provider_connect_offsets.pipeline.summary import now, write_summary
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory
from airflow_provider_connect_offsets.workspace.schemas import ORPHANS, STORED_RECORDS

LISTED = 100
# A compacted topic has at most a few million records: more tasks would cost time and write a file each.
DEFAULTS = {"spark.sql.shuffle.partitions": "8"}


def run(spark: SparkSession, directory: OrphansDirectory) -> dict[str, Any]:
    """Find the orphans that the request of ``directory`` selects, write the dataset, and return the summary."""
    document = begin(spark, directory)
    request = OrphanRequest.from_json(document)
    reason = None if request.connectors is None else jvm.pattern_problem(spark, request.connectors)
    if reason is None:
        summary = _find(spark, directory, request)
    else:
        summary = {"problem": f"connectors: {request.connectors!r} is no regular expression: {reason}."}
    return write_summary(spark, directory.summary, {"request": document, "found_at": now(), **summary})


def _find(spark: SparkSession, directory: OrphansDirectory, request: OrphanRequest) -> dict[str, Any]:
    names = jvm.read_json(spark, directory.known)["connectors"]
    known = few_rows(spark, [(name,) for name in names], "connector string")
    records = read_dataset(spark, directory.stored_records, STORED_RECORDS)
    keys = owned(last_of_each_key(records), known).persist()
    try:
        counts = keys.agg(*key_counts()).first()
        write_dataset(orphans(keys, request), directory.orphans)
    finally:
        keys.unpersist()
    summary = summarise(read_dataset(spark, directory.orphans, ORPHANS))
    return {"problem": None, "known": len(names), **({} if counts is None else counts.asDict()), **summary}


def summarise(rows: DataFrame) -> dict[str, Any]:
    """Totals and digest of dataset ``orphans``, and its largest connectors."""
    totals = rows.agg(
        F.count_distinct("connector").alias("orphaned"),
        F.count("*").alias("partitions"),
        F.coalesce(F.sum("size_bytes"), F.lit(0)).alias("size_bytes"),
        digest_of(orphan_digest()).alias("digest"),
    ).first()
    largest = by_connector(rows).orderBy(F.desc("size_bytes"), "connector").limit(LISTED).collect()
    listed = [_line(row.asDict()) for row in largest]
    counted = {} if totals is None else totals.asDict()
    return {**counted, "connectors": listed, "more": counted.get("orphaned", 0) - len(listed)}


def _line(row: dict[str, Any]) -> dict[str, Any]:
    written_at = datetime.fromtimestamp(row.pop("written_ms") / 1000, tz=UTC)
    return {**row, "written_at": written_at.isoformat(timespec="milliseconds")}


JOB = Job.of_one_run("orphans", run, OrphansDirectory, DEFAULTS)
