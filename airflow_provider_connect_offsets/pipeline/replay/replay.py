"""Plan a bounded replay: datasets ``replay_plan`` and ``verdicts`` from the ranges of an interval in each log."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.replay import ReplayAction
from airflow_provider_connect_offsets.offsets.requests.replay import ReplayRequest
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.pipeline.frames import shaped
from airflow_provider_connect_offsets.pipeline.verdicts import found, sentence, verdicts
from airflow_provider_connect_offsets.workspace.schemas import REPLAY_PLAN

_REASONS = {
    ReplayAction.REPLAY: "its records of the interval are delivered",
    ReplayAction.AT_END: "it has no record in the interval; the clone, which reads its topic, starts at the log end",
    ReplayAction.LEAVE_OUT: "its topic has no record in the interval, so the clone does not read it",
}


def with_action(ranges: DataFrame) -> DataFrame:
    """Decide what is done with each partition.

    Args:
        ranges: dataset ``replay_ranges``

    Returns:
        its columns, ``action``, ``reason``, and ``starts``, ``stops``: where the clone starts, and the end of what it
        is to deliver; both are the log end in a partition without a record in the interval
    """
    is_replayed = F.coalesce(F.col("first_record") < F.col("ends"), F.expr("false"))
    of_topic = F.max("is_replayed").over(Window.partitionBy("topic"))
    action = (
        F.when(F.col("is_replayed"), ReplayAction.REPLAY.value)
        .when(F.col("topic_is_read"), ReplayAction.AT_END.value)
        .otherwise(ReplayAction.LEAVE_OUT.value)
    )
    reasons = F.create_map(*[F.lit(text) for pair in _REASONS.items() for text in (pair[0].value, pair[1])])
    return (
        ranges.withColumn("is_replayed", is_replayed)
        .withColumn("topic_is_read", of_topic)
        .withColumn("action", action)
        .withColumn("reason", reasons[F.col("action")])
        .withColumn("starts", F.when(F.col("is_replayed"), F.col("begins")).otherwise(F.col("log_end")))
        .withColumn("stops", F.when(F.col("is_replayed"), F.col("ends")).otherwise(F.col("log_end")))
    )


def plan_rows(decided: DataFrame) -> DataFrame:
    """Dataset ``replay_plan``. ``decided``: the frame of ``with_action``."""
    renamed = decided.drop("begins", "ends").withColumnsRenamed({"starts": "begins", "stops": "ends"})
    return shaped(renamed, REPLAY_PLAN)


def row_digest() -> Column:
    """The digest that ``ReplayRow.digest`` computes."""
    fields = ("connector", "clone", "partition", "begins", "ends", "action")
    return F.sha2(F.concat_ws("\n", *[F.col(field).cast("string") for field in fields]), 256)


def replay_verdicts(decided: DataFrame, request: ReplayRequest, *, age_ms: int) -> DataFrame:
    """Judge single partitions.

    Args:
        decided: the frame of ``with_action``
        request: the request
        age_ms: how long ago the interval begins, in milliseconds

    Returns:
        dataset ``verdicts``
    """
    return verdicts(
        decided,
        [_start_gone(request, age_ms), _expiring()],
        connector=F.col("connector"),
        partition=F.col("partition"),
        prefix=sentence("`{connector}`, topic `{topic}`, partition {kafka_partition}: "),
    )


def _start_gone(request: ReplayRequest, age_ms: int) -> Column:
    """Records before the log start were deleted, and no record that is left is older than the interval.

    A log whose records are all gone is no finding while the interval is younger than ``retention.ms``: what was deleted
    by age is older than the interval then.
    """
    by_age = (F.col("log_start") == F.col("log_end")) & (F.col("retention_ms") > F.lit(age_ms))
    gone = (F.col("log_start") > 0) & (F.col("begins") == F.col("log_start")) & ~F.coalesce(by_age, F.expr("false"))
    what_follows = (
        "What is left of the interval is delivered."
        if request.partial
        else "Set partial to deliver what is left of the interval, or topics to leave the topic out."
    )
    return found(
        Rule.INTERVAL_START_GONE,
        Severity.WARNING if request.partial else Severity.ERROR,
        gone,
        "records before offset {log_start} were deleted, and the first one left is not older than the interval's "
        "start, {start}, so records of the interval may be gone. {left} offsets of it are left. {what_follows}",
        start=request.begins.isoformat(),
        left=F.col("ends") - F.col("begins"),
        what_follows=what_follows,
    )


def _expiring() -> Column:
    """Retention may delete records before they are delivered."""
    soon = F.col("is_replayed") & (F.col("begins") < F.col("expiring_offset"))
    return found(
        Rule.EXPIRING,
        Severity.WARNING,
        soon,
        "records before offset {expiring_offset} are older than retention.ms, or will be within an hour, so brokers "
        "may delete them before they are delivered. Raise retention.ms until the replay has ended.",
    )
