"""What the reset of a MirrorMaker 2 flow does beside its MirrorSource's offsets; Catalyst only.

Emptying offset-syncs takes all that is in it, also what belongs to topics that are left alone or to another flow.
Records that MirrorSource reads again are appended to the remote topic; a copy of as many as the remote topic holds is
there then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import Flow, Policy
from airflow_provider_connect_offsets.offsets.plan import Action
from airflow_provider_connect_offsets.offsets.requests.flow_reset import Belongs, FlowReset
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity, Verdict
from airflow_provider_connect_offsets.pipeline.frames import Subject, shaped
from airflow_provider_connect_offsets.pipeline.plan.targets import is_consumed
from airflow_provider_connect_offsets.workspace.flow_schemas import RESET_TOPICS

MOST_NAMES = 10


def target_topic(topic: Column, flow: Flow) -> Column:
    """Name the remote topic of a topic of the source, as ``Flow.target_topic`` does."""
    prefixed = F.concat(F.lit(f"{flow.source_alias}{flow.separator}"), topic)
    if flow.policy is not Policy.IDENTITY:
        return prefixed
    last = F.substring_index(topic, flow.separator, -1)
    return F.when(last == "heartbeats", prefixed).otherwise(topic)


def replicated_again(effects: DataFrame, target_bounds: DataFrame, flow: Flow) -> DataFrame:
    """Count, for each topic, what is replicated again.

    effects: as ``effects.with_effects`` gives them; target_bounds: dataset ``log_bounds`` of the remote topics
    returns: topic, partitions (that are moved), records_again, duplicates (records of which the remote topic holds a
    copy)
    """
    held = target_bounds.select(
        F.col("topic").alias("remote_topic"), "kafka_partition", (F.col("log_end") - F.col("log_start")).alias("held")
    )
    rows = effects.where("topic is not null").withColumn("remote_topic", target_topic(F.col("topic"), flow))
    joined = rows.join(held, ["remote_topic", "kafka_partition"], "left")
    return joined.groupBy("topic").agg(
        F.count_if(F.col("action") != Action.KEEP.value).alias("partitions"),
        F.sum("records_again").alias("records_again"),
        F.sum(F.least("records_again", F.coalesce("held", F.lit(0)))).alias("duplicates"),
    )


def reset_topics(again: DataFrame, syncs: DataFrame, subject: Subject) -> DataFrame:
    """Dataset ``reset_topics``: every topic that is replicated again, or of which there are syncs.

    again: as ``replicated_again`` gives it; syncs: dataset ``offset_syncs``
    """
    counted = syncs.groupBy("topic").agg(F.count("*").alias("syncs"), F.max("log_timestamp").alias("newest_sync"))
    joined = again.join(counted, "topic", "full")
    # Where its topics can't be told from its configuration, it may replicate any.
    own = F.col("partitions").isNotNull() | F.coalesce(is_consumed(subject), F.expr("true"))
    belongs = (
        F.when(F.col("partitions") > 0, Belongs.RESET.value)
        .when(own, Belongs.KEPT.value)
        .otherwise(Belongs.FOREIGN.value)
    )
    zeros = {name: F.coalesce(name, F.lit(0)) for name in ("partitions", "records_again", "duplicates", "syncs")}
    found = joined.withColumn("belongs", belongs).withColumns(zeros)
    return shaped(found.where("partitions > 0 or syncs > 0"), RESET_TOPICS)


def beyond_the_end(latest: DataFrame, source_bounds: DataFrame, target_bounds: DataFrame, flow: Flow) -> DataFrame:
    """Checkpoints that lie beyond the end of their remote topic, or of one that is gone: it was made anew since.

    latest: dataset ``checkpoints``, the last of each group and partition; bounds: datasets ``log_bounds``
    """
    remote_partitions = source_bounds.select(target_topic(F.col("topic"), flow).alias("topic"), "kafka_partition")
    ends = target_bounds.select("topic", "kafka_partition", "log_end")
    place = ["topic", "kafka_partition"]
    joined = latest.join(remote_partitions, place, "left_semi").join(ends, place, "left")
    return joined.where(F.col("downstream") > F.coalesce("log_end", F.lit(0)))


def totals(topics: DataFrame) -> dict[str, Any]:
    """Sum up dataset ``reset_topics``: numbers, and some names of each kind."""
    by_kind = topics.groupBy("belongs").agg(
        F.count("*").alias("topics"),
        F.sum("syncs").alias("syncs"),
        F.sum("duplicates").alias("duplicates"),
        F.slice(F.array_sort(F.collect_set(F.when(F.col("syncs") > 0, F.col("topic")))), 1, MOST_NAMES).alias("names"),
        F.count_if(F.col("syncs") > 0).alias("with_syncs"),
    )
    kinds = {row["belongs"]: row.asDict() for row in by_kind.collect()}
    nothing = {"topics": 0, "syncs": 0, "duplicates": 0, "names": [], "with_syncs": 0}
    found = {kind: {**nothing, **kinds.get(kind, {})} for kind in Belongs}
    return {
        "duplicates": sum(one["duplicates"] for one in found.values()),
        "syncs": sum(one["syncs"] for one in found.values()),
        "syncs_of": {kind.value: {k: one[k] for k in ("with_syncs", "syncs", "names")} for kind, one in found.items()},
    }


def reset_verdicts(reset: FlowReset, summed: dict[str, Any], stale: int) -> Iterable[Verdict]:
    """What the approver has to know beside the offsets. summed: ``totals``; stale: checkpoints beyond the end."""
    topic = f"`{reset.syncs.topic}`"
    foreign, kept = summed["syncs_of"][Belongs.FOREIGN], summed["syncs_of"][Belongs.KEPT]
    if foreign["with_syncs"]:
        yield _warning(
            Rule.FOREIGN_SYNCS,
            reset,
            f"{topic} is emptied, and holds {_counted(foreign)} that this connector does not replicate, too: "
            f"{_names(foreign)}. Once their own MirrorCheckpoint is restarted, their groups are not translated until "
            "their MirrorSource has written new syncs.",
        )
    if kept["with_syncs"]:
        yield _warning(
            Rule.KEPT_SYNCS,
            reset,
            f"{topic} can only be emptied whole, which takes along {_counted(kept)} that stay where they are: "
            f"{_names(kept)}. Groups are translated again once a record of the partition is replicated, and only "
            "those that have read as far as that.",
        )
    if reset.sharing:
        shown = ", ".join(f"`{name}`" for name in reset.sharing[:MOST_NAMES])
        yield _warning(
            Rule.SHARED_SYNCS,
            reset,
            f"{topic} is used by {shown} as well, which are not stopped: a MirrorSource goes on writing into it, and a "
            "MirrorCheckpoint translates by the syncs that it read before, until it is restarted.",
        )
    if stale and not reset.checkpoints:
        yield _warning(
            Rule.STALE_CHECKPOINTS,
            reset,
            f"{_count(stale, 'checkpoint')} in `{reset.flow.checkpoints_topic}` beyond the end of the remote "
            "topic, which "
            "must have been made anew since. MirrorCheckpoint emits no lower one while such a one stands: ask for "
            "checkpoints=true.",
        )


def _warning(rule: Rule, reset: FlowReset, message: str) -> Verdict:
    name = reset.source_connector
    return Verdict(rule, Severity.WARNING, name, None, f"`{name}`: {message}")


def _counted(kind: dict[str, Any]) -> str:
    return f"{_count(kind['syncs'], 'sync')} of {_count(kind['with_syncs'], 'topic')}"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _names(kind: dict[str, Any]) -> str:
    more = kind["with_syncs"] - len(kind["names"])
    return ", ".join(f"`{name}`" for name in kind["names"]) + (f" and {more} more" if more else "")
