"""spark-submit's entry for the reset of a flow: ``mirror_reset_job.py RUN_DIRECTORY``.

Plans the MirrorSource's offsets as ``plan_job.py`` does, and with them what else goes: reads ``flow.json``, the records
of the flow's own topics and the bounds of its remote topics as well, writes ``reset_topics``, and says more in
``summary.json`` and in the verdicts.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.offsets.requests.flow_reset import FlowReset
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.pipeline.flow import mirror_reset
from airflow_provider_connect_offsets.pipeline.frames import (
    PlanFrames,
    Subject,
    few_rows,
    read_dataset,
    verdict_frame,
    write_dataset,
)
from airflow_provider_connect_offsets.pipeline.plan.plan import Planned, plan
from airflow_provider_connect_offsets.pipeline.plan.plan_job import DEFAULTS, publish, summarise
from airflow_provider_connect_offsets.pipeline.session import Job
from airflow_provider_connect_offsets.pipeline.translate.mirror_records import (
    checkpoints,
    latest_checkpoints,
    offset_syncs,
)
from airflow_provider_connect_offsets.workspace.flow_schemas import RESET_TOPICS
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory
from airflow_provider_connect_offsets.workspace.schemas import LOG_BOUNDS, STORED_RECORDS


def run(spark: SparkSession, directory: ResetDirectory) -> dict[str, Any]:
    """Plan what ``directory`` asks for, write the datasets, and return the summary."""
    # A summary that an earlier attempt left would vouch for a plan that is not its own.
    jvm.remove(spark, directory.summary)
    request = Request.from_json(json.loads(jvm.read_text(spark, directory.request)))
    reset = FlowReset.from_json(json.loads(jvm.read_text(spark, directory.flow)))
    snapshot = PlanFrames.read(spark, directory)
    planned = plan(spark, snapshot, request)
    more = _beside(spark, directory, reset, snapshot, planned)
    verdicts = list(mirror_reset.reset_verdicts(reset, more, more["stale_checkpoints"]))
    if verdicts:
        planned = replace(planned, verdicts=planned.verdicts.unionByName(verdict_frame(spark, verdicts)))
    return publish(spark, directory, planned, {**summarise(planned, request), **more})


def _beside(
    spark: SparkSession, directory: ResetDirectory, reset: FlowReset, snapshot: PlanFrames, planned: Planned
) -> dict[str, Any]:
    """Write ``reset_topics``, and sum it up."""
    bounds = read_dataset(spark, directory.target_bounds, LOG_BOUNDS)
    syncs = offset_syncs(read_dataset(spark, directory.sync_records, STORED_RECORDS))
    if planned.effects is None:
        again = few_rows(spark, [], "topic string, partitions long, records_again long, duplicates long")
    else:
        again = mirror_reset.replicated_again(planned.effects, bounds, reset.flow)
    found = mirror_reset.reset_topics(again, syncs, Subject.of(snapshot.connectors, reset.source_connector))
    write_dataset(found.coalesce(1).sortWithinPartitions("topic"), directory.reset_topics)
    latest = latest_checkpoints(checkpoints(read_dataset(spark, directory.checkpoint_records, STORED_RECORDS)))
    stale = mirror_reset.beyond_the_end(latest, snapshot.bounds, bounds, reset.flow)
    summed = mirror_reset.totals(read_dataset(spark, directory.reset_topics, RESET_TOPICS))
    return {
        **summed,
        "checkpoints": latest.count(),
        "stale_checkpoints": stale.count(),
        "reset": reset.as_json(),
    }


JOB = Job(
    name="mirror-reset",
    usage="RUN_DIRECTORY",
    run=lambda spark, arguments: run(spark, ResetDirectory(*arguments)),
    takes={1},
    defaults=DEFAULTS,
)
