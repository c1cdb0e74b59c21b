"""What looks at a flow's readiness keep for the day on which its source is gone: dataset ``mirror_ledger``.

Each look writes the whole of it anew, from what the one before kept and from what is there now: offset mappings of the
topics that are there now, both logs of each partition, digests of a few records, and where the groups are.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.pipeline.events import KEY, union_of
from airflow_provider_connect_offsets.pipeline.frames import shaped
from airflow_provider_connect_offsets.pipeline.translate.mappings import known_mappings
from airflow_provider_connect_offsets.workspace.flow_schemas import KEPT_MAPPINGS, MIRROR_LEDGER

#: So many mappings of a partition are kept at most, the last ones.
MOST_MAPPINGS = 1_000
LOG, MAPPING, RECORD, POSITION = "log", "mapping", "record", "position"
_IDS = ("topic_id", "target_topic_id")


@dataclass(frozen=True, slots=True)
class LedgerInput:
    """What a look has seen; each a dataset of that name, of the flow's own source and target.

    ``positions``: dataset ``group_offsets`` of the source, read after ``checkpoints``; ``digests``: dataset
    ``record_digests`` of the source.
    """

    partitions: DataFrame
    topics: DataFrame
    syncs: DataFrame
    kept: DataFrame
    checkpoints: DataFrame
    positions: DataFrame
    digests: DataFrame
    observed_at: datetime


def ledger(seen: LedgerInput, earlier: DataFrame) -> DataFrame:
    """Dataset ``mirror_ledger``. earlier: the same, as the look before has written it.

    Of partitions with a remote topic. A mapping is kept as long as both topics have the ids that they had when it was
    first seen; offset syncs that were there before either id changed are of the topics before.
    """
    ids = seen.topics.select("topic", *_IDS)
    there = seen.partitions.where("target_end is not null").join(F.broadcast(ids), "topic", "left")
    before = earlier.where(F.col("kind") == LOG).select(*KEY, F.struct(*_IDS, "synced_to", "renewed").alias("before"))
    logs = there.join(before, list(KEY), "left").join(_synced_to(seen.syncs), list(KEY), "left")
    renewed = F.col("before").isNotNull() & ~_same_ids("before")
    logs = logs.withColumns(
        {
            "renewed": renewed | F.coalesce("before.renewed", F.expr("false")),
            "told_from": F.when(renewed, F.col("before.synced_to")),
        }
    )
    rows = (
        logs.withColumn("kind", F.lit(LOG)),
        _mappings(seen, earlier, logs),
        _positions(seen, there),
        _on_target(seen.digests.where(F.col("side") == Side.SOURCE.value), there).select(
            *_place(), F.lit(RECORD).alias("kind"), F.col("log_offset").alias("upstream"), "digest"
        ),
    )
    whole = rows[0]
    for more in rows[1:]:
        whole = union_of(whole, more)
    filled = {name: F.lit(None) for name in MIRROR_LEDGER.names if name not in {*whole.columns, "observed_at"}}
    return shaped(whole.withColumns({**filled, "observed_at": F.lit(seen.observed_at)}), MIRROR_LEDGER)


def thinned(mappings: DataFrame) -> DataFrame:
    """Leave out mappings that add nothing: between two at the same distance, or before the remote topic begins.

    mappings: topic, kafka_partition, upstream, downstream, target_start, and whatever else
    returns: the same rows, no more than ``MOST_MAPPINGS`` of a partition
    """
    in_order = Window.partitionBy(*KEY).orderBy("downstream")
    distance = F.col("downstream") - F.col("upstream")
    gone = F.coalesce(F.lead("downstream").over(in_order) <= F.col("target_start"), F.expr("false"))
    there = mappings.withColumn("gone", gone).where(~F.col("gone")).drop("gone")
    within = (F.lag(distance).over(in_order) == distance) & (F.lead(distance).over(in_order) == distance)
    adds = there.withColumn("adds", ~F.coalesce(within, F.expr("false"))).where("adds")
    order = F.row_number().over(Window.partitionBy(*KEY).orderBy(F.desc("downstream")))
    return adds.withColumn("order", order).where(F.col("order") <= MOST_MAPPINGS).drop("adds", "order")


def newest(ledgers: DataFrame) -> DataFrame:
    """Of ledgers of several connectors, which may have replicated the same partition, the newest one of each partition.

    ledgers: dataset ``mirror_ledger``
    """
    of_partition = Window.partitionBy("target_topic", *KEY)
    seen = ledgers.withColumn("seen_last", F.max("observed_at").over(of_partition))
    return seen.where(F.col("observed_at") == F.col("seen_last")).drop("seen_last")


def of_these_topics(ledger_rows: DataFrame, topics: DataFrame) -> DataFrame:
    """The rows of a ledger that are of the remote topics which are there now.

    ledger_rows: dataset ``mirror_ledger``; topics: dataset ``flow_topics``, of which only ``target_topic_id`` counts
    """
    now = topics.select("target_topic", F.col("target_topic_id").alias("now"))
    return ledger_rows.join(F.broadcast(now), "target_topic").where(F.col("target_topic_id").eqNullSafe(F.col("now")))


def created_since(ledger_rows: DataFrame, topics: DataFrame) -> DataFrame:
    """Partitions of topics that were created anew since a look first saw them: topic, kafka_partition."""
    now = topics.select("target_topic", F.col("target_topic_id").alias("now"))
    logs = ledger_rows.where(F.col("kind") == LOG).join(F.broadcast(now), "target_topic")
    anew = F.coalesce("renewed", F.expr("false")) | ~F.col("target_topic_id").eqNullSafe(F.col("now"))
    return logs.where(anew).select(*KEY)


def _mappings(seen: LedgerInput, earlier: DataFrame, logs: DataFrame) -> DataFrame:
    ids = F.broadcast(logs.select(*KEY, F.struct(*_IDS).alias("now")))
    held = earlier.where(F.col("kind") == MAPPING).join(ids, list(KEY)).where(_same_ids("now"))
    mappings = seen.kept.unionByName(shaped(held, KEPT_MAPPINGS))
    floors = F.broadcast(logs.select(*KEY, "told_from"))
    syncs = seen.syncs.join(floors, list(KEY)).where(
        F.col("told_from").isNull() | (F.col("log_offset") > F.col("told_from"))
    )
    told = known_mappings(syncs.drop("told_from"), seen.partitions, mappings)
    distance = F.col("downstream") - F.col("upstream")
    in_order = Window.partitionBy(*KEY).orderBy("downstream")
    # Nothing tells of it but that the last records look the same.
    level = F.coalesce(distance == F.lag(distance).over(in_order), F.expr("false"))
    places = told.groupBy(*KEY, "upstream", "downstream").agg(F.min("weak").alias("weak"))
    sure = places.withColumn("level", level).where(~F.col("weak") | F.col("level"))
    placed = sure.join(F.broadcast(logs.select(*_place(), "target_start")), list(KEY))
    return thinned(placed).select(*_place(), F.lit(MAPPING).alias("kind"), "upstream", "downstream")


def _positions(seen: LedgerInput, there: DataFrame) -> DataFrame:
    end = seen.checkpoints.agg((F.max("log_offset") + 1).alias("checkpoints_end"))
    told = _on_target(seen.positions, there).crossJoin(F.broadcast(end))
    kind, position = F.lit(POSITION).alias("kind"), F.col("offset").alias("upstream")
    return told.select(*_place(), kind, "group", position, "checkpoints_end")


def _synced_to(syncs: DataFrame) -> DataFrame:
    return syncs.groupBy(*KEY).agg(F.max("log_offset").alias("synced_to"))


def _same_ids(other: str) -> Column:
    one, two = (F.col(name).eqNullSafe(F.col(f"{other}.{name}")) for name in _IDS)
    return one & two


def _on_target(rows: DataFrame, there: DataFrame) -> DataFrame:
    return rows.join(F.broadcast(there.select(*_place())), list(KEY))


def _place() -> tuple[str, ...]:
    return (*KEY, "target_topic", *_IDS)
