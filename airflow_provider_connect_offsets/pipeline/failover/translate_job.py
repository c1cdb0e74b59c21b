"""spark-submit's entry for a failover: ``translate_job.py RUN_DIRECTORY [PREVIEW_DIRECTORY]``.

Reads what the look at the flow wrote under the run directory (a URI that Hadoop understands), and writes
``translation``, ``compare_ranges``, ``sampled_claims`` and, last of all, ``summary.json``. What closes the gate stands
in its ``errors``; the exit code says only whether the job ran. A final translation is held to its preview.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.offsets.requests.failover import (
    FailoverRequest,
    Mode,
)
from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.pipeline.failover.approved import beyond_approval
from airflow_provider_connect_offsets.pipeline.failover.failback import Forward
from airflow_provider_connect_offsets.pipeline.failover.failover import as_dataset, translated, without_source
from airflow_provider_connect_offsets.pipeline.failover.observed import ObservedFlow
from airflow_provider_connect_offsets.pipeline.failover.sampling import claims_of, claims_of_home, sampled_claims
from airflow_provider_connect_offsets.pipeline.failover.translation_summary import counted, errors_of, summarise
from airflow_provider_connect_offsets.pipeline.failover.unplanned import Left
from airflow_provider_connect_offsets.pipeline.failover.worth_reading import to_be_found, write_ranges
from airflow_provider_connect_offsets.pipeline.frames import (
    few_rows,
    is_finished,
    read_dataset,
    write_dataset,
)
from airflow_provider_connect_offsets.pipeline.session import Job, set_default
from airflow_provider_connect_offsets.pipeline.translate.home import replicated
from airflow_provider_connect_offsets.pipeline.translate.ledger import newest
from airflow_provider_connect_offsets.pipeline.translate.mirror_records import checkpoints, offset_syncs
from airflow_provider_connect_offsets.workspace.flow_schemas import (
    CHECKED_CLAIMS,
    COMPARE_RANGES,
    FLOW_TOPICS,
    KEPT_MAPPINGS,
    MIRROR_LEDGER,
    MIRROR_PARTITIONS,
    RECORD_DIGESTS,
    RETURN_PARTITIONS,
    TRANSLATION,
)
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.schemas import GROUP_OFFSETS, STORED_RECORDS

CLUSTER_PARTITIONS = 8
DEFAULTS = {
    # The datasets are a few files of a few megabytes, which Spark by default would give to one core each.
    "spark.sql.files.openCostInBytes": "64KB",
    "spark.sql.adaptive.coalescePartitions.minPartitionSize": "64KB",
}


def run(spark: SparkSession, directory: FailoverDirectory, preview: FailoverDirectory | None = None) -> dict[str, Any]:
    """Translate what ``directory`` asks for, write the datasets, and return the summary.

    ``preview``: the directory of the translation that was shown and approved, which this one is held to.
    """
    # A summary that an earlier attempt left would vouch for a dataset that is not its own.
    jvm.remove(spark, directory.summary)
    asked = json.loads(jvm.read_text(spark, directory.request))
    request = FailoverRequest.from_json(asked)
    problem = _pattern_problem(spark, request)
    summary = {"errors": [problem]} if problem else _translate(spark, request, directory)
    if preview is not None and not problem:
        summary["errors"] += _beyond(spark, request, directory, preview, summary)
    told = {"request": asked, "translated_at": datetime.now(tz=UTC).isoformat(timespec="milliseconds"), **summary}
    text = json.dumps(told, indent=2, sort_keys=True, ensure_ascii=False)
    jvm.write_text(spark, directory.summary, text + "\n")
    return told


def read(spark: SparkSession, directory: FailoverDirectory, request: FailoverRequest) -> ObservedFlow:
    """Read what the look at the flow wrote; digests are there only where records were read."""
    partitions = read_dataset(spark, directory.mirror_partitions, MIRROR_PARTITIONS)
    told = checkpoints(read_dataset(spark, directory.stored_checkpoints, STORED_RECORDS))
    compared = is_finished(spark, directory.record_digests)
    checked = is_finished(spark, directory.checked_claims)
    gone = request.mode is Mode.UNPLANNED
    return ObservedFlow(
        group_offsets=read_dataset(spark, directory.group_offsets, GROUP_OFFSETS),
        partitions=without_source(partitions) if gone else partitions,
        syncs=None if gone and request.flow.syncs_on is Side.SOURCE else _syncs(spark, directory),
        # Of each key the look has kept the last record only.
        latest=told.drop("metadata"),
        members=_members(spark, json.loads(jvm.read_text(spark, directory.members))),
        digests=read_dataset(spark, directory.record_digests, RECORD_DIGESTS) if compared else None,
        kept=None if gone else read_dataset(spark, directory.kept_mappings, KEPT_MAPPINGS),
        forward=None if request.forward is None else _forward(spark, directory),
        claims=read_dataset(spark, directory.checked_claims, CHECKED_CLAIMS) if checked else None,
        left=_left(spark, directory) if gone and is_finished(spark, directory.ledger) else None,
    )


def _left(spark: SparkSession, directory: FailoverDirectory) -> Left:
    """Of a source that is gone: what looks at the flow's readiness have kept."""
    return Left(
        ledger=newest(read_dataset(spark, directory.ledger, MIRROR_LEDGER)),
        topics=read_dataset(spark, directory.flow_topics, FLOW_TOPICS),
    )


def _forward(spark: SparkSession, directory: FailoverDirectory) -> Forward:
    """Of a failback: the flow that brought the records."""
    own = directory.forward
    compared, checked = is_finished(spark, own.record_digests), is_finished(spark, own.checked_claims)
    partitions = read_dataset(spark, own.mirror_partitions, MIRROR_PARTITIONS)
    return Forward(
        here=read_dataset(spark, directory.return_partitions, RETURN_PARTITIONS),
        partitions=partitions,
        elements=replicated(
            partitions,
            syncs=_syncs(spark, own),
            digests=read_dataset(spark, own.record_digests, RECORD_DIGESTS) if compared else None,
            kept=read_dataset(spark, own.kept_mappings, KEPT_MAPPINGS),
        ),
        claims=read_dataset(spark, own.checked_claims, CHECKED_CLAIMS) if checked else None,
    )


def _syncs(spark: SparkSession, directory: FailoverDirectory) -> DataFrame:
    return offset_syncs(read_dataset(spark, directory.stored_syncs, STORED_RECORDS))


def _members(spark: SparkSession, members: dict[str, dict[str, str]]) -> DataFrame:
    """Groups that have members: group, on_source, on_target. members: by side and group."""
    sides = [members[side] for side in (Side.SOURCE, Side.TARGET)]
    rows = [(group, *(group in side for side in sides)) for group in {*sides[0], *sides[1]}]
    return few_rows(spark, rows, "group string, on_source boolean, on_target boolean")


def _translate(spark: SparkSession, request: FailoverRequest, directory: FailoverDirectory) -> dict[str, Any]:
    seen = read(spark, directory, request).with_known()
    with ExitStack() as kept:
        if seen.known is not None:
            # Or their bytes would be decoded anew for whatever is asked of them: Catalyst takes filters down to them.
            kept.callback(seen.latest.persist().unpersist)
        ledger_at = None if seen.left is None else seen.left.observed_at()
        rows = translated(request, seen)
        totals = Observation()
        write_dataset(as_dataset(counted(rows, totals)), directory.translation)
        written = read_dataset(spark, directory.translation, TRANSLATION)
        summary = summarise(totals.get, written, rows)
        if request.mode is Mode.PLANNED and request.compared and seen.digests is None:
            summary["beyond_limit"] = write_ranges(request, seen, directory, written)
            if summary["left_groups"] and seen.forward is None:
                ranges = read_dataset(spark, directory.compare_ranges, COMPARE_RANGES)
                summary["to_be_found"] = to_be_found(written, seen.partitions, ranges)
        # Of groups that stay for now some may go in the end.
        may_rest_on_mappings = summary["by_bracket"] or summary["left_groups"]
        if request.mode is Mode.PLANNED and may_rest_on_mappings and seen.digests is None and seen.claims is None:
            # What another flow has placed, the dataset doesn't tell; only a failback has such rows.
            own = rows if seen.forward else written.withColumn("by_records", F.lit(None).cast("boolean"))
            _write_sampled(spark, request, claims_of(own), directory, seed=summary["digest"])
            if seen.forward is not None:
                _write_sampled(spark, request, claims_of_home(own), directory.forward, seed=summary["digest"])
    return {**summary, "ledger_at": ledger_at, "errors": errors_of(request, summary)}


def _write_sampled(
    spark: SparkSession, request: FailoverRequest, claims: DataFrame, directory: FailoverDirectory, *, seed: str
) -> None:
    will_read = read_dataset(spark, directory.compare_ranges, COMPARE_RANGES) if request.compared else None
    write_dataset(sampled_claims(claims, will_read, seed=seed), directory.sampled_claims)


def _beyond(
    spark: SparkSession,
    request: FailoverRequest,
    directory: FailoverDirectory,
    preview: FailoverDirectory,
    summary: dict[str, Any],
) -> list[str]:
    """What is beyond the preview, each a sentence."""
    final, shown = (read_dataset(spark, one.translation, TRANSLATION) for one in (directory, preview))
    before = json.loads(jvm.read_text(spark, preview.summary))["max_rereads"]
    return beyond_approval(final, shown, request=request, rereads=(summary["max_rereads"], before))


def _pattern_problem(spark: SparkSession, request: FailoverRequest) -> str | None:
    for name, pattern in (("groups", request.groups), ("topics", request.topics), ("rewind", request.rewind)):
        reason = None if pattern is None else jvm.pattern_problem(spark, pattern)
        if reason is not None:
            return f"{name}: {pattern!r} is no regular expression: {reason}."
    return None


def _shuffle_partitions(spark: SparkSession) -> str:
    """As many as there are cores, so that all end at the same time; a cluster may get more while the job runs."""
    context = spark.sparkContext
    cores = context.defaultParallelism
    return str(cores if str(context.master).startswith("local") else max(CLUSTER_PARTITIONS, cores))


def _run(spark: SparkSession, arguments: list[str]) -> None:
    set_default(spark, "spark.sql.shuffle.partitions", _shuffle_partitions(spark))
    if str(spark.sparkContext.master).startswith("local"):
        # Each stage would be planned anew as it ends, to end up with as many partitions as there are cores.
        set_default(spark, "spark.sql.adaptive.enabled", "false")
    run(spark, *map(FailoverDirectory, arguments))


JOB = Job(
    name="translation",
    usage="RUN_DIRECTORY [PREVIEW_DIRECTORY]",
    run=_run,
    takes={1, 2},
    defaults=DEFAULTS,
)
