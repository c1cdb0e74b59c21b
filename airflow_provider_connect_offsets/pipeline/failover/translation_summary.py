"""What a translation comes to: sums, lists of what is left out, and what closes the gate."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import (
    DIGEST_PIECE,
    DIGEST_PIECES,
    FailoverRequest,
    Method,
    Move,
    digest_of_sums,
)
from airflow_provider_connect_offsets.pipeline.failover.approved import rereads_beyond
from airflow_provider_connect_offsets.pipeline.failover.unplanned import PositionOf

# So many of each list.
LISTED = 100
# Each piece of a row's digest as a number: what ``offsets.requests.failover.row_numbers`` gives, summed up.
_SUMS = {f"numbers_{start}": f"sum(crc32(substr(row_digest, {start + 1}, {DIGEST_PIECE})))" for start in DIGEST_PIECES}
# Of rows that count, which those of topics without a remote topic don't.
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
    "without_remote_topic": "count_if(covered IS NULL)",
}


def counted(rows: DataFrame, totals: Observation) -> DataFrame:
    """Sum the rows up while they are written: each job of its own takes Spark as long as to plan and to compile it.

    rows: what ``failover.translated`` gives
    """
    sums = [F.expr(f"{total} AS {name}") for name, total in _TOTALS.items()]
    return rows.withColumn("row_digest", _row_digest()).observe(totals, *sums)


def summarise(totals: dict[str, Any], written: DataFrame, rows: DataFrame) -> dict[str, Any]:
    """Put together the sums of ``counted``, and lists only of what there is any of.

    written: dataset ``translation``; rows: what ``failover.translated`` gives, to be worked out again for what only it
    tells
    """
    sums = {name: value for name, value in totals.items() if name not in {"without_remote_topic", *_SUMS}}
    return {
        **sums,
        "digest": digest_of_sums(totals[name] or 0 for name in _SUMS),
        "unreplicated": _unreplicated(written) if totals["without_remote_topic"] else [],
        **(_left_alone(written) if totals["covered"] < totals["partitions"] else {"left_groups": 0, "left": []}),
        "mismatches": _mismatches(rows) if totals["mismatched"] else [],
    }


def errors_of(request: FailoverRequest, summary: dict[str, Any]) -> list[str]:
    """What closes the gate, each a sentence.

    A preview leaves it open for positions that are to be found in the records, once the flow is stopped.
    """
    errors = []
    in_sight = summary["covered"] + summary.get("to_be_found", {"partitions": 0})["partitions"]
    if not summary["partitions"]:
        errors.append(
            f"No group that matches {request.groups!r} has an offset in a topic that "
            f"{request.flow.source_alias!r} replicates to {request.flow.target_alias!r}."
        )
    elif in_sight < request.min_coverage * summary["partitions"]:
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
            f"that of {one['target_topic']!r}, offset {one['downstream']}. Something else writes to the remote topic, "
            "or "
            "changes records on their way."
        )
    return errors


def _unreplicated(rows: DataFrame) -> list[str]:
    """Topics that have no remote topic."""
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
    claims = rows.where("mismatched").drop("upstream").withColumnRenamed("claimed", "upstream")
    found = claims.select(*place).distinct().orderBy(*place)
    return [row.asDict() for row in found.limit(LISTED).collect()]


def _row_digest() -> Column:
    """Of what ``offsets.requests.failover.row_numbers`` makes its numbers; null where nothing is committed."""
    fields = ("group", "target_topic", "kafka_partition", "downstream")
    text = F.concat_ws("\n", *[F.col(field).cast("string") for field in fields])
    # Of bytes a piece is cut out at once, of a text only after its characters were counted.
    return F.when(F.col("action") == Move.COMMIT.value, F.sha2(text, 256).cast("binary"))
