"""Worlds whose source is lost, and the ledger that readiness runs kept of them before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from random import Random

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.pipeline.failover.unplanned import PositionOf, Remains
from airflow_provider_connect_offsets.pipeline.frames import struct_type
from airflow_provider_connect_offsets.pipeline.translate.ledger import LedgerInput, ledger
from airflow_provider_connect_offsets.workspace.flow_schemas import (
    FLOW_TOPICS,
    MIRROR_LEDGER,
    MIRROR_PARTITIONS,
    RECORD_DIGESTS,
)
from airflow_provider_connect_offsets.workspace.schemas import CHECKPOINTS, GROUP_OFFSETS
from tests.support.model.mirror_compared import digest_of
from tests.support.model.mirror_rows import (
    NOON,
    Answer,
    ReadFrom,
    checkpoints_of,
    kept_of,
    partition_row,
    partitions_of,
    syncs_of,
)
from tests.support.model.mirror_world import Ending, World
from tests.support.rows.frames import frame_of

# So many groups have an offset in each partition; of the records before each of these so many are kept.
GROUPS, BEFORE = 5, 3
#: Positions by the last checkpoints, as ``Remains.positions`` takes it.
CHECKPOINTED = (
    "group string, target_topic string, kafka_partition int, position long, checkpoint long, position_of string, "
    "position_at timestamp, log_offset long"
)


def kept_ledger(spark: SparkSession, worlds: Sequence[World]) -> DataFrame:
    """Dataset ``mirror_ledger`` after the readiness runs of each world."""
    rows = frame_of(spark, [], struct_type(MIRROR_LEDGER))
    for number in range(max(len(world.observations) for world in worlds)):
        seen = {at: world.observations[number] for at, world in enumerate(worlds) if number < len(world.observations)}
        others = rows.where(~F.col("topic").isin([str(at) for at in seen]))
        found = ledger(observed(spark, seen, number), rows)
        rows = frame_of(spark, [tuple(row) for row in found.unionByName(others).collect()], struct_type(MIRROR_LEDGER))
    return rows


def observed(spark: SparkSession, seen: dict[int, World], number: int) -> LedgerInput:
    """What readiness run ``number`` observes of the worlds."""
    worlds = [seen.get(at, World()) for at in range(max(seen) + 1)]
    there = [str(at) for at in seen]
    partitions = [partition_row(at, world, ReadFrom.NONE, there=True) for at, world in seen.items()]
    positions = [
        ("source", f"g{at}", "Empty", str(topic), 0, at, "")
        for topic, world in seen.items()
        for at in positions_of(world)
    ]
    digests = [
        (Side.SOURCE.value, str(topic), 0, at, digest_of(world, world.source.records[at]))
        for topic, world in seen.items()
        for at in sorted({before for at in positions_of(world) for before in range(at - BEFORE, at)})
        if at in world.source.records
    ]
    return LedgerInput(
        partitions=frame_of(spark, partitions, struct_type(MIRROR_PARTITIONS)),
        topics=topics_of(spark, seen),
        syncs=syncs_of(spark, worlds).where(F.col("topic").isin(there)),
        kept=kept_of(spark, worlds).where(F.col("topic").isin(there)),
        checkpoints=frame_of(spark, [], struct_type(CHECKPOINTS)),
        positions=frame_of(spark, positions, struct_type(GROUP_OFFSETS)),
        digests=frame_of(spark, digests, struct_type(RECORD_DIGESTS)),
        observed_at=NOON + timedelta(hours=number),
    )


def positions_of(world: World) -> list[int]:
    """Random positions of the groups in the source."""
    log = world.source
    return sorted({Random(world.seed + at).randint(log.start, log.end) for at in range(GROUPS)})


def topics_of(spark: SparkSession, worlds: dict[int, World]) -> DataFrame:
    """Dataset ``flow_topics``."""
    rows = [
        (
            str(at),
            str(at) if world.traits.identity else f"source.{at}",
            f"source {world.source.incarnation}",
            f"target {world.target.incarnation}",
        )
        for at, world in worlds.items()
    ]
    return frame_of(spark, rows, struct_type(FLOW_TOPICS))


def answered_with_ledger(spark: SparkSession, worlds: Sequence[World]) -> list[Answer]:
    """Translate the positions that the last readiness run observed; the sources are lost."""
    assert all(world.ending is Ending.BROKEN for world in worlds)
    remains = Remains(kept_ledger(spark, worlds), topics_of(spark, dict(enumerate(worlds))))
    partitions = partitions_of(spark, worlds, ReadFrom.NONE).withColumn("target_from", F.col("target_start"))
    digests = [
        (Side.TARGET.value, str(at), 0, offset, digest_of(world, record))
        for at, world in enumerate(worlds)
        for offset, record in world.target.records.items()
    ]
    lost = remains.find_lost(partitions, syncs_of(spark, worlds), frame_of(spark, digests, struct_type(RECORD_DIGESTS)))
    requested = remains.positions(frame_of(spark, [], CHECKPOINTED)).where(
        F.col("position_of") == PositionOf.LEDGER.value
    )
    topics = partitions.select("topic", "target_topic", "kafka_partition")
    positions = requested.drop("topic").join(topics, ["target_topic", "kafka_partition"]).drop("target_topic")
    found = lost.translate(positions, checkpoints_of(spark, worlds)).join(
        lost.partitions.select("topic", "kafka_partition", "known_to"), ["topic", "kafka_partition"]
    )
    names = ("downstream", "upper", "missing", "exact", "max_rereads", "method", "claimed", "known_to")
    rows = found.select("topic", "position", *names).collect()
    return [Answer(worlds[int(row["topic"])], row["position"], *(row[name] for name in names)) for row in rows]
