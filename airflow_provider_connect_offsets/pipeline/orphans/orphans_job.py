"""spark-submit's entry for orphaned offsets: ``orphans_job.py RUN_DIRECTORY``.

Reads ``request.json``, ``known.json`` and ``stored_records`` under the run directory (a URI that Hadoop understands),
and writes ``orphans`` and, last of all, ``summary.json``. A pattern that is none ends as the summary's ``problem``; the
exit code says only whether the job ran.
"""

from __future__ import annotations

import json
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
from airflow_provider_connect_offsets.pipeline.session import Job
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory
from airflow_provider_connect_offsets.workspace.schemas import ORPHANS, STORED_RECORDS

LISTED = 100
# A compacted topic has a few million records at most: more tasks would only cost time, and leave a file each.
DEFAULTS = {"spark.sql.shuffle.partitions": "8"}


def run(spark: SparkSession, directory: OrphansDirectory) -> dict[str, Any]:
    """Find what ``directory`` asks for, write the datasets, and return the summary."""
    # A summary that an earlier attempt left would vouch for a dataset that is not its own.
    jvm.remove(spark, directory.summary)
    asked = json.loads(jvm.read_text(spark, directory.request))
    request = OrphanRequest.from_json(asked)
    reason = None if request.connectors is None else jvm.pattern_problem(spark, request.connectors)
    if reason is None:
        summary = _found(spark, directory, request)
    else:
        summary = {"problem": f"connectors: {request.connectors!r} is no regular expression: {reason}."}
    told = {"request": asked, "found_at": datetime.now(tz=UTC).isoformat(timespec="milliseconds"), **summary}
    text = json.dumps(told, indent=2, sort_keys=True, ensure_ascii=False)
    jvm.write_text(spark, directory.summary, text + "\n")
    return told


def _found(spark: SparkSession, directory: OrphansDirectory, request: OrphanRequest) -> dict[str, Any]:
    names = json.loads(jvm.read_text(spark, directory.known))["connectors"]
    known = few_rows(spark, [(name,) for name in names], "connector string")
    records = read_dataset(spark, directory.stored_records, STORED_RECORDS)
    keys = owned(last_of_each_key(records), known).persist()
    try:
        counts = keys.agg(*key_counts()).first()
        write_dataset(orphans(keys, request), directory.orphans)
    finally:
        keys.unpersist()
    found = read_dataset(spark, directory.orphans, ORPHANS)
    return {"problem": None, "known": len(names), **({} if counts is None else counts.asDict()), **summarise(found)}


def summarise(found: DataFrame) -> dict[str, Any]:
    """Sum up the dataset ``orphans``: totals, digest, and the largest connectors one by one."""
    connectors = by_connector(found)
    totals = found.agg(
        F.count_distinct("connector").alias("orphaned"),
        F.count("*").alias("partitions"),
        F.coalesce(F.sum("size_bytes"), F.lit(0)).alias("size_bytes"),
        digest_of(orphan_digest()).alias("digest"),
    ).first()
    rows = connectors.orderBy(F.desc("size_bytes"), "connector").limit(LISTED).collect()
    listed = [_line(row.asDict()) for row in rows]
    counted = {} if totals is None else totals.asDict()
    return {**counted, "connectors": listed, "more": counted.get("orphaned", 0) - len(listed)}


def _line(row: dict[str, Any]) -> dict[str, Any]:
    written_at = datetime.fromtimestamp(row.pop("written_ms") / 1000, tz=UTC)
    return {**row, "written_at": written_at.isoformat(timespec="milliseconds")}


JOB = Job(
    name="orphans",
    usage="RUN_DIRECTORY",
    run=lambda spark, arguments: run(spark, OrphansDirectory(*arguments)),
    takes={1},
    defaults=DEFAULTS,
)
