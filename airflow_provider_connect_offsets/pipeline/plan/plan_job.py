"""The job ``plan``: plan changes of the offsets of one connector or of many.

Reads ``request.json`` of each connector, ``connectors``, ``connector_offsets`` and ``log_bounds``; writes
``offset_plan``, ``verdicts`` and, last of all, ``summary.json`` of each connector. An error in a request becomes a
verdict; the job itself does not fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.pipeline.frames import PlanFrames, read_dataset, write_together
from airflow_provider_connect_offsets.pipeline.plan.counts import Counts
from airflow_provider_connect_offsets.pipeline.plan.plan import Planned, plans
from airflow_provider_connect_offsets.pipeline.session import Job, begin
from airflow_provider_connect_offsets.pipeline.summary import now, sample_verdicts, summarise_plan, write_summary
from airflow_provider_connect_offsets.workspace.layout import FleetPaths, RunDirectory
from airflow_provider_connect_offsets.workspace.schemas import VERDICTS

# How many classes Spark keeps of those that it generated for queries. With the default of 100, the queries of four
# plans push them out before the next plans can use them. The setting is fixed when the session starts.
GENERATED_CLASSES = {"spark.sql.codegen.cache.maxEntries": "1000"}
# Each connector of a fleet has small files of its own, and an object store takes a moment for each.
_FILES_AT_ONCE = 8
# Sorting and writing so many rows takes a core a few seconds.
ROWS_OF_A_FILE = 100_000


def run(spark: SparkSession, directory: FleetPaths) -> list[dict[str, Any]]:
    """Plan the request of one connector, or the requests of a fleet, as ``run_all`` does."""
    if not jvm.exists(spark, directory.listing):
        return run_all(spark, [directory])
    names = jvm.read_json(spark, directory.listing)["connectors"]
    return run_all(spark, [directory.member(name) for name in names])


def run_all(spark: SparkSession, runs: Sequence[RunDirectory]) -> list[dict[str, Any]]:
    """Plan the requests of runs that share their datasets, write these, and return the summaries."""
    with ThreadPoolExecutor(max_workers=_FILES_AT_ONCE) as pool:
        requests = list(pool.map(lambda one: Request.from_json(begin(spark, one)), runs))
    planned = list(plans(spark, PlanFrames.read(spark, runs[0]), requests))
    try:
        summaries = summarise(planned, requests, publish(spark, runs[0], planned))
    finally:
        for group in planned:
            # Spark compares every later query with all cached queries.
            group.forget()
    with ThreadPoolExecutor(max_workers=_FILES_AT_ONCE) as pool:
        return list(pool.map(lambda one, summary: write_summary(spark, one.summary, summary), runs, summaries))


def publish(spark: SparkSession, directory: RunDirectory, planned: Sequence[Planned]) -> DataFrame:
    """Write the datasets of plans, and return the verdicts as they are written."""
    each = [_files_of(one) for one in planned]
    files = 1 + sum(count - 1 for count in each)
    ordered = [_ordered(one, files=count) for one, count in zip(planned, each, strict=True)]
    write_together(ordered, directory.offset_plan, files=files)
    write_together([one.verdicts for one in planned], directory.verdicts, files=files)
    return read_dataset(spark, directory.verdicts, VERDICTS)


def _files_of(planned: Planned) -> int:
    """Return how many files the rows of a plan take: few, as most plans are small, and people open them."""
    return 1 + sum(counts.partitions for counts in planned.counts.values()) // ROWS_OF_A_FILE


def _ordered(planned: Planned, *, files: int) -> DataFrame:
    order = ("connector", "topic", "kafka_partition", "partition")
    together = planned.rows.coalesce(1) if files == 1 else planned.rows.repartitionByRange(files, *order)
    return together.sortWithinPartitions(*order)


def summarise(planned: Sequence[Planned], requests: Sequence[Request], verdicts: DataFrame) -> list[dict[str, Any]]:
    """Summarise each request, for the task to return and the report to show.

    Args:
        planned: the plans of all requests
        requests: the requests
        verdicts: dataset ``verdicts`` of all requests

    Returns:
        counts of rows, records and verdicts, and the digest
    """
    counts = {name: counted for one in planned for name, counted in one.counts.items()}
    samples: dict[str, list[dict[str, Any]]] = {request.connector: [] for request in requests}
    for row in sample_verdicts(verdicts, "connector"):
        samples[row["connector"]].append(row)
    return [_summary(request, counts[request.connector], samples[request.connector]) for request in requests]


def _summary(request: Request, counts: Counts, sample: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
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
        **summarise_plan(sample),
        "planned_at": now(),
    }


JOB = Job.of_one_run("plan", run, FleetPaths, tasks=2, defaults=GENERATED_CLASSES)
