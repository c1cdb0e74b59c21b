"""The job ``mirror-reset``: plan the reset of a flow.

Plans the MirrorSource's offsets as the job ``plan`` does. Also reads ``flow.json``, the records of the flow's internal
topics and the log bounds of its remote topics; writes ``reset_topics``; adds to ``summary.json`` and to the verdicts.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.offsets.requests.flow_reset import FlowReset
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.pipeline.flow import mirror_reset
from airflow_provider_connect_offsets.pipeline.frames import (
    PlanFrames,
    make_frame,
    read_dataset,
    verdict_frame,
    write_dataset,
)
from airflow_provider_connect_offsets.pipeline.plan.plan import Planned, plan
from airflow_provider_connect_offsets.pipeline.plan.plan_job import publish, summarise
from airflow_provider_connect_offsets.pipeline.plan.subjects import read_subjects
from airflow_provider_connect_offsets.pipeline.session import Job, begin
from airflow_provider_connect_offsets.pipeline.summary import write_summary
from airflow_provider_connect_offsets.pipeline.translate.mirror_records import (
    checkpoints,
    latest_checkpoints,
    offset_syncs,
)
from airflow_provider_connect_offsets.workspace.flow_schemas import RESET_TOPICS
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory
from airflow_provider_connect_offsets.workspace.schemas import LOG_BOUNDS, STORED_RECORDS


def run(spark: SparkSession, directory: ResetDirectory) -> dict[str, Any]:
    """Plan the request of ``directory``, write the datasets, and return the summary."""
    request = Request.from_json(begin(spark, directory))
    reset = FlowReset.from_json(jvm.read_json(spark, directory.flow))
    snapshot = PlanFrames.read(spark, directory)
    planned = plan(spark, snapshot, request)
    flow_summary = _plan_flow(spark, directory, reset, snapshot, planned)
    verdicts = list(mirror_reset.reset_verdicts(reset, flow_summary, flow_summary["stale_checkpoints"]))
    if verdicts:
        planned = planned.with_verdicts(verdict_frame(spark, verdicts))
    (summary,) = summarise([planned], [request], publish(spark, directory, [planned]))
    return write_summary(spark, directory.summary, {**summary, **flow_summary})


def _plan_flow(
    spark: SparkSession, directory: ResetDirectory, reset: FlowReset, snapshot: PlanFrames, planned: Planned
) -> dict[str, Any]:
    """Write ``reset_topics``, and return its part of the summary."""
    bounds = read_dataset(spark, directory.target_bounds, LOG_BOUNDS)
    syncs = offset_syncs(read_dataset(spark, directory.sync_records, STORED_RECORDS))
    if planned.effects is None:
        again = make_frame(spark, [], "topic string, partitions long, records_again long, duplicates long")
    else:
        again = mirror_reset.count_replicated_again(planned.effects, bounds, reset.flow)
    mirror_source = read_subjects(snapshot.connectors, [reset.source_connector])[reset.source_connector]
    topics = mirror_reset.reset_topics(again, syncs, mirror_source)
    write_dataset(topics.coalesce(1).sortWithinPartitions("topic"), directory.reset_topics)
    latest = latest_checkpoints(checkpoints(read_dataset(spark, directory.checkpoint_records, STORED_RECORDS)))
    stale = mirror_reset.select_beyond_end(latest, snapshot.bounds, bounds, reset.flow)
    return {
        **mirror_reset.totals(read_dataset(spark, directory.reset_topics, RESET_TOPICS)),
        "checkpoints": latest.count(),
        "stale_checkpoints": stale.count(),
        "reset": reset.as_json(),
    }


JOB = Job.of_one_run("mirror-reset", run, ResetDirectory, tasks=2)
