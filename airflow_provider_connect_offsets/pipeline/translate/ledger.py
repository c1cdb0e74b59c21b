"""The ledger, which readiness runs keep in case the source is lost: dataset ``mirror_ledger``.

Each run writes a whole ledger, from the previous ledger and from its own observations: offset mappings of the current
topics, the logs of each partition, digests of a few records, and positions of groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.pipeline.events import KEY, union_of
from airflow_provider_connect_offsets.pipeline.frames import conform
from airflow_provider_connect_offsets.pipeline.translate.mappings import NEXT, known_mappings
from airflow_provider_connect_offsets.workspace.flow_schemas import KEPT_MAPPINGS, MIRROR_LEDGER

#: Most mappings of a partition in the ledger; the last mappings are kept.
MOST_MAPPINGS = 1_000
LOG, MAPPING, RECORD, POSITION = "log", "mapping", "record", "position"
_IDS = ("topic_id", "target_topic_id")
_KEY = (*KEY, "target_topic", *_IDS)


@dataclass(frozen=True, slots=True)
class LedgerInput:
    """Observations of one readiness run.

    Attributes:
        partitions: dataset ``mirror_partitions``
        topics: dataset ``flow_topics``
        syncs: dataset ``offset_syncs``
        kept: dataset ``kept_mappings``
        checkpoints: dataset ``checkpoints``
        positions: dataset ``group_offsets`` of the source, read after ``checkpoints``
        digests: dataset ``record_digests`` of the source
        observed_at: when the flow was observed
    """

    partitions: DataFrame
    topics: DataFrame
    syncs: DataFrame
    kept: DataFrame
    checkpoints: DataFrame
    positions: DataFrame
    digests: DataFrame
    observed_at: datetime


def ledger(observed: LedgerInput, earlier: DataFrame) -> DataFrame:
    """Dataset ``mirror_ledger``, for partitions with a remote topic.

    A mapping is kept while both topics have the ids that they had when it was first observed. Offset syncs from before
    a change of ids belong to the earlier topics.

    Args:
        observed: observations of this run
        earlier: dataset ``mirror_ledger`` of the run before
    """
    ids = observed.topics.select("topic", *_IDS)
    replicated = observed.partitions.where("target_end is not null").join(F.broadcast(ids), "topic", "left")
    before = earlier.where(F.col("kind") == LOG).select(*KEY, F.struct(*_IDS, "synced_to", "renewed").alias("before"))
    synced_to = observed.syncs.groupBy(*KEY).agg(F.max("log_offset").alias("synced_to"))
    logs = replicated.join(before, list(KEY), "left").join(synced_to, list(KEY), "left")
    renewed = F.col("before").isNotNull() & ~_has_same_ids("before")
    logs = logs.withColumns(
        {
            "renewed": renewed | F.coalesce("before.renewed", F.expr("false")),
            "old_syncs_to": F.when(renewed, F.col("before.synced_to")),
        }
    )
    digests = _on_target(observed.digests.where(F.col("side") == Side.SOURCE.value), replicated)
    rows = union_of(
        logs.withColumn("kind", F.lit(LOG)),
        _mappings(observed, earlier, logs),
        _positions(observed, replicated),
        digests.select(*_KEY, F.lit(RECORD).alias("kind"), F.col("log_offset").alias("upstream"), "digest"),
    )
    absent = {name: F.lit(None) for name in MIRROR_LEDGER.names if name not in {*rows.columns, "observed_at"}}
    return conform(rows.withColumns({**absent, "observed_at": F.lit(observed.observed_at)}), MIRROR_LEDGER)


def thin(mappings: DataFrame) -> DataFrame:
    """Drop mappings without information: between two mappings at the same distance, or before the remote log start.

    Args:
        mappings: topic, kafka_partition, upstream, downstream, target_start, and any others

    Returns:
        the same columns; the last ``MOST_MAPPINGS`` rows of each partition
    """
    in_order = Window.partitionBy(*KEY).orderBy("downstream")
    distance = F.col("downstream") - F.col("upstream")
    deleted = F.coalesce(F.lead("downstream").over(in_order) <= F.col("target_start"), F.expr("false"))
    remaining = mappings.withColumn("deleted", deleted).where(~F.col("deleted")).drop("deleted")
    within = (F.lag(distance).over(in_order) == distance) & (F.lead(distance).over(in_order) == distance)
    useful = remaining.withColumn("useful", ~F.coalesce(within, F.expr("false"))).where("useful")
    order = F.row_number().over(Window.partitionBy(*KEY).orderBy(F.desc("downstream")))
    return useful.withColumn("order", order).where(F.col("order") <= MOST_MAPPINGS).drop("useful", "order")


def select_newest(ledgers: DataFrame) -> DataFrame:
    """The newest rows of each partition, as ledgers of several connectors may have the same partition.

    Args:
        ledgers: dataset ``mirror_ledger``
    """
    of_partition = Window.partitionBy("target_topic", *KEY)
    marked = ledgers.withColumn("last_observed", F.max("observed_at").over(of_partition))
    return marked.where(F.col("observed_at") == F.col("last_observed")).drop("last_observed")


def of_current_topics(ledger_rows: DataFrame, topics: DataFrame) -> DataFrame:
    """The rows of a ledger whose remote topic still has the same id.

    Args:
        ledger_rows: dataset ``mirror_ledger``
        topics: dataset ``flow_topics``; only ``target_topic_id`` is used
    """
    now = topics.select("target_topic", F.col("target_topic_id").alias("now"))
    return ledger_rows.join(F.broadcast(now), "target_topic").where(F.col("target_topic_id").eqNullSafe(F.col("now")))


def kept_mappings_of(ledger_rows: DataFrame) -> DataFrame:
    """Dataset ``kept_mappings``: the mappings of a ledger."""
    unknown = dict.fromkeys(NEXT, F.lit(None).cast("long"))
    return conform(ledger_rows.where(F.col("kind") == MAPPING).withColumns(unknown), KEPT_MAPPINGS)


def find_recreated(ledger_rows: DataFrame, topics: DataFrame) -> DataFrame:
    """Partitions of topics that have been recreated since they were first observed: topic, kafka_partition."""
    now = topics.select("target_topic", F.col("target_topic_id").alias("now"))
    logs = ledger_rows.where(F.col("kind") == LOG).join(F.broadcast(now), "target_topic")
    anew = F.coalesce("renewed", F.expr("false")) | ~F.col("target_topic_id").eqNullSafe(F.col("now"))
    return logs.where(anew).select(*KEY)


def _mappings(observed: LedgerInput, earlier: DataFrame, logs: DataFrame) -> DataFrame:
    ids = F.broadcast(logs.select(*KEY, F.struct(*_IDS).alias("now")))
    kept = earlier.where(F.col("kind") == MAPPING).join(ids, list(KEY)).where(_has_same_ids("now"))
    limits = F.broadcast(logs.select(*KEY, "old_syncs_to"))
    syncs = observed.syncs.join(limits, list(KEY)).where(
        F.col("old_syncs_to").isNull() | (F.col("log_offset") > F.col("old_syncs_to"))
    )
    mappings = known_mappings(
        syncs.drop("old_syncs_to"), observed.partitions, observed.kept.unionByName(kept_mappings_of(kept))
    )
    distance = F.col("downstream") - F.col("upstream")
    in_order = Window.partitionBy(*KEY).orderBy("downstream")
    # A weak mapping needs another one at the same distance.
    level = F.coalesce(distance == F.lag(distance).over(in_order), F.expr("false"))
    distinct = mappings.groupBy(*KEY, "upstream", "downstream").agg(F.min("weak").alias("weak"))
    certain = distinct.withColumn("level", level).where(~F.col("weak") | F.col("level"))
    on_target = certain.join(F.broadcast(logs.select(*_KEY, "target_start")), list(KEY))
    return thin(on_target).select(*_KEY, F.lit(MAPPING).alias("kind"), "upstream", "downstream")


def _positions(observed: LedgerInput, replicated: DataFrame) -> DataFrame:
    end = observed.checkpoints.agg((F.max("log_offset") + 1).alias("checkpoints_end"))
    positions = _on_target(observed.positions, replicated).crossJoin(F.broadcast(end))
    kind, position = F.lit(POSITION).alias("kind"), F.col("offset").alias("upstream")
    return positions.select(*_KEY, kind, "group", position, "checkpoints_end")


def _has_same_ids(other: str) -> Column:
    one, two = (F.col(name).eqNullSafe(F.col(f"{other}.{name}")) for name in _IDS)
    return one & two


def _on_target(rows: DataFrame, replicated: DataFrame) -> DataFrame:
    return rows.join(F.broadcast(replicated.select(*_KEY)), list(KEY))
