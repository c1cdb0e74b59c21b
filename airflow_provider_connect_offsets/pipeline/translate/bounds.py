"""Bounds of translated offsets: what each position is told by the elements of its partition, in two passes."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.events import ASKED, KEY, KNOWN, SO_FAR, asked_events, union_of
from airflow_provider_connect_offsets.pipeline.translate.elements import BLIND, POINT, STRETCH, is_single
from airflow_provider_connect_offsets.pipeline.translate.later import reach_last, reach_unread

#: What ``lower`` rests on where a checkpoint tells more than the elements do.
CHECKPOINT = "checkpoint"

_UNREAD = ("start", "end", "upstream", "certain", "again_from", "again_to", "kind", "doubts", "doubts_low")
_LAST = ("start", "upstream", "later_low", "later_high")


def bounded(
    positions: DataFrame,
    partitions: DataFrame,
    found: DataFrame,
    uncovered: DataFrame,
    checkpoints: DataFrame | None = None,
    *,
    trusts_checkpoints: bool = False,
) -> DataFrame:
    """Bound the translated offset of each position.

    positions: topic, kafka_partition, position (long), and whatever else; partitions: dataset ``mirror_partitions``
    found: elements, of ``with_later``; uncovered: of ``uncovered``
    checkpoints: topic (of the source), kafka_partition, upstream, downstream; or None; trusts_checkpoints: of
    ``answers``
    returns: positions + lower (no unread record stands before it only; null: nothing is known), upper (the last copy of
    an unread record stands there, or before), missing (how many unread records have no copy; null: not known),
    max_rereads, kind (of the element that ``lower`` rests on, or ``CHECKPOINT``; null: no unread record has a copy),
    claimed (the record of the source whose copy stands at ``lower``; null: that is not told)
    """
    seen = _downwards(positions, found, uncovered)
    known = _upwards(seen, partitions, found, checkpoints)
    columns = [name for name in seen.columns if name not in {"unread", "last"}]
    return _with_told(known, columns, trusts_checkpoints=trusts_checkpoints)


def _downwards(positions: DataFrame, found: DataFrame, uncovered: DataFrame) -> DataFrame:
    """From the highest position down: which element is the first one that may, or must, hold an unread record."""
    unread = _events(found.withColumn("at", reach_unread()), unread=F.struct(*_UNREAD))
    last = _events(found.withColumn("at", reach_last()), last=F.struct(*_LAST))
    without = _events(uncovered, missing=F.col("missing"), unknown=F.col("unknown"))
    downwards = Window.partitionBy(*KEY).orderBy(F.desc("at"), "kind").rowsBetween(*SO_FAR)
    seen = (
        reduce(union_of, (asked_events(positions), unread, last, without))
        .withColumns(
            {
                "unread": F.min("unread").over(downwards),
                "last": F.min("last").over(downwards),
                "missing": F.coalesce(F.sum("missing").over(downwards), F.lit(0)),
                "unknown": F.coalesce(F.sum("unknown").over(downwards), F.lit(0)),
            }
        )
        .where(F.col("kind") == ASKED)
    )
    missing = F.when(F.col("unknown") == 0, F.col("missing")).cast("long")
    return seen.select("asked.*", "unread", "last", missing.alias("missing"))


def _upwards(seen: DataFrame, partitions: DataFrame, found: DataFrame, checkpoints: DataFrame | None) -> DataFrame:
    """From the lowest position up: where the last record stands that lies before it, and what checkpoints tell."""
    bounds = _at_elements(seen, partitions, found)
    stands = found.where(~is_single()).withColumn("at", F.col("low") + 1)
    events = [asked_events(bounds), _events(stands, before=F.struct("start", "end", "certain", "upstream", "high"))]
    if checkpoints is not None:
        events.append(_events(checkpoints.withColumn("at", F.col("upstream")), told=F.col("downstream")))
    upwards = Window.partitionBy(*KEY).orderBy("at", "kind").rowsBetween(*SO_FAR)
    told = F.lit(None).cast("long") if checkpoints is None else F.max("told").over(upwards)
    return (
        reduce(union_of, events)
        .withColumns({"before": F.max("before").over(upwards), "told": told})
        .where(F.col("kind") == ASKED)
        .select("asked.*", "before", "told")
    )


def _with_told(known: DataFrame, columns: list[str], *, trusts_checkpoints: bool) -> DataFrame:
    """Begin where a checkpoint tells, if that is further on in the very piece of which nothing else is known.

    Before the first mapping it may be of an earlier topic, or written in the midst of a rewind.
    """
    in_blind = (F.col("unread.kind") == BLIND) & F.col("is_lost")
    unclear = (F.col("unread.kind") == STRETCH) | (in_blind if trusts_checkpoints else F.expr("false"))
    further = F.col("told") > F.col("lower")
    by_checkpoint = F.coalesce(unclear & further & _since_the_last_rewind(), F.expr("false"))
    blind = F.coalesce((F.col("unread.kind") == BLIND) & ~by_checkpoint, F.expr("false"))
    lower = F.when(by_checkpoint, F.col("told")).when(~blind, F.col("lower"))
    return known.select(
        *columns,
        lower.alias("lower"),
        F.col("told_upper").alias("upper"),
        F.when(lower.isNotNull(), _rereads(lower)).alias("max_rereads"),
        F.when(by_checkpoint, F.lit(CHECKPOINT)).otherwise(F.col("unread.kind")).alias("kind"),
        F.when(~by_checkpoint & F.col("unread.certain"), _first_record("unread", "again_from", "again_to")).alias(
            "claimed"
        ),
    )


def _since_the_last_rewind() -> Column:
    """Whether a checkpoint is of the piece that holds the unread record; one behind it was written after a rewind."""
    return F.col("told") <= F.least(F.col("unread.end") + 1, "told_upper")


def _at_elements(seen: DataFrame, partitions: DataFrame, found: DataFrame) -> DataFrame:
    """Both bounds, where the elements lie that were found; where none was, behind all copies that there are."""
    of_partition = Window.partitionBy(*KEY)
    # A mapping tells of a copy, whether or not it is there still.
    own_end = F.max(F.when(F.col("certain") | (F.col("kind") == POINT), F.col("end") + 1))
    behind = is_single() & (F.col("start") >= F.coalesce("own_end", F.lit(0)))
    own = (
        found.withColumn("own_end", own_end.over(of_partition))
        .groupBy(*KEY)
        .agg(
            F.max("own_end").alias("own_end"),
            (F.max("end") + 1).alias("all_end"),
            F.count_if(behind).alias("tail_doubts"),
        )
    )
    is_lost = F.col("source_end").isNull().alias("is_lost")
    ends = partitions.select(*KEY, "target_start", is_lost).join(own, list(KEY), "left")
    certainly = F.when(F.col("unread.certain"), _first("unread", "again_from", "again_to"))
    lower = F.when(F.col("unread").isNotNull(), F.coalesce(certainly, "unread.start"))
    return (
        seen.join(F.broadcast(ends), list(KEY), "left")
        .withColumns(
            {
                "lower": F.coalesce(lower, "own_end", "target_start"),
                "told_upper": F.coalesce(_first("last", "later_low", "later_high"), "all_end", "target_start"),
            }
        )
        .drop("own_end", "all_end", "target_start")
    )


def _rereads(lower: Column) -> Column:
    """How many records that were read may stand from ``lower`` on: in a piece, or one by one."""
    behind = F.least(F.col("before.high"), F.col("position") - 1) - F.col("before.upstream") + F.col("before.start")
    end = F.when(F.col("before.certain"), behind).otherwise(F.col("before.end"))
    ahead = F.when(F.col("unread.doubts_low") < F.col("position"), F.col("unread.doubts"))
    doubts = F.when(F.col("unread").isNull(), F.col("tail_doubts")).otherwise(ahead)
    return F.greatest(F.coalesce(end - lower + 1, F.lit(0)), F.lit(0)) + F.coalesce(doubts, F.lit(0))


def _first(element: str, hidden_from: str, hidden_to: str) -> Column:
    """Where the first unread record stands in an element, leaving out what lies between two records."""
    record = _first_record(element, hidden_from, hidden_to)
    return F.col(f"{element}.start") + record - F.col(f"{element}.upstream")


def _first_record(element: str, hidden_from: str, hidden_to: str) -> Column:
    first = F.greatest("position", f"{element}.upstream")
    hidden = (first >= F.col(f"{element}.{hidden_from}")) & (first <= F.col(f"{element}.{hidden_to}"))
    return F.when(F.coalesce(hidden, F.expr("false")), F.col(f"{element}.{hidden_to}") + 1).otherwise(first)


def _events(frame: DataFrame, **carried: Column) -> DataFrame:
    values = [value.alias(name) for name, value in carried.items()]
    return frame.where("at is not null").select(*KEY, "at", F.lit(KNOWN).alias("kind"), *values)
