"""spark-submit's entry for a failover: ``translate_job.py RUN_DIRECTORY [PREVIEW_DIRECTORY]``.

Reads what the look at the flow wrote under the run directory (a URI that Hadoop understands), and writes
``translation``, ``compare_ranges``, ``sampled_claims`` and, last of all, ``summary.json``. What closes the gate stands
in its ``errors``; the exit code says only whether the job ran. A final translation is held to its preview.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

from airflow_provider_connect_offsets.pipeline.unzipped import is_copy

sys.path.sort(key=is_copy)

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.failover import (
    DIGEST_PIECE,
    DIGEST_PIECES,
    FailoverRequest,
    Method,
    Mode,
    Move,
    digest_of_sums,
)
from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.pipeline.approved import beyond_approval, rereads_beyond
from airflow_provider_connect_offsets.pipeline.failback import Forward
from airflow_provider_connect_offsets.pipeline.failover import (
    Seen,
    as_dataset,
    translated,
    without_source,
)
from airflow_provider_connect_offsets.pipeline.frames import (
    few_rows,
    is_finished,
    read_dataset,
    write_dataset,
)
from airflow_provider_connect_offsets.pipeline.ledger import newest
from airflow_provider_connect_offsets.pipeline.mirror_records import checkpoints, offset_syncs
from airflow_provider_connect_offsets.pipeline.sampling import claims_of, claims_of_home, sampled_claims
from airflow_provider_connect_offsets.pipeline.session import Job, set_default
from airflow_provider_connect_offsets.pipeline.translate.home import replicated
from airflow_provider_connect_offsets.pipeline.unplanned import Left, PositionOf
from airflow_provider_connect_offsets.pipeline.worth_reading import write_ranges
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.schemas import (
    CHECKED_CLAIMS,
    COMPARE_RANGES,
    FLOW_TOPICS,
    GROUP_OFFSETS,
    KEPT_PAIRS,
    MIRROR_LEDGER,
    MIRROR_PARTITIONS,
    RECORD_DIGESTS,
    RETURN_PARTITIONS,
    STORED_RECORDS,
    TRANSLATION,
)

LISTED = 100
CLUSTER_PARTITIONS = 8
# Each piece of a row's digest as a number: what ``offsets.failover.row_numbers`` gives, summed up.
_SUMS = {f"numbers_{start}": f"sum(crc32(substr(row_digest, {start + 1}, {DIGEST_PIECE})))" for start in DIGEST_PIECES}
# Of rows that count, which those of topics without a replica don't.
_TOTALS = {
    "partitions": "count(covered)",
    # No distinct count: that would take the rows through another shuffle.
    "groups": "size(collect_set(CASE WHEN covered IS NOT NULL THEN `group` END))",
    "commit": f"count_if(covered IS NOT NULL AND action = '{Move.COMMIT.value}')",
    "covered": "count_if(covered)",
    "exact": "count_if(covered AND exact)",
    "max_rereads": "coalesce(sum(CASE WHEN covered THEN max_rereads END), 0)",
    "missing": "coalesce(sum(CASE WHEN covered IS NOT NULL THEN missing END), 0)",
    "without_checkpoint": "count_if(covered IS NOT NULL AND checkpoint IS NULL)",
    "checkpoint_rereads": "coalesce(sum(CASE WHEN covered IS NOT NULL THEN checkpoint_rereads END), 0)",
    "checkpoint_exact": "count_if(covered IS NOT NULL AND exact AND checkpoint_rereads = 0)",
    "checked": "count_if(covered IS NOT NULL AND checked)",
    "mismatched": "count_if(covered IS NOT NULL AND mismatched)",
    **{f"by_{name}": f"count_if(covered AND method = '{name}')" for name in Method},
    # Of a source that is gone: positions that no checkpoint tells, and the oldest (milliseconds since 1970).
    "by_ledger": f"count_if(covered IS NOT NULL AND position_of = '{PositionOf.LEDGER.value}')",
    "positions_since": "unix_millis(min(CASE WHEN covered IS NOT NULL THEN position_at END))",
    **_SUMS,
    "without_replica": "count_if(covered IS NULL)",
}
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


def read(spark: SparkSession, directory: FailoverDirectory, request: FailoverRequest) -> Seen:
    """Read what the look at the flow wrote; digests are there only where records were read."""
    partitions = read_dataset(spark, directory.mirror_partitions, MIRROR_PARTITIONS)
    told = checkpoints(read_dataset(spark, directory.stored_checkpoints, STORED_RECORDS))
    compared = is_finished(spark, directory.record_digests)
    checked = is_finished(spark, directory.checked_claims)
    gone = request.mode is Mode.UNPLANNED
    return Seen(
        group_offsets=read_dataset(spark, directory.group_offsets, GROUP_OFFSETS),
        partitions=without_source(partitions) if gone else partitions,
        syncs=None if gone and request.flow.syncs_on is Side.SOURCE else _syncs(spark, directory),
        # Of each key the look has kept the last record only.
        latest=told.drop("metadata"),
        members=_members(spark, json.loads(jvm.read_text(spark, directory.members))),
        digests=read_dataset(spark, directory.record_digests, RECORD_DIGESTS) if compared else None,
        kept=None if gone else read_dataset(spark, directory.kept_pairs, KEPT_PAIRS),
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
            kept=read_dataset(spark, own.kept_pairs, KEPT_PAIRS),
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
        # Summed up while they are written: each job of its own takes Spark as long as to plan and to compile it.
        counted = rows.withColumn("row_digest", _row_digest()).observe(totals, *_totals())
        write_dataset(as_dataset(counted), directory.translation)
        written = read_dataset(spark, directory.translation, TRANSLATION)
        summary = summarise(totals.get, written, rows)
        if request.mode is Mode.PLANNED and request.compared and seen.digests is None:
            summary["beyond_limit"] = write_ranges(request, seen, directory, written)
        # Of groups that stay for now some may go in the end.
        may_rest_on_pairs = summary["by_bracket"] or summary["left_groups"]
        if request.mode is Mode.PLANNED and may_rest_on_pairs and seen.digests is None and seen.claims is None:
            # What another flow has placed, the dataset doesn't tell; only a failback has such rows.
            own = rows if seen.forward else written.withColumn("by_records", F.lit(None).cast("boolean"))
            _write_sampled(spark, request, claims_of(own), directory, seed=summary["digest"])
            if seen.forward is not None:
                _write_sampled(spark, request, claims_of_home(own), directory.forward, seed=summary["digest"])
    return {**summary, "ledger_at": ledger_at, "errors": list(_errors(request, summary))}


def _write_sampled(
    spark: SparkSession, request: FailoverRequest, claims: DataFrame, directory: FailoverDirectory, *, seed: str
) -> None:
    will_read = read_dataset(spark, directory.compare_ranges, COMPARE_RANGES) if request.compared else None
    write_dataset(sampled_claims(claims, will_read, seed=seed), directory.sampled_claims)


def summarise(totals: dict[str, Any], written: DataFrame, rows: DataFrame) -> dict[str, Any]:
    """Put together the sums of ``_totals``, and lists only of what there is any of.

    written: dataset ``translation``; rows: what ``failover.translated`` gives, to be worked out again for what only it
    tells
    """
    counted = {name: value for name, value in totals.items() if name not in {"without_replica", *_SUMS}}
    return {
        **counted,
        "digest": digest_of_sums(totals[name] or 0 for name in _SUMS),
        "unreplicated": _unreplicated(written) if totals["without_replica"] else [],
        **(_left_alone(written) if totals["covered"] < totals["partitions"] else {"left_groups": 0, "left": []}),
        "mismatches": _mismatches(rows) if totals["mismatched"] else [],
    }


def _totals() -> list[Column]:
    return [F.expr(f"{total} AS {name}") for name, total in _TOTALS.items()]


def _unreplicated(rows: DataFrame) -> list[str]:
    """Topics that have no replica."""
    topics = rows.where("covered is null").select("source_topic").distinct().orderBy("source_topic")
    return [row["source_topic"] for row in topics.limit(LISTED).collect()]


def _left_alone(rows: DataFrame) -> dict[str, Any]:
    """Groups that are not moved as a whole: group, partitions (how many), reason (of one of them)."""
    left = rows.where(~F.col("covered")).groupBy("group")
    found = left.agg(F.count("*").alias("partitions"), F.first("reason").alias("reason"))
    first = found.orderBy(F.desc("partitions"), "group").limit(LISTED).collect()
    return {"left_groups": found.count(), "left": [row.asDict() for row in first]}


def _mismatches(rows: DataFrame) -> list[dict[str, Any]]:
    place = ("source_topic", "kafka_partition", "upstream", "target_topic", "downstream")
    found = rows.where("mismatched").select(*place).distinct().orderBy(*place)
    return [row.asDict() for row in found.limit(LISTED).collect()]


def _errors(request: FailoverRequest, summary: dict[str, Any]) -> list[str]:
    """What closes the gate, each a sentence."""
    errors = []
    if not summary["partitions"]:
        errors.append(
            f"No group that matches {request.groups!r} has an offset in a topic that "
            f"{request.flow.source_alias!r} replicates to {request.flow.target_alias!r}."
        )
    elif summary["covered"] < request.min_coverage * summary["partitions"]:
        named = "; ".join(f"{one['group']!r}: {one['reason']}" for one in summary["left"][:3])
        more = summary["left_groups"] - 3
        errors.append(
            f"{summary['covered']:,} of {summary['partitions']:,} partitions are translated, less than min_coverage "
            f"{request.min_coverage:g} asks for. {named}{f'; and {more:,} more groups' if more > 0 else ''}."
        )
    errors += rereads_beyond(request, summary["max_rereads"])
    if summary["mismatched"]:
        one = summary["mismatches"][0]
        errors.append(
            f"{summary['mismatched']:,} of {summary['checked']:,} claims are disproved by the records themselves: that "
            f"of topic {one['source_topic']!r}, partition {one['kafka_partition']}, offset {one['upstream']} is not "
            f"that of {one['target_topic']!r}, offset {one['downstream']}. Something else writes to the replica, or "
            "changes records on their way."
        )
    return errors


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


def _row_digest() -> Column:
    """Of what ``offsets.failover.row_numbers`` makes its numbers; null where nothing is committed."""
    fields = ("group", "target_topic", "kafka_partition", "downstream")
    text = F.concat_ws("\n", *[F.col(field).cast("string") for field in fields])
    # Of bytes a piece is cut out at once, of a text only after its characters were counted.
    return F.when(F.col("action") == Move.COMMIT.value, F.sha2(text, 256).cast("binary"))


def _shuffle_partitions(spark: SparkSession) -> str:
    """As many as there are cores, so that all end at the same time; a cluster may get more while the job runs."""
    context = spark.sparkContext
    cores = context.defaultParallelism
    return str(cores if str(context.master).startswith("local") else max(CLUSTER_PARTITIONS, cores))


def _run(spark: SparkSession, arguments: list[str]) -> None:
    set_default(spark, "spark.sql.shuffle.partitions", _shuffle_partitions(spark))
    run(spark, *map(FailoverDirectory, arguments))


JOB = Job(
    name="connect-offsets translation",
    usage="translate_job.py RUN_DIRECTORY [PREVIEW_DIRECTORY]",
    run=_run,
    takes={1, 2},
    defaults=DEFAULTS,
)


if __name__ == "__main__":
    sys.exit(JOB.main(sys.argv[1:]))
