"""Compute the bounds of translated offsets from the elements of each partition, in two passes."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.events import KEY, KNOWN, QUERY, SO_FAR, query_events, union_of
from airflow_provider_connect_offsets.pipeline.translate.elements import BLIND, POINT, STRETCH, is_single
from airflow_provider_connect_offsets.pipeline.translate.later import reach_last, reach_unread

#: Kind of ``lower`` if a checkpoint gives a higher bound than the elements.
CHECKPOINT = "checkpoint"

_UNREAD = ("start", "end", "upstream", "certain", "again_from", "again_to", "kind", "doubts", "doubts_low", "unshown")
_LAST = ("start", "upstream", "later_low", "later_high")


def bound_offsets(
    positions: DataFrame,
    partitions: DataFrame,
    elements: DataFrame,
    uncovered: DataFrame,
    checkpoints: DataFrame | None = None,
    *,
    trusts_checkpoints: bool = False,
) -> DataFrame:
    """Bound the translated offset of each position.

    Args:
        positions: topic, kafka_partition, position (long), and any others
        partitions: dataset ``mirror_partitions``
        elements: what ``with_later`` returns
        uncovered: what ``find_uncovered`` returns
        checkpoints: topic (of the source), kafka_partition, upstream, downstream; or None
        trusts_checkpoints: as ``translation.translate`` takes it

    Returns:
        ``positions`` with lower (no unread record has its only copies before it; null: unknown), upper (at or after the
        last copy of the first unread record), missing (unread records without a copy; null: unknown), max_rereads, kind
        (of the element that ``lower`` is based on, or ``CHECKPOINT``; null: no unread record has a copy), claimed (the
        source offset of the record copied to ``lower``; null: unknown), unshown (how many elements from that element on
        are not shown by records; null: no unread record has a copy)
    """
    above = _go_down(positions, elements, uncovered)
    known = _go_up(above, partitions, elements, checkpoints)
    columns = [name for name in above.columns if name not in {"unread", "last"}]
    return _with_checkpoints(known, columns, trusts_checkpoints=trusts_checkpoints)


def _go_down(positions: DataFrame, elements: DataFrame, uncovered: DataFrame) -> DataFrame:
    """Going down from the highest position, find the first element that may or does contain an unread record."""
    unread = _events(elements.withColumn("at", reach_unread()), unread=F.struct(*_UNREAD))
    last = _events(elements.withColumn("at", reach_last()), last=F.struct(*_LAST))
    without = _events(uncovered, missing=F.col("missing"), unknown=F.col("unknown"))
    downwards = Window.partitionBy(*KEY).orderBy(F.desc("at"), "kind").rowsBetween(*SO_FAR)
    events = (
        union_of(query_events(positions), unread, last, without)
        .withColumns(
            {
                "unread": F.min("unread").over(downwards),
                "last": F.min("last").over(downwards),
                "missing": F.coalesce(F.sum("missing").over(downwards), F.lit(0)),
                "unknown": F.coalesce(F.sum("unknown").over(downwards), F.lit(0)),
            }
        )
        .where(F.col("kind") == QUERY)
    )
    missing = F.when(F.col("unknown") == 0, F.col("missing")).cast("long")
    return events.select("query.*", "unread", "last", missing.alias("missing"))


def _go_up(above: DataFrame, partitions: DataFrame, elements: DataFrame, checkpoints: DataFrame | None) -> DataFrame:
    """Going up, find the element of the last record before each position, and the highest checkpoint up to it."""
    bounds = _at_elements(above, partitions, elements)
    several = elements.where(~is_single()).withColumn("at", F.col("low") + 1)
    events = [query_events(bounds), _events(several, before=F.struct("start", "end", "certain", "upstream", "high"))]
    if checkpoints is not None:
        events.append(_events(checkpoints.withColumn("at", F.col("upstream")), checkpoint_offset=F.col("downstream")))
    upwards = Window.partitionBy(*KEY).orderBy("at", "kind").rowsBetween(*SO_FAR)
    highest = F.lit(None).cast("long") if checkpoints is None else F.max("checkpoint_offset").over(upwards)
    return (
        union_of(*events)
        .withColumns({"before": F.max("before").over(upwards), "checkpoint_offset": highest})
        .where(F.col("kind") == QUERY)
        .select("query.*", "before", "checkpoint_offset")
    )


def _with_checkpoints(known: DataFrame, columns: list[str], *, trusts_checkpoints: bool) -> DataFrame:
    """Raise ``lower`` to a checkpoint within an element that has no better bound.

    Before the first mapping, a checkpoint may belong to an earlier topic or be written during a rewind.
    """
    # So may a checkpoint after the last mapping of a lost source: it is unknown whether replication had caught up.
    open_there = (F.col("unread.kind") == STRETCH) & (F.col("unread.end") + 1 >= F.col("all_end")) & F.col("is_lost")
    in_blind = (F.col("unread.kind") == BLIND) & F.col("is_lost")
    trusted = in_blind | open_there if trusts_checkpoints else F.expr("false")
    unclear = ((F.col("unread.kind") == STRETCH) & ~open_there) | trusted
    further = F.col("checkpoint_offset") > F.col("lower")
    by_checkpoint = F.coalesce(unclear & further & _since_the_last_rewind(), F.expr("false"))
    blind = F.coalesce((F.col("unread.kind") == BLIND) & ~by_checkpoint, F.expr("false"))
    lower = F.when(by_checkpoint, F.col("checkpoint_offset")).when(~blind, F.col("lower"))
    return known.select(
        *columns,
        lower.alias("lower"),
        F.col("element_upper").alias("upper"),
        F.when(lower.isNotNull(), _rereads(lower)).alias("max_rereads"),
        F.col("unread.unshown").alias("unshown"),
        F.when(by_checkpoint, F.lit(CHECKPOINT)).otherwise(F.col("unread.kind")).alias("kind"),
        F.when(~by_checkpoint & F.col("unread.certain"), _first_record("unread", "again_from", "again_to")).alias(
            "claimed"
        ),
    )


def _since_the_last_rewind() -> Column:
    """Whether the checkpoint lies no further than the element that may hold the unread record's copy.

    (An element is a range of remote offsets.) A checkpoint beyond it was written before a rewind.
    """
    return F.col("checkpoint_offset") <= F.least(F.col("unread.end") + 1, "element_upper")


def _at_elements(above: DataFrame, partitions: DataFrame, elements: DataFrame) -> DataFrame:
    """Compute both bounds from the elements; if no element may contain an unread record, they are after all copies."""
    of_partition = Window.partitionBy(*KEY)
    # A mapping proves that there was a copy, even if the copy has since been deleted.
    own_end = F.max(F.when(F.col("certain") | (F.col("kind") == POINT), F.col("end") + 1))
    behind = is_single() & (F.col("start") >= F.coalesce("own_end", F.lit(0)))
    own = (
        elements.withColumn("own_end", own_end.over(of_partition))
        .groupBy(*KEY)
        .agg(
            F.max("own_end").alias("own_end"),
            (F.max("end") + 1).alias("all_end"),
            F.count_if(behind).alias("tail_doubts"),
        )
    )
    is_lost = F.col("source_end").isNull().alias("is_lost")
    ends = partitions.select(*KEY, "target_start", is_lost).join(own, list(KEY), "left")
    certainly = F.when(F.col("unread.certain"), _first_unread("unread", "again_from", "again_to"))
    lower = F.when(F.col("unread").isNotNull(), F.coalesce(certainly, "unread.start"))
    return (
        above.join(F.broadcast(ends), list(KEY), "left")
        .withColumns(
            {
                "lower": F.coalesce(lower, "own_end", "target_start"),
                "element_upper": F.coalesce(
                    _first_unread("last", "later_low", "later_high"), "all_end", "target_start"
                ),
            }
        )
        .drop("own_end", "target_start")
    )


def _rereads(lower: Column) -> Column:
    """How many already read records may have copies at or after ``lower``, in elements or as single records."""
    behind = F.least(F.col("before.high"), F.col("position") - 1) - F.col("before.upstream") + F.col("before.start")
    end = F.when(F.col("before.certain"), behind).otherwise(F.col("before.end"))
    ahead = F.when(F.col("unread.doubts_low") < F.col("position"), F.col("unread.doubts"))
    doubts = F.when(F.col("unread").isNull(), F.col("tail_doubts")).otherwise(ahead)
    return F.greatest(F.coalesce(end - lower + 1, F.lit(0)), F.lit(0)) + F.coalesce(doubts, F.lit(0))


def _first_unread(element: str, hidden_from: str, hidden_to: str) -> Column:
    """Offset of the first unread record in an element, skipping records between ``hidden_from`` and ``hidden_to``."""
    record = _first_record(element, hidden_from, hidden_to)
    return F.col(f"{element}.start") + record - F.col(f"{element}.upstream")


def _first_record(element: str, hidden_from: str, hidden_to: str) -> Column:
    first = F.greatest("position", f"{element}.upstream")
    hidden = (first >= F.col(f"{element}.{hidden_from}")) & (first <= F.col(f"{element}.{hidden_to}"))
    return F.when(F.coalesce(hidden, F.expr("false")), F.col(f"{element}.{hidden_to}") + 1).otherwise(first)


def _events(frame: DataFrame, **carried: Column) -> DataFrame:
    values = [value.alias(name) for name, value in carried.items()]
    return frame.where("at is not null").select(*KEY, "at", F.lit(KNOWN).alias("kind"), *values)
