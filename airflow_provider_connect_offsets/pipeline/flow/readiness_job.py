"""spark-submit's entry for a flow's readiness: ``readiness_job.py RUN_DIRECTORY [KEEP]``.

Reads what the snapshot has written under the run directory (a URI that Hadoop understands) and the history of earlier
runs, and writes ``readiness``, ``group_readiness``, ``lag_trend`` of the last ``KEEP`` runs, ``verdicts``, this
run's file of the history, and, last of all, ``summary.json``. What is wrong with the flow stands there; the exit code
says only whether it ran.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.advice import mirrored_groups
from airflow_provider_connect_offsets.offsets.families import FAMILIES, MirrorSource
from airflow_provider_connect_offsets.offsets.family import OffsetReset
from airflow_provider_connect_offsets.offsets.flow import Flow, Side
from airflow_provider_connect_offsets.offsets.requests.readiness import ReadinessRequest
from airflow_provider_connect_offsets.offsets.verdicts import Verdict
from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.pipeline.failover import failover
from airflow_provider_connect_offsets.pipeline.failover.observed import ObservedFlow
from airflow_provider_connect_offsets.pipeline.failover.unplanned import Left
from airflow_provider_connect_offsets.pipeline.flow.flow_rules import FlowConnector, flow_verdicts
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
from airflow_provider_connect_offsets.pipeline.flow.readiness_summary import (
    counted,
    lines,
    partition_lines,
    sums,
    worst,
)
from airflow_provider_connect_offsets.pipeline.frames import (
    WHOLE,
    few_rows,
    shaped,
    struct_type,
    write_dataset,
)
from airflow_provider_connect_offsets.pipeline.session import Job
from airflow_provider_connect_offsets.pipeline.translate.ledger import LedgerInput, ledger
from airflow_provider_connect_offsets.pipeline.translate.mirror_records import (
    checkpoints,
    latest_checkpoints,
    offset_syncs,
)
from airflow_provider_connect_offsets.workspace.flow_schemas import (
    FLOW_TOPICS,
    GROUP_READINESS,
    KEPT_MAPPINGS,
    LAG_HISTORY,
    MIRROR_LEDGER,
    MIRROR_PARTITIONS,
    READINESS,
    RECORD_DIGESTS,
    REMAINING,
)
from airflow_provider_connect_offsets.workspace.readiness import ReadinessDirectory
from airflow_provider_connect_offsets.workspace.schemas import (
    CONNECTOR_OFFSETS,
    GROUP_OFFSETS,
    LOG_BOUNDS,
    STORED_RECORDS,
    VERDICTS,
)

KEEP = 672
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Thousands of partitions and some hundred thousand positions of groups at most: more tasks would only cost time.
DEFAULTS = {
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.enabled": "false",
}


def run(spark: SparkSession, directory: ReadinessDirectory, *, keep: int = KEEP) -> dict[str, Any]:
    """Judge the snapshot in ``directory``, write the datasets, and return the summary."""
    # A summary that an earlier attempt left would vouch for datasets that are not its own.
    jvm.remove(spark, directory.summary)
    asked = json.loads(jvm.read_text(spark, directory.request))
    snapshot = json.loads(jvm.read_text(spark, directory.snapshot))
    summary = _judged(ReadinessRun(spark, directory, ReadinessRequest.from_json(asked), snapshot), keep=keep)
    told = {"request": asked, **snapshot, **summary}
    text = json.dumps(told, indent=2, sort_keys=True, ensure_ascii=False)
    jvm.write_text(spark, directory.summary, text + "\n")
    return told


def _judged(one: ReadinessRun, *, keep: int) -> dict[str, Any]:
    directory, thresholds = one.directory, one.request.thresholds
    connectors = one.connectors()
    source = connectors[one.request.source_connector]
    checkpoint = connectors.get(one.request.checkpoint_connector)
    flow = Flow.from_json(one.snapshot["flow"])
    syncs = offset_syncs(one.read(directory.stored_syncs, STORED_RECORDS)).persist()
    rows = one.write(readiness(_seen(one, flow, source, syncs)), directory.readiness, READINESS)
    told = latest_checkpoints(checkpoints(one.read(directory.stored_checkpoints, STORED_RECORDS)))
    groups = _groups(one, flow, rows, syncs, told, _kept(one, flow, syncs, told))
    syncs.unpersist()
    history = one.history().persist()
    earlier = _runs(history)
    since = min((at for at, _ in earlier[: keep - 1]), default=one.observed_at)
    ours = as_history(rows, run_uri=directory.uri)
    one.publish(ours, LAG_HISTORY, one.snapshot["next_history"])
    kept = history.where(F.col("observed_at") >= F.lit(since)).unionByName(ours)
    write_dataset(trend(kept).coalesce(1), directory.lag_trend)

    totals = by_group(
        groups.withColumn("observed_at", F.lit(one.observed_at)),
        thresholds,
        None if checkpoint is None else mirrored_groups(checkpoint.config),
    ).persist()
    progress = with_progress(rows, history, stuck_after=thresholds.stuck_after)
    weighed = partition_verdicts(progress, thresholds, connector=source.name, running=source.runs)
    if checkpoint is not None:
        weighed = weighed.unionByName(group_verdicts(totals, thresholds, connector=checkpoint.name))
    weighed = weighed.unionByName(_weightless(one.spark, list(flow_verdicts(source, checkpoint)))).persist()
    one.write(shaped(weighed, VERDICTS), directory.verdicts, VERDICTS)
    summary = {
        **sums(rows, totals),
        **counted(weighed),
        "worst": worst(weighed),
        "group_lines": lines(
            totals, F.desc(F.col("partitions") - F.col("covered")), F.desc_nulls_last("rereads"), "group"
        ),
        "partition_lines": partition_lines(rows),
        "expired": sorted(uri for _, uri in earlier[keep - 1 :]),
        "history_since": since.isoformat(),
        "judged_at": datetime.now(tz=UTC).isoformat(timespec="milliseconds"),
    }
    history.unpersist()
    weighed.unpersist()
    totals.unpersist()
    return summary


def _groups(
    one: ReadinessRun, flow: Flow, rows: DataFrame, syncs: DataFrame, told: DataFrame, kept_now: DataFrame
) -> DataFrame:
    """Dataset ``group_readiness``, written.

    rows: dataset ``readiness``; told: the latest ``checkpoints``; kept_now: dataset ``mirror_ledger``
    """
    directory = one.directory
    planned = ObservedFlow(
        group_offsets=one.read(directory.group_offsets, GROUP_OFFSETS),
        partitions=one.read(directory.mirror_partitions, MIRROR_PARTITIONS),
        syncs=syncs,
        latest=told.drop("metadata"),
        members=few_rows(one.spark, [], "group string, on_source boolean, on_target boolean"),
        digests=None,
        kept=one.read(directory.kept_mappings, KEPT_MAPPINGS),
    ).with_known()
    left = failover.without_source(one.read(directory.left_partitions, MIRROR_PARTITIONS))
    left_syncs = syncs if flow.syncs_on is Side.TARGET else None
    ledger_now = Left(kept_now, one.read(directory.flow_topics, FLOW_TOPICS))
    unplanned = replace(planned, partitions=left, syncs=left_syncs, kept=None, known=None, left=ledger_now).with_known()
    found = group_readiness(rows, planned, unplanned, told, flow=flow)
    return one.write(found, directory.group_readiness, GROUP_READINESS)


def _kept(one: ReadinessRun, flow: Flow, syncs: DataFrame, told: DataFrame) -> DataFrame:
    """Keep what a failover without the source will need: dataset ``mirror_ledger``, as it was published."""
    directory = one.directory
    of_source = F.col("kafka_cluster") == flow.source_alias
    seen = LedgerInput(
        partitions=one.read(directory.mirror_partitions, MIRROR_PARTITIONS),
        topics=one.read(directory.flow_topics, FLOW_TOPICS),
        syncs=syncs,
        kept=one.read(directory.kept_mappings, KEPT_MAPPINGS),
        checkpoints=told,
        positions=one.read(directory.group_offsets, GROUP_OFFSETS).where(of_source),
        digests=one.read(directory.record_digests, RECORD_DIGESTS),
        observed_at=one.observed_at,
    )
    uri = one.snapshot["next_ledger"]
    one.publish(ledger(seen, one.ledger()), MIRROR_LEDGER, uri)
    return one.spark.read.schema(struct_type(MIRROR_LEDGER)).options(**WHOLE).parquet(uri)


def _seen(one: ReadinessRun, flow: Flow, source: FlowConnector, syncs: DataFrame) -> ObservedLogs:
    directory = one.directory
    return ObservedLogs(
        offsets=one.read(directory.connector_offsets, CONNECTOR_OFFSETS),
        topics=one.read(directory.flow_topics, FLOW_TOPICS),
        bounds=one.read(directory.log_bounds, LOG_BOUNDS),
        remaining=one.read(directory.remaining, REMAINING),
        syncs=syncs,
        source=flow.source_alias,
        target=flow.target_alias,
        observed_at=one.observed_at,
        from_latest=FAMILIES[MirrorSource.name].offset_reset(source.config) is OffsetReset.LATEST,
    )


def _weightless(spark: SparkSession, verdicts: list[Verdict]) -> DataFrame:
    rows = [(str(v.rule), v.severity.value, v.connector, v.partition, v.message, 0) for v in verdicts]
    return few_rows(spark, rows, struct_type(VERDICTS).add("weight", "long"))


def _runs(history: DataFrame) -> list[tuple[datetime, str]]:
    """When earlier runs looked, and their directories, newest first; no more than the history keeps."""
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
    defaults=DEFAULTS,
)
