"""The job ``translation``: translate the positions of consumer groups for a failover or failback.

Reads the datasets of the observed flow; writes ``translation``, ``compare_ranges``, ``sampled_claims`` and, last of
all, ``summary.json``. Reasons to refuse the failover are the summary's ``errors``; the job itself does not fail. A
final translation is also compared with its preview.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest, Mode
from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.pipeline.failover.failback import Forward
from airflow_provider_connect_offsets.pipeline.failover.failover import translate_positions, without_source
from airflow_provider_connect_offsets.pipeline.failover.made_up import write_made_up_records
from airflow_provider_connect_offsets.pipeline.failover.observed import MEMBERS, ObservedFlow
from airflow_provider_connect_offsets.pipeline.failover.sampling import claims_of, claims_of_home, sampled_claims
from airflow_provider_connect_offsets.pipeline.failover.translation_summary import (
    errors_of,
    list_beyond_approval,
    summarise,
    with_totals,
)
from airflow_provider_connect_offsets.pipeline.failover.unplanned import Remains
from airflow_provider_connect_offsets.pipeline.failover.worth_reading import write_ranges
from airflow_provider_connect_offsets.pipeline.frames import (
    conform,
    is_finished,
    make_frame,
    read_dataset,
    write_dataset,
)
from airflow_provider_connect_offsets.pipeline.session import Job, begin, fit
from airflow_provider_connect_offsets.pipeline.summary import now, write_summary
from airflow_provider_connect_offsets.pipeline.translate.home import combine_replicated
from airflow_provider_connect_offsets.pipeline.translate.ledger import select_newest
from airflow_provider_connect_offsets.pipeline.translate.mirror_records import checkpoints, offset_syncs
from airflow_provider_connect_offsets.workspace import flow_schemas, schemas
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

DEFAULTS = {
    # By default, Spark would read each dataset, a few files of a few megabytes, on one core.
    "spark.sql.files.openCostInBytes": "64KB",
    "spark.sql.adaptive.coalescePartitions.minPartitionSize": "64KB",
}


def run(spark: SparkSession, directory: FailoverDirectory, preview: FailoverDirectory | None = None) -> dict[str, Any]:
    """Translate what the request of ``directory`` selects, write the datasets, and return the summary.

    Args:
        spark: the session
        directory: the run
        preview: the run whose translation was approved, for a final translation; None for a preview
    """
    document = begin(spark, directory)
    request = FailoverRequest.from_json(document)
    problem = jvm.why_pattern_is_refused(spark, groups=request.groups, topics=request.topics, rewind=request.rewind)
    summary = {"errors": [problem]} if problem else _translate(spark, request, directory, directory)
    if preview is not None and not problem:
        summary["errors"] += _list_beyond_preview(spark, request, directory, preview, summary)
    return write_summary(spark, directory.summary, {"request": document, "translated_at": now(), **summary})


def rehearse(spark: SparkSession, directory: FailoverDirectory, outputs: FailoverDirectory) -> None:
    """Translate a preview's observation again, so that the JVM has loaded and compiled what a final translation needs.

    The records that a final translation compares are made up, as the preview has read none. Writes to ``outputs``, and
    never to ``directory``: the preview stays what was approved.
    """
    request = FailoverRequest.from_json(jvm.read_json(spark, directory.request))
    if request.forward is not None:
        write_made_up_records(spark, directory.forward_directory, outputs.forward_directory)
    write_made_up_records(spark, directory, outputs)
    fit(spark, directory.uri, outputs.uri)
    summary = _translate(spark, request, directory, outputs)
    _list_beyond_preview(spark, request, outputs, directory, summary)


def read(
    spark: SparkSession, request: FailoverRequest, directory: FailoverDirectory, compared: FailoverDirectory
) -> ObservedFlow:
    """Read the datasets of the observed flow; datasets of compared records only if records were compared.

    Args:
        spark: the session
        request: the request
        directory: the run
        compared: where the compared records are, with what is known about their partitions
    """
    records = compared if is_finished(spark, compared.record_digests) else directory
    partitions = read_dataset(spark, records.mirror_partitions, flow_schemas.MIRROR_PARTITIONS)
    stored_checkpoints = read_dataset(spark, directory.stored_checkpoints, schemas.STORED_RECORDS)
    is_lost = request.mode is Mode.UNPLANNED
    return ObservedFlow(
        group_offsets=read_dataset(spark, directory.group_offsets, schemas.GROUP_OFFSETS),
        partitions=without_source(partitions) if is_lost else partitions,
        syncs=None if is_lost and request.flow.syncs_on is Side.SOURCE else _syncs(spark, directory),
        # The dataset has only the last record of each key.
        latest=checkpoints(stored_checkpoints).drop("metadata"),
        members=_members(spark, jvm.read_json(spark, directory.members)),
        digests=_read_if_finished(spark, records.record_digests, flow_schemas.RECORD_DIGESTS),
        kept=None if is_lost else read_dataset(spark, directory.kept_mappings, flow_schemas.KEPT_MAPPINGS),
        forward=None if request.forward is None else _read_forward(spark, directory, compared.forward_directory),
        claims=_read_if_finished(spark, directory.checked_claims, flow_schemas.CHECKED_CLAIMS),
        remains=_remains(spark, directory) if is_lost and is_finished(spark, directory.ledger) else None,
    )


def _read_if_finished(spark: SparkSession, uri: str, schema: schemas.Schema) -> DataFrame | None:
    return read_dataset(spark, uri, schema) if is_finished(spark, uri) else None


def _remains(spark: SparkSession, directory: FailoverDirectory) -> Remains:
    return Remains(
        ledger=select_newest(read_dataset(spark, directory.ledger, flow_schemas.MIRROR_LEDGER)),
        topics=read_dataset(spark, directory.flow_topics, flow_schemas.FLOW_TOPICS),
    )


def _read_forward(spark: SparkSession, directory: FailoverDirectory, compared: FailoverDirectory) -> Forward:
    own = directory.forward_directory
    records = compared if is_finished(spark, compared.record_digests) else own
    partitions = read_dataset(spark, records.mirror_partitions, flow_schemas.MIRROR_PARTITIONS)
    return Forward(
        here=read_dataset(spark, directory.return_partitions, flow_schemas.RETURN_PARTITIONS),
        partitions=partitions,
        elements=combine_replicated(
            partitions,
            syncs=_syncs(spark, own),
            digests=_read_if_finished(spark, records.record_digests, flow_schemas.RECORD_DIGESTS),
            kept=read_dataset(spark, own.kept_mappings, flow_schemas.KEPT_MAPPINGS),
        ),
        claims=_read_if_finished(spark, own.checked_claims, flow_schemas.CHECKED_CLAIMS),
    )


def _syncs(spark: SparkSession, directory: FailoverDirectory) -> DataFrame:
    return offset_syncs(read_dataset(spark, directory.stored_syncs, schemas.STORED_RECORDS))


def _members(spark: SparkSession, members: dict[str, dict[str, str]]) -> DataFrame:
    """Groups that have members, as in ``ObservedFlow.members``. ``members``: members by side and group."""
    sides, kinds = [members[side] for side in (Side.SOURCE, Side.TARGET)], members.get("kinds", {})
    rows = [(group, *(group in side for side in sides), kinds.get(group)) for group in {*sides[0], *sides[1]}]
    return make_frame(spark, rows, MEMBERS)


def _translate(
    spark: SparkSession, request: FailoverRequest, directory: FailoverDirectory, outputs: FailoverDirectory
) -> dict[str, Any]:
    observed = read(spark, request, directory, outputs).with_known()
    with ExitStack() as persisted:
        if observed.known is not None:
            # Catalyst pushes filters down to the records, so each use would decode their bytes again.
            persisted.callback(observed.latest.persist().unpersist, blocking=True)
        ledger_at = None if observed.remains is None else observed.remains.observed_at()
        rows = translate_positions(request, observed)
        totals = Observation()
        write_dataset(conform(with_totals(rows, totals), flow_schemas.TRANSLATION), outputs.translation)
        written = read_dataset(spark, outputs.translation, flow_schemas.TRANSLATION)
        summary = summarise(totals.get, written, rows)
        unread = request.mode is Mode.PLANNED and observed.digests is None
        # The dataset lacks by_records; only a failback has rows in which it isn't null.
        own = rows if observed.forward else written.withColumn("by_records", F.lit(None).cast("boolean"))
        if unread and request.compared:
            uncovered = own.where("not covered") if summary["left_groups"] else None
            summary |= write_ranges(request, observed, outputs, written, uncovered=uncovered)
        # The final translation may move groups that this one leaves alone.
        if unread and observed.claims is None and (summary["by_bracket"] or summary["left_groups"]):
            _write_sampled(spark, request, claims_of(own), outputs, seed=summary["digest"])
            if observed.forward is not None:
                _write_sampled(spark, request, claims_of_home(own), outputs.forward_directory, seed=summary["digest"])
    summary["unmovable"] = jvm.read_json(spark, directory.members).get("unmovable", {})
    return {**summary, "ledger_at": ledger_at, "errors": errors_of(request, summary)}


def _write_sampled(
    spark: SparkSession, request: FailoverRequest, claims: DataFrame, directory: FailoverDirectory, *, seed: str
) -> None:
    ranges = read_dataset(spark, directory.compare_ranges, flow_schemas.COMPARE_RANGES) if request.compared else None
    write_dataset(sampled_claims(claims, ranges, seed=seed), directory.sampled_claims)


def _list_beyond_preview(
    spark: SparkSession,
    request: FailoverRequest,
    directory: FailoverDirectory,
    preview: FailoverDirectory,
    summary: dict[str, Any],
) -> list[str]:
    """Compare with the preview, and return a sentence on each effect that it did not show."""
    final, shown = (read_dataset(spark, run.translation, flow_schemas.TRANSLATION) for run in (directory, preview))
    rereads = (summary["max_rereads"], jvm.read_json(spark, preview.summary)["max_rereads"])
    return list_beyond_approval(final, shown, request=request, rereads=rereads)


def _run(spark: SparkSession, arguments: list[str]) -> None:
    run(spark, *map(FailoverDirectory, arguments))


JOB = Job(
    name="translation",
    usage="RUN_DIRECTORY [PREVIEW_DIRECTORY]",
    run=_run,
    takes={1, 2},
    defaults=DEFAULTS,
)
