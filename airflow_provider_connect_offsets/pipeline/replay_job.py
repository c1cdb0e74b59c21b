"""The job ``replay``: plan a bounded replay from the ranges of an interval in each log.

Reads ``request.json`` and ``replay_ranges``; writes ``replay_plan``, ``verdicts`` and, last of all, ``summary.json``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.replay import ReplayAction
from airflow_provider_connect_offsets.offsets.requests.replay import ReplayRequest
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.pipeline.frames import conform, read_dataset, write_dataset
from airflow_provider_connect_offsets.pipeline.plan.counts import digest_of, row_digest
from airflow_provider_connect_offsets.pipeline.session import Job, begin
from airflow_provider_connect_offsets.pipeline.summary import (
    now,
    sample_verdicts,
    summarise_plan,
    totals,
    write_summary,
)
from airflow_provider_connect_offsets.pipeline.verdicts import finding, sentence, verdicts
from airflow_provider_connect_offsets.workspace.layout import ReplayDirectory
from airflow_provider_connect_offsets.workspace.schemas import REPLAY_PLAN, REPLAY_RANGES, VERDICTS

_REASONS = {
    ReplayAction.REPLAY: "its records of the interval are delivered",
    ReplayAction.AT_END: "it has no record in the interval; the clone reads its topic, and starts here at the log end",
    ReplayAction.LEAVE_OUT: "its topic has no record in the interval, so the clone does not read the topic",
}


def with_action(ranges: DataFrame) -> DataFrame:
    """Decide what is done with each partition.

    Args:
        ranges: dataset ``replay_ranges``

    Returns:
        its columns, ``action``, ``reason``, and ``starts``, ``stops``: where the clone starts, and where the records
        end that it is to deliver; both are the log end in a partition without a record in the interval
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


def replay_verdicts(decided: DataFrame, request: ReplayRequest, *, age_ms: int) -> DataFrame:
    """Judge single partitions.

    Args:
        decided: what ``with_action`` returns
        request: the request
        age_ms: how long ago the interval begins, in milliseconds

    Returns:
        dataset ``verdicts``
    """
    return verdicts(
        decided,
        [_start_gone(request, age_ms), _warn_of_expiring()],
        connector=F.col("connector"),
        partition=F.col("partition"),
        prefix=sentence("`{connector}`, topic `{topic}`, partition {kafka_partition}: "),
    )


def _start_gone(request: ReplayRequest, age_ms: int) -> Column:
    """Report that records of the interval may be gone: some were deleted, and the first one left is not older than it.

    A log whose records are all gone is not reported while the interval is younger than ``retention.ms``: the records
    that were deleted by age are then older than the interval.
    """
    by_age = (F.col("log_start") == F.col("log_end")) & (F.col("retention_ms") > F.lit(age_ms))
    gone = (F.col("log_start") > 0) & (F.col("begins") == F.col("log_start")) & ~F.coalesce(by_age, F.expr("false"))
    what_follows = (
        "What is left of the interval is delivered."
        if request.partial
        else "To deliver what is left of the interval, set partial. To leave the topic out, set topics."
    )
    return finding(
        Rule.INTERVAL_START_GONE,
        Severity.WARNING if request.partial else Severity.ERROR,
        gone,
        "records before offset {log_start} were deleted, and the first record that is left is not older than the start "
        "of the interval ({start}), so records of the interval may be gone. The interval has {left:offset} left. "
        "{what_follows}",
        start=request.begins.isoformat(),
        left=F.col("ends") - F.col("begins"),
        what_follows=what_follows,
    )


def _warn_of_expiring() -> Column:
    """Warn that retention may delete records before they are delivered."""
    soon = F.col("is_replayed") & (F.col("begins") < F.col("expiring_offset"))
    return finding(
        Rule.EXPIRING,
        Severity.WARNING,
        soon,
        "records before offset {expiring_offset} are older than retention.ms, or will be so within an hour. Brokers "
        "may delete them before they are delivered. Raise retention.ms until the replay has ended.",
    )


def run(spark: SparkSession, directory: ReplayDirectory) -> dict[str, Any]:
    """Plan the replay of ``directory``, write the datasets, and return the summary."""
    request = ReplayRequest.from_json(begin(spark, directory))
    decided = with_action(read_dataset(spark, directory.replay_ranges, REPLAY_RANGES))
    age = datetime.now(tz=UTC) - request.begins
    planned = decided.drop("begins", "ends").withColumnsRenamed({"starts": "begins", "stops": "ends"})
    in_order = conform(planned, REPLAY_PLAN).coalesce(1).sortWithinPartitions("topic", "kafka_partition")
    write_dataset(in_order, directory.replay_plan)
    judged = replay_verdicts(decided, request, age_ms=int(age.total_seconds() * 1000))
    write_dataset(judged.coalesce(1), directory.verdicts)
    rows = read_dataset(spark, directory.replay_plan, REPLAY_PLAN)
    judged = read_dataset(spark, directory.verdicts, VERDICTS)
    return write_summary(spark, directory.summary, summarise(rows, judged, request))


def summarise(rows: DataFrame, judged: DataFrame, request: ReplayRequest) -> dict[str, Any]:
    """Summarise the plan: counts of partitions and offsets, verdicts, and the digest.

    Args:
        rows: dataset ``replay_plan``
        judged: dataset ``verdicts``
        request: the request
    """
    is_replayed = F.col("action") == ReplayAction.REPLAY.value
    digest = digest_of(row_digest("connector", "clone", "partition", "begins", "ends", "action"))
    counts = totals(
        rows,
        F.count_if(is_replayed).alias("partitions"),
        F.count_if(~is_replayed).alias("left_out"),
        F.coalesce(F.sum(F.col("ends") - F.col("begins")), F.lit(0)).alias("offsets"),
        digest.alias("digest"),
    )
    names = {"connector": request.connector, "clone": request.clone, "request": request.as_json()}
    return {**names, **counts, **summarise_plan(sample_verdicts(judged)), "planned_at": now()}


JOB = Job.of_one_run("replay", run, ReplayDirectory)
