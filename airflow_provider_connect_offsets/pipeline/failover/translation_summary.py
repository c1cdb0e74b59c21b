"""The summary of a translation: totals, groups that are left alone, and reasons to refuse the failover.

A final translation is also compared with the approved preview: it may not move groups that the preview didn't show, nor
cause more re-reads than the preview, unless ``max_rereads`` allows them.
"""

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
from airflow_provider_connect_offsets.offsets.requests.patterns import TO_FIND_GROUPS
from airflow_provider_connect_offsets.pipeline.failover.unplanned import PositionOf
from airflow_provider_connect_offsets.pipeline.plan.counts import row_digest
from airflow_provider_connect_offsets.pipeline.summary import collect_first
from airflow_provider_connect_offsets.words import quantify

# Sums of the pieces of all rows' digests, as numbers (``offsets.requests.failover.row_numbers``).
_SUMS = {f"numbers_{start}": f"sum(crc32(substr(row_digest, {start + 1}, {DIGEST_PIECE})))" for start in DIGEST_PIECES}
# Rows of topics without a remote topic (covered is null) do not count.
_TOTALS = {
    "partitions": "count(covered)",
    # A distinct count would shuffle the rows once more.
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
    # For a lost source: positions from the ledger, and the time of the oldest position (milliseconds since 1970).
    "by_ledger": f"count_if(covered IS NOT NULL AND position_of = '{PositionOf.LEDGER.value}')",
    "positions_since": "unix_millis(min(CASE WHEN covered IS NOT NULL THEN position_at END))",
    **_SUMS,
    "without_remote_topic": "count_if(covered IS NULL)",
}


def with_totals(rows: DataFrame, totals: Observation) -> DataFrame:
    """Compute the totals while the rows are written, which saves a Spark job.

    Args:
        rows: what ``failover.translate_positions`` returns
        totals: the observation that receives the totals
    """
    sums = [F.expr(f"{total} AS {name}") for name, total in _TOTALS.items()]
    return rows.withColumn("row_digest", _row_digest()).observe(totals, *sums)


def summarise(totals: dict[str, Any], written: DataFrame, rows: DataFrame) -> dict[str, Any]:
    """Summarise a translation.

    Args:
        totals: the totals that ``with_totals`` observed
        written: dataset ``translation``
        rows: what ``failover.translate_positions`` returns; computed again only if there are mismatches
    """
    sums = {name: value for name, value in totals.items() if name not in {"without_remote_topic", *_SUMS}}
    return {
        **sums,
        "digest": digest_of_sums(totals[name] or 0 for name in _SUMS),
        "unreplicated": _unreplicated_topics(written) if totals["without_remote_topic"] else [],
        **(
            _summarise_left_alone(written)
            if totals["covered"] < totals["partitions"]
            else {"left_groups": 0, "left": []}
        ),
        "mismatches": _mismatches(rows) if totals["mismatched"] else [],
    }


def errors_of(request: FailoverRequest, summary: dict[str, Any]) -> list[str]:
    """Return the reasons to refuse the failover, each a sentence.

    In a preview, positions that records will translate when the flow is stopped count as covered.
    """
    errors = []
    expected = summary["covered"] + summary.get("to_be_found", {"partitions": 0})["partitions"]
    if not summary["partitions"]:
        unmovable = [f" {name!r} is {kind}, which can't be moved." for name, kind in summary["unmovable"].items()]
        errors.append(
            f"No group that matches {request.groups!r} has an offset in a topic that "
            f"{request.flow.source_alias!r} replicates to {request.flow.target_alias!r}."
            f"{''.join(unmovable[:3]) or f' {TO_FIND_GROUPS}'}"
        )
    elif expected < request.min_coverage * summary["partitions"]:
        examples = "; ".join(f"{left['group']!r}: {left['reason']}" for left in summary["left"][:3])
        left = summary["left_groups"] - 3
        more = f"; and {quantify(left, 'more group')}" if left > 0 else ""
        errors.append(
            f"{summary['covered']:,} of {summary['partitions']:,} partitions are translated, fewer than min_coverage "
            f"({request.min_coverage:g}) requires. {examples}{more}."
        )
    errors += rereads_beyond(request, summary["max_rereads"])
    if summary["mismatched"]:
        first = summary["mismatches"][0]
        errors.append(
            f"Records disprove {summary['mismatched']:,} of {summary['checked']:,} translated offsets that were "
            f"checked. For example, the record of topic {first['source_topic']!r}, partition "
            f"{first['kafka_partition']}, offset {first['upstream']} is not the record of topic "
            f"{first['target_topic']!r}, offset {first['downstream']}. Something else writes to the remote topic, or "
            "changes records during replication."
        )
    return errors


def _unreplicated_topics(rows: DataFrame) -> list[str]:
    """List the first topics without a remote topic."""
    topics = rows.where("covered is null").select("source_topic").distinct()
    return [row["source_topic"] for row in collect_first(topics, "source_topic")]


def _summarise_left_alone(rows: DataFrame) -> dict[str, Any]:
    """Count and list groups with untranslated partitions: group, partitions (how many), reason (of one partition)."""
    left = rows.where(~F.col("covered")).groupBy("group")
    groups = left.agg(F.count("*").alias("partitions"), F.first("reason").alias("reason"))
    return {"left_groups": groups.count(), "left": collect_first(groups, F.desc("partitions"), "group")}


def _mismatches(rows: DataFrame) -> list[dict[str, Any]]:
    claim = ("source_topic", "kafka_partition", "upstream", "target_topic", "downstream")
    claims = rows.where("mismatched").drop("upstream").withColumnRenamed("claimed", "upstream")
    return collect_first(claims.select(*claim).distinct(), *claim)


def _row_digest() -> Column:
    """The digest that ``offsets.requests.failover.row_numbers`` splits; null if nothing is committed."""
    digest = row_digest("group", "target_topic", "kafka_partition", "downstream")
    # As bytes, because substr of a string counts characters first.
    return F.when(F.col("action") == Move.COMMIT.value, digest.cast("binary"))


_NAMED = 3
_PARTITION = ["group", "target_topic", "kafka_partition"]
_AGAIN = "Start a new run, whose preview shows this before anything is stopped"


def rereads_beyond(request: FailoverRequest, rereads: int) -> list[str]:
    """Return an error if more records would be read again than ``max_rereads`` allows, else an empty list."""
    if request.max_rereads is None or rereads <= request.max_rereads:
        return []
    return [
        f"{quantify(rereads, 'record')} would be read again, more than max_rereads ({request.max_rereads:,}) allows."
    ]


def list_beyond_approval(
    final: DataFrame, preview: DataFrame, *, request: FailoverRequest, rereads: tuple[int, int]
) -> list[str]:
    """Return the effects of the final translation that the preview did not show, each a sentence.

    Without ``max_rereads``, no partition may have more re-reads than in the preview.

    Args:
        final: dataset ``translation``
        preview: dataset ``translation``
        request: the request
        rereads: how many records are read again at most, after the final translation and after the preview
    """
    errors = _new_groups(final, preview)
    if request.max_rereads is None and rereads[0] > rereads[1]:
        errors += _list_more_rereads(final, preview)
    return errors


def _new_groups(final: DataFrame, preview: DataFrame) -> list[str]:
    moved = final.where(F.col("action") == Move.COMMIT.value).select("group").distinct()
    new = moved.join(preview.select("group").distinct(), "group", "left_anti").orderBy("group")
    names = [row["group"] for row in new.limit(_NAMED + 1).collect()]
    if not names:
        return []
    shown = ", ".join(repr(name) for name in names[:_NAMED])
    more = " and more" if len(names) > _NAMED else ""
    error = f"Groups that the preview did not show would also be moved: {shown}{more}."
    return [f"{error} {_AGAIN}, or narrow `groups`."]


def _list_more_rereads(final: DataFrame, preview: DataFrame) -> list[str]:
    shown = preview.where("covered").select(*_PARTITION, F.col("max_rereads").alias("shown"))
    both = final.where("covered").join(shown, _PARTITION)
    worse = both.where("coalesce(max_rereads, 0) > coalesce(shown, 0)")
    first = worse.orderBy(F.desc(F.expr("max_rereads - coalesce(shown, 0)")), *_PARTITION).limit(_NAMED + 1).collect()
    if not first:
        return []
    named = [_as_text(row.asDict()) for row in first[:_NAMED]]
    if len(first) > _NAMED:
        named.append("and more")
    error = f"More records would be read again than in the preview: {'; '.join(named)}."
    return [f"{error} {_AGAIN}, or allow it with max_rereads."]


def _as_text(row: dict[str, Any]) -> str:
    where = f"group {row['group']!r}, topic {row['target_topic']!r}, partition {row['kafka_partition']}"
    return f"up to {row['max_rereads']:,} instead of {row['shown'] or 0:,} in {where}"
