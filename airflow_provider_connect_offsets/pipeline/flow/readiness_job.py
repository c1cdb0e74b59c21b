"""The job ``readiness``: judge how ready a flow is for a failover.

Reads the datasets of the observed flow and the history of earlier runs; writes ``readiness``, ``group_readiness``,
``lag_trend`` of the last ``KEEP`` runs, ``verdicts``, this run's files of history and ledger, and, last of all,
``summary.json``. What is wrong with the flow becomes a verdict; the job itself does not fail.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.advice import mirrored_groups
from airflow_provider_connect_offsets.offsets.families import OffsetReset
from airflow_provider_connect_offsets.offsets.flow import Flow, Side
from airflow_provider_connect_offsets.offsets.requests.readiness import ReadinessRequest
from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.pipeline.failover import failover
from airflow_provider_connect_offsets.pipeline.failover.observed import MEMBERS, ObservedFlow
from airflow_provider_connect_offsets.pipeline.failover.unplanned import Remains
from airflow_provider_connect_offsets.pipeline.flow.flow_rules import flow_verdicts, kind_verdicts
from airflow_provider_connect_offsets.pipeline.flow.group_readiness import group_readiness
from airflow_provider_connect_offsets.pipeline.flow.group_rules import by_group, group_verdicts
from airflow_provider_connect_offsets.pipeline.flow.readiness import (
    ObservedLogs,
    as_history,
    readiness,
    trend,
    with_progress,
)
from airflow_provider_connect_offsets.pipeline.flow.readiness_rules import partition_verdicts
from airflow_provider_connect_offsets.pipeline.flow.readiness_run import ReadinessRun
from airflow_provider_connect_offsets.pipeline.flow.readiness_summary import summarise
from airflow_provider_connect_offsets.pipeline.frames import conform, make_frame, verdict_frame, write_dataset
from airflow_provider_connect_offsets.pipeline.plan.subjects import Subject, read_subjects
from airflow_provider_connect_offsets.pipeline.session import Job, begin
from airflow_provider_connect_offsets.pipeline.summary import now, write_summary
from airflow_provider_connect_offsets.pipeline.translate.ledger import LedgerInput, ledger
from airflow_provider_connect_offsets.pipeline.translate.mirror_records import (
    checkpoints,
    latest_checkpoints,
    offset_syncs,
)
from airflow_provider_connect_offsets.workspace import flow_schemas, schemas
from airflow_provider_connect_offsets.workspace.readiness import ReadinessDirectory

KEEP = 672
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def run(spark: SparkSession, directory: ReadinessDirectory, *, keep: int = KEEP) -> dict[str, Any]:
    """Judge the snapshot in ``directory``, write the datasets, and return the summary.

    Args:
        spark: the session
        directory: the run
        keep: how many runs the history keeps, this job included
    """
    document = begin(spark, directory)
    snapshot = jvm.read_json(spark, directory.snapshot)
    summary = _judge(ReadinessRun(spark, directory, ReadinessRequest.from_json(document), snapshot), keep=keep)
    return write_summary(spark, directory.summary, {"request": document, **snapshot, **summary})


def _judge(job: ReadinessRun, *, keep: int) -> dict[str, Any]:
    directory, thresholds = job.directory, job.request.thresholds
    names = [name for name in (job.request.source_connector, job.request.checkpoint_connector) if name]
    connectors = read_subjects(job.read(directory.connectors, schemas.CONNECTORS), names)
    source, checkpoint = connectors[names[0]], connectors.get(job.request.checkpoint_connector)
    flow = Flow.from_json(job.snapshot["flow"])
    syncs = offset_syncs(job.read(directory.stored_syncs, schemas.STORED_RECORDS)).persist()
    rows = job.write(readiness(_observe_logs(job, flow, source, syncs)), directory.readiness, flow_schemas.READINESS)
    latest = latest_checkpoints(checkpoints(job.read(directory.stored_checkpoints, schemas.STORED_RECORDS)))
    groups = _groups(job, flow, rows, syncs, latest, _publish_ledger(job, flow, syncs, latest))
    syncs.unpersist(blocking=True)
    history = job.history().persist()
    earlier = _runs(history)
    since = min((at for at, _ in earlier[: keep - 1]), default=job.observed_at)
    this_run = as_history(rows, run_uri=directory.uri)
    job.publish(this_run, flow_schemas.LAG_HISTORY, job.snapshot["next_history"])
    kept = history.where(F.col("observed_at") >= F.lit(since)).unionByName(this_run)
    write_dataset(trend(kept).coalesce(1), directory.lag_trend)

    totals = by_group(
        groups.withColumn("observed_at", F.lit(job.observed_at)),
        thresholds,
        None if checkpoint is None else mirrored_groups(checkpoint.config),
    ).persist()
    progress = with_progress(rows, history, stuck_after=thresholds.stuck_after)
    weighed = partition_verdicts(progress, thresholds, connector=source.name, running=source.runs)
    if checkpoint is not None:
        weighed = weighed.unionByName(group_verdicts(totals, thresholds, connector=checkpoint.name))
    of_flow = verdict_frame(job.spark, [*flow_verdicts(source, checkpoint), *kind_verdicts(checkpoint, job.snapshot)])
    weighed = weighed.unionByName(of_flow.withColumn("weight", F.lit(0).cast("long"))).persist()
    job.write(conform(weighed, schemas.VERDICTS), directory.verdicts, schemas.VERDICTS)
    summary = {
        **summarise(rows, totals, weighed),
        "expired": sorted(uri for _, uri in earlier[keep - 1 :]),
        "history_since": since.isoformat(),
        "judged_at": now(),
    }
    history.unpersist(blocking=True)
    weighed.unpersist(blocking=True)
    totals.unpersist(blocking=True)
    return summary


def _groups(
    job: ReadinessRun, flow: Flow, rows: DataFrame, syncs: DataFrame, latest: DataFrame, ledger_now: DataFrame
) -> DataFrame:
    """Write dataset ``group_readiness``.

    ``rows``: dataset ``readiness``; ``latest``: the latest ``checkpoints``; ``ledger_now``: dataset ``mirror_ledger``
    """
    directory = job.directory
    planned = ObservedFlow(
        group_offsets=job.read(directory.group_offsets, schemas.GROUP_OFFSETS),
        partitions=job.read(directory.mirror_partitions, flow_schemas.MIRROR_PARTITIONS),
        syncs=syncs,
        latest=latest.drop("metadata"),
        members=make_frame(job.spark, [], MEMBERS),
        digests=None,
        kept=job.read(directory.kept_mappings, flow_schemas.KEPT_MAPPINGS),
    ).with_known()
    unplanned = replace(
        planned,
        partitions=failover.without_source(job.read(directory.left_partitions, flow_schemas.MIRROR_PARTITIONS)),
        syncs=syncs if flow.syncs_on is Side.TARGET else None,
        kept=None,
        known=None,
        remains=Remains(ledger_now, job.read(directory.flow_topics, flow_schemas.FLOW_TOPICS)),
    ).with_known()
    groups = group_readiness(rows, planned, unplanned, latest, flow=flow)
    return job.write(groups, directory.group_readiness, flow_schemas.GROUP_READINESS)


def _publish_ledger(job: ReadinessRun, flow: Flow, syncs: DataFrame, latest: DataFrame) -> DataFrame:
    """Publish dataset ``mirror_ledger``, which a failover without the source will need."""
    directory = job.directory
    of_source = F.col("kafka_cluster") == flow.source_alias
    observed = LedgerInput(
        partitions=job.read(directory.mirror_partitions, flow_schemas.MIRROR_PARTITIONS),
        topics=job.read(directory.flow_topics, flow_schemas.FLOW_TOPICS),
        syncs=syncs,
        kept=job.read(directory.kept_mappings, flow_schemas.KEPT_MAPPINGS),
        checkpoints=latest,
        positions=job.read(directory.group_offsets, schemas.GROUP_OFFSETS).where(of_source),
        digests=job.read(directory.record_digests, flow_schemas.RECORD_DIGESTS),
        observed_at=job.observed_at,
    )
    uri = job.snapshot["next_ledger"]
    job.publish(ledger(observed, job.ledger()), flow_schemas.MIRROR_LEDGER, uri)
    return job.read_file(uri, flow_schemas.MIRROR_LEDGER)


def _observe_logs(job: ReadinessRun, flow: Flow, source: Subject, syncs: DataFrame) -> ObservedLogs:
    directory = job.directory
    return ObservedLogs(
        offsets=job.read(directory.connector_offsets, schemas.CONNECTOR_OFFSETS),
        topics=job.read(directory.flow_topics, flow_schemas.FLOW_TOPICS),
        bounds=job.read(directory.log_bounds, schemas.LOG_BOUNDS),
        remaining=job.read(directory.remaining, flow_schemas.REMAINING),
        syncs=syncs,
        source=flow.source_alias,
        target=flow.target_alias,
        observed_at=job.observed_at,
        starts_elsewhere=source.reset is not OffsetReset.EARLIEST,
    )


def _runs(history: DataFrame) -> list[tuple[datetime, str]]:
    """List the time and directory of each earlier run in the history, newest first."""
    rows = history.select(F.unix_micros("observed_at").alias("at"), "run_uri").distinct().collect()
    return sorted(((_EPOCH + timedelta(microseconds=row["at"]), row["run_uri"]) for row in rows), reverse=True)


def _run(spark: SparkSession, arguments: list[str]) -> None:
    uri, *keep = arguments
    run(spark, ReadinessDirectory(uri), keep=int(keep[0]) if keep else KEEP)


JOB = Job(
    name="readiness",
    usage="RUN_DIRECTORY [KEEP]",
    run=_run,
    takes={1, 2},
    tasks=4,
)
