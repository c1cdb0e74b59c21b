"""Verdicts on the groups of a flow's source, and the totals of each group that they are based on."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.failover import Mode
from airflow_provider_connect_offsets.offsets.requests.readiness import Thresholds
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.pipeline.frames import matches_whole
from airflow_provider_connect_offsets.pipeline.verdicts import finding, sentence, verdicts


def group_verdicts(rows: DataFrame, thresholds: Thresholds, *, connector: str) -> DataFrame:
    """Judge the groups.

    Args:
        rows: what ``by_group`` returns
        thresholds: limits of the request
        connector: the MirrorCheckpoint's name

    Returns:
        dataset ``verdicts``, and weight (long)
    """
    findings = [*_coverage(thresholds), _rereads(thresholds), *_checkpoints(thresholds), *_judge_target()]
    weight = F.col("partitions") - F.col("covered") + F.coalesce("rereads", F.lit(0))
    return verdicts(
        rows,
        findings,
        weight.cast("long").alias("weight"),
        connector=F.lit(connector),
        partition=F.to_json(F.struct("group")),
        prefix=sentence("`{connector}`, group `{group}`: ", connector=connector),
    )


def by_group(rows: DataFrame, thresholds: Thresholds, mirrored: tuple[str, str] | None) -> DataFrame:
    """Sum up dataset ``group_readiness`` by group.

    Args:
        rows: dataset ``group_readiness``, and observed_at
        thresholds: limits of the request
        mirrored: regular expressions of the groups that the checkpoint connector includes and excludes; None if unknown

    Returns:
        group, group_state, target_state, partitions; planned, unplanned and covered (how many partitions a failover of
        that kind, or of both kinds, would translate); rereads and checkpoint_rereads (after a planned failover), exact,
        without_checkpoint, old_checkpoints, ahead_on_target; planned_reason and planned_example, unplanned_reason and
        unplanned_example (of a partition that would not be translated); left_out
    """
    partition = F.concat_ws("-", "topic", F.col("kafka_partition").cast("string"))
    limit = thresholds.max_checkpoint_age * 1000
    behind = F.unix_millis("observed_at") - F.unix_millis("checkpoint_behind_since")
    counted = [_of_kind(kind.value, partition) for kind in Mode]
    return (
        rows.groupBy("group", "group_state")
        .agg(
            F.max("target_state").alias("target_state"),
            F.count("*").alias("partitions"),
            F.count_if(F.col("planned_reason").isNull() & F.col("unplanned_reason").isNull()).alias("covered"),
            *[column for columns in counted for column in columns],
            F.sum("planned_max_rereads").alias("rereads"),
            F.sum("checkpoint_rereads").alias("checkpoint_rereads"),
            F.count_if("planned_exact").alias("exact"),
            F.count_if(F.col("checkpoint_downstream").isNull()).alias("without_checkpoint"),
            F.count_if(F.lit(limit > 0) & (behind > limit)).alias("old_checkpoints"),
            F.count_if(F.col("target_position") > F.col("planned_downstream")).alias("ahead_on_target"),
        )
        .withColumn("left_out", _is_left_out(mirrored))
    )


def _of_kind(kind: str, partition: Column) -> list[Column]:
    """How many partitions a failover of that kind would translate, and an example that it would not translate."""
    missing = F.col(f"{kind}_reason").isNotNull()
    return [
        F.count_if(~missing).alias(kind),
        F.min_by(f"{kind}_reason", F.when(missing, partition)).alias(f"{kind}_reason"),
        F.min(F.when(missing, partition)).alias(f"{kind}_example"),
    ]


def _is_left_out(mirrored: tuple[str, str] | None) -> Column:
    if mirrored is None:
        return F.expr("false")
    taken, excluded = mirrored
    return ~matches_whole(F.col("group"), taken) | matches_whole(F.col("group"), excluded)


def _coverage(thresholds: Thresholds) -> list[Column]:
    planned = "a planned failover now would translate"
    unplanned = "if the source were lost now, a failover would translate"
    return [
        _judge_coverage(thresholds, Rule.COVERAGE, Mode.PLANNED, planned),
        _judge_coverage(thresholds, Rule.UNPLANNED_COVERAGE, Mode.UNPLANNED, unplanned),
    ]


def _judge_coverage(thresholds: Thresholds, rule: Rule, kind: Mode, beginning: str) -> Column:
    covered = F.col(kind.value)
    too_little = F.lit(thresholds.min_coverage > 0) & (covered < thresholds.min_coverage * F.col("partitions"))
    limit = F.when(too_little, f", fewer than min_coverage ({thresholds.min_coverage:.0%}) requires").otherwise("")
    return finding(
        rule,
        F.when(too_little, Severity.ERROR.value).otherwise(Severity.WARNING.value),
        covered < F.col("partitions"),
        "{beginning} {covered:number} of {partitions:partition}{limit}. Partition `{example}`: {reason}.",
        beginning=beginning,
        covered=covered,
        limit=limit,
        example=F.col(f"{kind.value}_example"),
        reason=F.col(f"{kind.value}_reason"),
    )


def _rereads(thresholds: Thresholds) -> Column:
    return finding(
        Rule.REREADS,
        Severity.ERROR,
        F.lit(thresholds.max_rereads > 0) & (F.col("rereads") > thresholds.max_rereads),
        "after a planned failover now, the group would read up to {rereads:record} again, more than max_rereads "
        "({limit:number}) allows.",
        limit=thresholds.max_rereads,
    )


def _checkpoints(thresholds: Thresholds) -> list[Column]:
    cause = F.when(
        F.col("left_out"), "The connector's settings groups or groups.exclude leave the group out."
    ).otherwise(
        "MirrorMaker 2 writes no checkpoint while the group is behind all offset syncs of the partition, and looks for "
        "new groups only every refresh.groups.interval.seconds."
    )
    return [
        finding(
            Rule.CHECKPOINT_MISSING,
            Severity.WARNING,
            F.col("without_checkpoint") > 0,
            "{without_checkpoint:number} of its {partitions:partition has} no checkpoint. {cause}",
            cause=cause,
        ),
        finding(
            Rule.CHECKPOINT_OLD,
            Severity.ERROR,
            F.col("old_checkpoints") > 0,
            "in {old_checkpoints:partition} the group passed an offset sync more than {limit:number} s ago, "
            "but its checkpoint is still before that sync, so checkpoints are no longer written.",
            limit=thresholds.max_checkpoint_age,
        ),
    ]


def _judge_target() -> list[Column]:
    return [
        finding(
            Rule.TARGET_GROUP,
            Severity.WARNING,
            F.col("target_state") != "Empty",
            "on the target, the group of this name has members ({target_state}), so neither a failover nor "
            "MirrorMaker 2 can commit offsets for it there.",
        ),
        finding(
            Rule.TARGET_GROUP,
            Severity.INFO,
            F.col("ahead_on_target") > 0,
            "in {ahead_on_target:partition}, the group's offset on the target is ahead of the translated offset. "
            "A failover moves it back only if the group matches its Param rewind.",
        ),
    ]
