"""What becomes of each partition: left alone or changed, why, and how many records that delivers again or never.

Adds to the frame of ``targets``::

    named boolean          the request names this very partition or position, so a wrong one is an error
    removes boolean        an offset is to be removed, which is never wrong in itself
    stuck boolean          it was selected, but can't be moved to where the request says
    ahead boolean          the request goes back only, and the connector has not come as far as it says
    action, reason string  as in ``offset_plan``
    records_again, records_skipped long
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.families import ConnectorType
from airflow_provider_connect_offsets.offsets.plan import Action
from airflow_provider_connect_offsets.offsets.requests.request import Request, To
from airflow_provider_connect_offsets.pipeline.frames import Subject


def with_effects(rows: DataFrame, request: Request, subject: Subject) -> DataFrame:
    """Add all columns of this module, and leave out partitions that are neither stored nor selected."""
    relevant = rows.where("before is not null or selected")
    decided = with_action(with_stuck(relevant, request, subject), request)
    return with_reason(with_records(decided), request)


def with_stuck(rows: DataFrame, request: Request, subject: Subject) -> DataFrame:
    """Add ``named``, ``removes`` and ``stuck``."""
    removes = F.col("before").isNotNull() & (
        F.lit(request.to is To.CLEAR) | (F.lit(request.to.by_list) & F.col("after").isNull())
    )
    # Kafka can't remove a group's offset of a partition that doesn't exist; Connect's own offsets are just rows.
    removable = F.lit(subject.type is ConnectorType.SOURCE) | F.col("log_end").isNotNull()
    unreachable = F.lit(subject.family.has_positions) & is_astray() & ~(F.col("removes") & removable)
    nowhere = F.lit(request.to.needs_position and request.to is not To.CURRENT) & F.col("after_position").isNull()
    stuck = F.col("selected") & (unreachable | nowhere)
    return (
        rows.withColumn("named", F.lit(request.to.by_list or request.to is To.OFFSET))
        .withColumn("removes", removes)
        .withColumn("stuck", stuck)
        .withColumn("ahead", _is_ahead(request))
    )


def _is_ahead(request: Request) -> Column:
    """Whether the place that is asked for is not known to lie behind the connector, where it is to go back only."""
    return F.lit(request.only_back) & F.coalesce(F.col("after_position") > F.col("here"), F.expr("true"))


def is_astray() -> Column:
    """Whether a partition is none that the connector reads: no such log, not subscribed to, or not its own."""
    not_read = ~F.coalesce("consumed", F.expr("true"))
    return F.col("log_end").isNull() | not_read | F.coalesce(F.size("problems") > 0, F.expr("false"))


def with_action(rows: DataFrame, request: Request) -> DataFrame:
    """Add ``action``; rows that are left alone keep what they have, in ``after`` and ``after_position`` too."""
    lost = F.col("stuck") & F.lit(not request.to.by_list)
    stays = F.lit(request.to is To.CURRENT) | F.col("after").eqNullSafe(F.col("before"))
    kept = ~F.col("selected") | lost | stays | F.col("ahead")
    action = (
        F.when(kept, Action.KEEP.value).when(F.col("after").isNull(), Action.CLEAR.value).otherwise(Action.SET.value)
    )
    keeps = F.col("action") == Action.KEEP.value
    return (
        rows.withColumn("action", action)
        .withColumn("after", F.when(keeps, F.col("before")).otherwise(F.col("after")))
        .withColumn("after_position", F.when(keeps, F.col("before_position")).otherwise(F.col("after_position")))
    )


def with_records(rows: DataFrame) -> DataFrame:
    """Add records_again and records_skipped: how many offsets lie between here and there, within the log."""
    there = F.coalesce("after_position", "reset_position")
    moves = (F.col("action") != Action.KEEP.value) & ~is_astray()
    return rows.withColumn("records_again", _distance(moves, there, F.col("here"))).withColumn(
        "records_skipped", _distance(moves, F.col("here"), there)
    )


def _distance(counts: Column, low: Column, high: Column) -> Column:
    first, last = F.greatest(low, F.col("log_start")), F.least(high, F.col("log_end"))
    known = low.isNotNull() & high.isNotNull()
    return F.when(counts & known & (first < last), last - first).otherwise(F.lit(0)).cast("long")


def with_reason(rows: DataFrame, request: Request) -> DataFrame:
    """Add ``reason``, a few words for the person who approves."""
    asked = F.lit(f"to={request.to}" + (f" {request.value}" if request.value else ""))
    keeps = F.col("action") == Action.KEEP.value
    reason = (
        F.when(~F.col("selected"), F.lit("not selected"))
        .when(keeps & F.col("stuck"), F.lit("left alone"))
        .when(keeps & F.col("ahead"), F.lit("has not come so far, and is to go back only"))
        .when(keeps, F.lit("stands there already"))
        .when(F.col("records_again") > 0, F.concat(asked, F.lit(": "), count("records_again"), F.lit(" again")))
        .when(F.col("records_skipped") > 0, F.concat(asked, F.lit(": "), count("records_skipped"), F.lit(" never")))
        .otherwise(asked)
    )
    return rows.withColumn("reason", reason)


def count(column: str) -> Column:
    """Say how many records, in words that read well for one record too."""
    return F.when(F.col(column) == 1, F.lit("1 record")).otherwise(F.format_string("%d records", column))
