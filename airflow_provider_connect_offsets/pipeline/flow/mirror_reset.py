"""Compute the effects of a flow reset on remote topics, offset syncs and checkpoints; Catalyst only.

Emptying the offset-syncs topic deletes all its syncs, including syncs of topics that are left alone or of another flow.
MirrorSource appends records that it reads again to the remote topic; a record whose first copy is still there becomes
a duplicate.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import HEARTBEATS, Flow, Policy
from airflow_provider_connect_offsets.offsets.plan import Action
from airflow_provider_connect_offsets.offsets.requests.flow_reset import Belongs, FlowReset
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity, Verdict
from airflow_provider_connect_offsets.pipeline.events import KEY
from airflow_provider_connect_offsets.pipeline.frames import conform
from airflow_provider_connect_offsets.pipeline.plan.subjects import Subject, Subjects, is_consumed
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace.flow_schemas import RESET_TOPICS

MOST_NAMES = 10


def target_topic(topic: Column, flow: Flow) -> Column:
    """The remote topic of a source topic, as ``Flow.target_topic`` computes it."""
    prefixed = F.concat(F.lit(f"{flow.source_alias}{flow.separator}"), topic)
    if flow.policy is not Policy.IDENTITY:
        return prefixed
    return F.when(topic.endswith(HEARTBEATS), prefixed).otherwise(topic)


def count_replicated_again(effects: DataFrame, target_bounds: DataFrame, flow: Flow) -> DataFrame:
    """Count the records that are replicated again, by topic.

    Args:
        effects: what ``effects.with_effects`` returns
        target_bounds: dataset ``log_bounds`` of the remote topics
        flow: the flow

    Returns:
        topic, partitions (that the plan changes), records_again, duplicates (records with a copy in the remote topic)
    """
    length = (F.col("log_end") - F.col("log_start")).alias("length")
    logs = target_bounds.select(F.col("topic").alias("remote_topic"), "kafka_partition", length)
    rows = effects.where("topic is not null").withColumn("remote_topic", target_topic(F.col("topic"), flow))
    joined = rows.join(logs, ["remote_topic", "kafka_partition"], "left")
    return joined.groupBy("topic").agg(
        F.count_if(F.col("action") != Action.KEEP.value).alias("partitions"),
        F.sum("records_again").alias("records_again"),
        F.sum(F.least("records_again", F.coalesce("length", F.lit(0)))).alias("duplicates"),
    )


def reset_topics(again: DataFrame, syncs: DataFrame, subject: Subject) -> DataFrame:
    """Dataset ``reset_topics``: every topic that is replicated again or has syncs.

    Args:
        again: what ``count_replicated_again`` returns
        syncs: dataset ``offset_syncs``
        subject: the MirrorSource
    """
    counted = syncs.groupBy("topic").agg(F.count("*").alias("syncs"), F.max("log_timestamp").alias("newest_sync"))
    joined = Subjects((subject,)).with_patterns(again.join(counted, "topic", "full"))
    # If the configuration does not show its topics, it may replicate any topic.
    own = F.col("partitions").isNotNull() | F.coalesce(is_consumed(subject), F.expr("true"))
    belongs = (
        F.when(F.col("partitions") > 0, Belongs.RESET.value)
        .when(own, Belongs.KEPT.value)
        .otherwise(Belongs.FOREIGN.value)
    )
    zeros = {name: F.coalesce(name, F.lit(0)) for name in ("partitions", "records_again", "duplicates", "syncs")}
    rows = joined.withColumn("belongs", belongs).withColumns(zeros)
    return conform(rows.where("partitions > 0 or syncs > 0"), RESET_TOPICS)


def select_beyond_end(latest: DataFrame, source_bounds: DataFrame, target_bounds: DataFrame, flow: Flow) -> DataFrame:
    """Return checkpoints beyond the end of a remote topic, which was recreated, and all checkpoints of deleted topics.

    Args:
        latest: dataset ``checkpoints``, the last of each group and partition
        source_bounds: dataset ``log_bounds`` of the source
        target_bounds: dataset ``log_bounds`` of the remote topics
        flow: the flow
    """
    remote_partitions = source_bounds.select(target_topic(F.col("topic"), flow).alias("topic"), "kafka_partition")
    ends = target_bounds.select(*KEY, "log_end")
    joined = latest.join(remote_partitions, list(KEY), "left_semi").join(ends, list(KEY), "left")
    return joined.where(F.col("downstream") > F.coalesce("log_end", F.lit(0)))


def totals(topics: DataFrame) -> dict[str, Any]:
    """Sum up dataset ``reset_topics`` for the summary, with up to ``MOST_NAMES`` names of each kind."""
    by_kind = topics.groupBy("belongs").agg(
        F.count("*").alias("topics"),
        F.sum("syncs").alias("syncs"),
        F.sum("duplicates").alias("duplicates"),
        F.slice(F.array_sort(F.collect_set(F.when(F.col("syncs") > 0, F.col("topic")))), 1, MOST_NAMES).alias("names"),
        F.count_if(F.col("syncs") > 0).alias("with_syncs"),
    )
    kinds = {row["belongs"]: row.asDict() for row in by_kind.collect()}
    nothing = {"topics": 0, "syncs": 0, "duplicates": 0, "names": [], "with_syncs": 0}
    sums = {kind.value: {**nothing, **kinds.get(kind, {})} for kind in Belongs}
    return {
        "duplicates": sum(row["duplicates"] for row in sums.values()),
        "syncs": sum(row["syncs"] for row in sums.values()),
        "syncs_of": {kind: {k: row[k] for k in ("with_syncs", "syncs", "names")} for kind, row in sums.items()},
    }


def reset_verdicts(reset: FlowReset, sums: dict[str, Any], stale: int) -> Iterable[Verdict]:
    """Warn of effects on syncs and checkpoints.

    Args:
        reset: the request
        sums: what ``totals`` returns
        stale: how many checkpoints lie beyond the end of their remote topic
    """
    topic = f"`{reset.syncs.topic}`"
    foreign, kept = sums["syncs_of"][Belongs.FOREIGN], sums["syncs_of"][Belongs.KEPT]
    if foreign["with_syncs"]:
        yield _warning(
            Rule.FOREIGN_SYNCS,
            reset,
            f"{topic} is emptied, but also has {_of_topics(foreign)} that this connector does not replicate: "
            f"{_names(foreign)}. When the MirrorCheckpoint of these topics restarts, it translates no positions in "
            "them until their MirrorSource has written new syncs.",
        )
    if kept["with_syncs"]:
        yield _warning(
            Rule.KEPT_SYNCS,
            reset,
            f"{topic} can only be emptied as a whole, which also deletes {_of_topics(kept)} that are left alone: "
            f"{_names(kept)}. In their partitions, a group's position is translated again only after a new record is "
            "replicated and the group has read it.",
        )
    if reset.sharing:
        shown = ", ".join(f"`{name}`" for name in reset.sharing[:MOST_NAMES])
        yield _warning(
            Rule.SHARED_SYNCS,
            reset,
            f"other connectors also use {topic} and are not stopped: {shown}. If such a connector is a MirrorSource, "
            "it keeps writing to the topic. If it is a MirrorCheckpoint, it translates with the syncs that it has read "
            "until it is restarted.",
        )
    if stale and not reset.checkpoints:
        yield _warning(
            Rule.STALE_CHECKPOINTS,
            reset,
            f"`{reset.flow.checkpoints_topic}` has {quantify(stale, 'checkpoint')} beyond the end of the remote topic, "
            "which has been deleted or created again since. While they exist, MirrorCheckpoint writes no lower "
            "checkpoint. Set checkpoints=true to delete them.",
        )


def _warning(rule: Rule, reset: FlowReset, message: str) -> Verdict:
    name = reset.source_connector
    return Verdict(rule, Severity.WARNING, name, None, f"`{name}`: {message}")


def _of_topics(kind: dict[str, Any]) -> str:
    return f"{quantify(kind['syncs'], 'sync')} of {quantify(kind['with_syncs'], 'topic')}"


def _names(kind: dict[str, Any]) -> str:
    more = kind["with_syncs"] - len(kind["names"])
    return ", ".join(f"`{name}`" for name in kind["names"]) + (f" and {more} more" if more else "")
