"""Compare a final translation with its approved preview: no other groups, no more re-reads."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest, Move

_NAMED = 3
_PARTITION = ["group", "target_topic", "kafka_partition"]
_AGAIN = "Start a new run, which shows this before anything is stopped"


def rereads_beyond(request: FailoverRequest, rereads: int) -> list[str]:
    """The error if more records than ``max_rereads`` would be read again; empty if there is no such limit."""
    if request.max_rereads is None or rereads <= request.max_rereads:
        return []
    return [f"{rereads:,} records would be read again, more than max_rereads {request.max_rereads:,} allows."]


def beyond_approval(
    final: DataFrame, preview: DataFrame, *, request: FailoverRequest, rereads: tuple[int, int]
) -> list[str]:
    """Effects of the final translation that the preview did not show, each a sentence.

    Without ``max_rereads``, no partition may have more re-reads than in the preview.

    Args:
        final: dataset ``translation``
        preview: dataset ``translation``
        request: the request
        rereads: how many records are read again at most, after the final translation and after the preview
    """
    errors = _new_groups(final, preview)
    if request.max_rereads is None and rereads[0] > rereads[1]:
        errors += _more_rereads(final, preview)
    return errors


def _new_groups(final: DataFrame, preview: DataFrame) -> list[str]:
    moved = final.where(F.col("action") == Move.COMMIT.value).select("group").distinct()
    new = moved.join(preview.select("group").distinct(), "group", "left_anti").orderBy("group")
    names = [row["group"] for row in new.limit(_NAMED + 1).collect()]
    if not names:
        return []
    shown = ", ".join(repr(name) for name in names[:_NAMED])
    more = " and more" if len(names) > _NAMED else ""
    return [f"The preview did not show {shown}{more}, which would be moved as well. {_AGAIN}, or narrow `groups`."]


def _more_rereads(final: DataFrame, preview: DataFrame) -> list[str]:
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
    return f"{where}: at most {row['max_rereads']:,}, not {row['shown'] or 0:,}"
