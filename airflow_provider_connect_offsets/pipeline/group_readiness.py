"""Where the groups of a flow's source would stand on the target, were a failover to happen now.

By MirrorMaker 2's own rule (``OffsetSyncStore``), on all syncs that are still in the topic: of the newest one at or
below a group's position the downstream offset where they are equal, else the one after it. A checkpoint is such an
answer, as MirrorMaker 2 gave it at some time; its syncs in memory may have been fewer.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.pipeline.frames import shaped
from airflow_provider_connect_offsets.pipeline.readiness import PARTITION, not_negative
from airflow_provider_connect_offsets.workspace.schemas import GROUP_READINESS

NO_REPLICA = "there is no replica of the partition"
NO_SYNC = "there is no offset sync for the partition"
BEFORE_SYNCS = "it is behind every offset sync, so MirrorMaker 2 drops it"
BEYOND_REPLICA = "the answer lies beyond the end of the replica"

_ANSWER = "answer"


def group_readiness(
    groups: DataFrame, rows: DataFrame, syncs: DataFrame, checkpoints: DataFrame, *, source: str
) -> DataFrame:
    """Dataset ``group_readiness``: a row for each position of a group in a topic of the flow.

    groups: dataset ``group_offsets`` of both clusters, of which ``source`` is one
    rows: dataset ``readiness``
    syncs: dataset ``offset_syncs``
    checkpoints: dataset ``checkpoints``, the last of each group and partition

    ``downstream``: where the group would go on, by ``method``: by the syncs, else by its checkpoint. ``rereads``: how
    many records it would read again then, at most; ``checkpoint_rereads``: by its checkpoint alone.
    """
    logs = rows.select(*PARTITION, "target_topic", "target_end", F.col("position").alias("replicated"))
    here = groups.where(F.col("kafka_cluster") == source)
    positions = here.select("group", "group_state", *PARTITION, F.col("offset").alias("position")).join(
        logs, [*PARTITION]
    )
    there = groups.where(F.col("kafka_cluster") != source).select(
        "group",
        F.col("topic").alias("target_topic"),
        "kafka_partition",
        F.col("group_state").alias("target_state"),
        F.col("offset").alias("target_position"),
    )
    told = checkpoints.select(
        "group",
        F.col("topic").alias("target_topic"),
        "kafka_partition",
        F.col("upstream").alias("checkpoint_upstream"),
        F.col("downstream").alias("checkpoint_downstream"),
        F.col("log_timestamp").alias("checkpoint_at"),
    )
    on_target = ["group", "target_topic", "kafka_partition"]
    synced = syncs.select(*PARTITION).distinct().withColumn("has_sync", F.lit(1))
    found = (
        with_sync_below(positions, current_syncs(syncs))
        .join(synced, [*PARTITION], "left")
        .join(told, on_target, "left")
        .join(there, on_target, "left")
    )
    return shaped(_translated(found), GROUP_READINESS)


def current_syncs(syncs: DataFrame) -> DataFrame:
    """The syncs of each partition that MirrorMaker 2 would still use: where the upstream offset falls, it begins anew.

    syncs: dataset ``offset_syncs``; returns: those that came after the last fall
    """
    of_a_partition = Window.partitionBy(*PARTITION)
    before = F.lag("upstream").over(of_a_partition.orderBy("log_offset"))
    marked = syncs.withColumn("fell_at", F.when(F.col("upstream") < before, F.col("log_offset"))).withColumn(
        "began_at", F.max("fell_at").over(of_a_partition)
    )
    in_use = F.col("began_at").isNull() | (F.col("log_offset") >= F.col("began_at"))
    return marked.where(in_use).drop("fell_at", "began_at")


def with_sync_below(positions: DataFrame, syncs: DataFrame) -> DataFrame:
    """Give each position the newest sync at or below it.

    positions: topic, kafka_partition, position …; syncs: as ``current_syncs`` gives them
    returns: positions + sync_upstream, sync_downstream (null: there is none)

    A union and a window instead of a range join: the cost grows with the rows, not with rows x syncs.
    """
    known = syncs.select(
        *PARTITION,
        F.col("upstream").alias("at"),
        F.lit(0).alias("kind"),
        "log_offset",
        F.struct(F.col("upstream").alias("sync_upstream"), F.col("downstream").alias("sync_downstream")).alias("sync"),
    )
    rest = [name for name in positions.columns if name not in PARTITION]
    asked = positions.select(
        *PARTITION, F.col("position").alias("at"), F.lit(1).alias("kind"), F.struct(*rest).alias("asked")
    )
    below = Window.partitionBy(*PARTITION).orderBy("at", "kind", "log_offset")
    return (
        known.unionByName(asked, allowMissingColumns=True)
        .withColumn("sync", F.last("sync", ignorenulls=True).over(below))
        .where(F.col("asked").isNotNull())
        .select(*PARTITION, "asked.*", "sync.*")
    )


def _translated(found: DataFrame) -> DataFrame:
    by_sync = translated_by_sync()
    usable = F.col("checkpoint_upstream") <= F.col("position")
    answer = F.coalesce(by_sync, F.when(usable, F.col("checkpoint_downstream")))
    fits = F.col(_ANSWER) <= F.col("target_end")
    method = F.when(F.col("sync_upstream").isNotNull(), "sync").otherwise("checkpoint")
    reread = F.when(F.col("sync_upstream").isNotNull(), rereads_by_sync())
    return found.withColumn(_ANSWER, answer).withColumns(
        {
            "downstream": F.when(fits, F.col(_ANSWER)),
            "method": F.when(fits, method).otherwise("none"),
            "rereads": F.when(fits, reread),
            "checkpoint_rereads": rereads_by_checkpoint(),
            "reason": F.when(F.col("target_end").isNull(), NO_REPLICA)
            .when(fits, None)
            .when(F.col(_ANSWER).isNotNull(), BEYOND_REPLICA)
            .when(F.col("has_sync").isNull(), NO_SYNC)
            .otherwise(BEFORE_SYNCS),
        }
    )


def translated_by_sync() -> Column:
    """What MirrorMaker 2 answers by the sync at or below a position; null where there is none."""
    exact = F.col("sync_upstream") == F.col("position")
    return F.when(exact, F.col("sync_downstream")).otherwise(F.col("sync_downstream") + 1)


def rereads_by_sync() -> Column:
    """At most so many records of those replicated are read again: all from the sync on, or the one after it."""
    goes_on = F.when(F.col("sync_upstream") == F.col("position"), F.col("sync_upstream")).otherwise(
        F.col("sync_upstream") + 1
    )
    return not_negative(_read_and_replicated() - goes_on)


def rereads_by_checkpoint() -> Column:
    """At most so many records are read again from the checkpoint on; null where it or a sync to compare is missing."""
    at_most = F.col("sync_downstream") + _read_and_replicated() - F.col("sync_upstream")
    return not_negative(at_most - F.col("checkpoint_downstream"))


def _read_and_replicated() -> Column:
    """Where the group stands, or where replication does: what is not replicated can't be read again."""
    return F.least("position", "replicated")
