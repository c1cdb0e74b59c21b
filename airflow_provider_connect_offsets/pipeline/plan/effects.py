"""Decide for each partition whether it is changed, say why, and count records that are delivered again or skipped.

Adds to the frame of ``targets``::

    named boolean          the request names this partition or position, so a problem with it is an error
    removes boolean        an offset is removed, which is never an error in itself
    stuck boolean          it is selected, but can't be moved to the requested position
    ahead boolean          the request only goes back, and the requested position is ahead of the connector
    action, reason string  as in ``offset_plan``
    records_again, records_skipped long
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.families import ConnectorType
from airflow_provider_connect_offsets.offsets.plan import Action
from airflow_provider_connect_offsets.offsets.requests.place import To
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.pipeline.plan.subjects import Subject
from airflow_provider_connect_offsets.pipeline.verdicts import sentence


def with_effects(rows: DataFrame, request: Request, subject: Subject) -> DataFrame:
    """Add all columns of this module, and drop partitions that are neither stored nor selected."""
    relevant = rows.where("before is not null or selected")
    decided = with_action(with_stuck(relevant, request, subject), request)
    return with_reason(with_records(decided), request)


def with_stuck(rows: DataFrame, request: Request, subject: Subject) -> DataFrame:
    """Add ``named``, ``removes``, ``stuck`` and ``ahead``."""
    removes = F.col("before").isNotNull() & (
        F.lit(request.to is To.CLEAR) | (F.lit(request.to.by_list) & F.col("after").isNull())
    )
    # Kafka can't remove a group's offset of a partition that doesn't exist. Connect can remove such a source offset, as
    # it keeps it as a record of a topic.
    removable = F.lit(subject.type is ConnectorType.SOURCE) | F.col("log_end").isNotNull()
    unreachable = F.lit(subject.family.has_positions) & is_astray() & ~(F.col("removes") & removable)
    needs_position = subject.family.has_positions and request.to.needs_position and request.to is not To.CURRENT
    nowhere = F.lit(needs_position) & F.col("after_position").isNull()
    stuck = F.col("selected") & (unreachable | nowhere)
    return (
        rows.withColumn("named", F.lit(request.to.by_list or request.to is To.OFFSET))
        .withColumn("removes", removes)
        .withColumn("stuck", stuck)
        .withColumn("ahead", _is_ahead(request))
    )


def _is_ahead(request: Request) -> Column:
    """Whether the request only goes back, but its position is ahead of the connector or can't be compared."""
    return F.lit(request.only_back) & F.coalesce(F.col("after_position") > F.col("here"), F.expr("true"))


def is_changed() -> Column:
    """Whether the plan changes the row."""
    return F.col("action") != Action.KEEP.value


def is_astray() -> Column:
    """Whether the connector does not read the partition: no such log, not subscribed, or a problem with it."""
    not_read = ~F.coalesce("consumed", F.expr("true"))
    return F.col("log_end").isNull() | not_read | F.coalesce(F.size("problems") > 0, F.expr("false"))


def with_action(rows: DataFrame, request: Request) -> DataFrame:
    """Add ``action``, and set ``after`` and ``after_position`` to what is stored in rows that are left alone."""
    unreachable = F.col("stuck") & F.lit(not request.to.by_list)
    unchanged = F.lit(request.to is To.CURRENT) | F.col("after").eqNullSafe(F.col("before"))
    kept = ~F.col("selected") | unreachable | unchanged | F.col("ahead")
    action = (
        F.when(kept, Action.KEEP.value).when(F.col("after").isNull(), Action.CLEAR.value).otherwise(Action.SET.value)
    )
    return (
        rows.withColumn("action", action)
        .withColumn("after", F.when(is_changed(), F.col("after")).otherwise(F.col("before")))
        .withColumn("after_position", F.when(is_changed(), F.col("after_position")).otherwise(F.col("before_position")))
    )


def with_records(rows: DataFrame) -> DataFrame:
    """Add records_again and records_skipped: the offsets between the old and the new position, within the log."""
    there = F.coalesce("after_position", "reset_position")
    moves = is_changed() & ~is_astray()
    return rows.withColumn("records_again", _distance(moves, there, F.col("here"))).withColumn(
        "records_skipped", _distance(moves, F.col("here"), there)
    )


def _distance(counts: Column, low: Column, high: Column) -> Column:
    first, last = F.greatest(low, F.col("log_start")), F.least(high, F.col("log_end"))
    known = low.isNotNull() & high.isNotNull()
    return F.when(counts & known & (first < last), last - first).otherwise(F.lit(0)).cast("long")


def with_reason(rows: DataFrame, request: Request) -> DataFrame:
    """Add ``reason``, a few words for the approver."""
    requested = F.lit(f"to={request.to}" + (f" {request.value_shown}" if request.value else ""))
    keeps = ~is_changed()
    reason = (
        F.when(~F.col("selected"), F.lit("not selected"))
        .when(keeps & F.col("stuck"), F.lit("left alone"))
        .when(keeps & F.col("ahead"), F.lit("is before the requested position, and the request only moves back"))
        .when(keeps, F.lit("already there"))
        .when(F.col("records_again") > 0, F.concat(requested, sentence(": {records_again:record} again")))
        .when(F.col("records_skipped") > 0, F.concat(requested, sentence(": {records_skipped:record} never")))
        .otherwise(requested)
    )
    return rows.withColumn("reason", reason)
