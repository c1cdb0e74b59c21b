"""Offset mappings that bisecting finds in the logs of a made-up world."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.observe.flow import remote_partitions
from airflow_provider_connect_offsets.observe.flow.bisected import begin_search, current_mappings
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.mappings.bisecting import OffsetMapping, RecordOffsets, Records, in_turns
from tests.support.model.mirror_logs import Log, Record
from tests.support.model.mirror_world import World


def known_in(world: World, row: Mapping[str, object], kept: list[OffsetMapping]) -> list[OffsetMapping]:
    """Mappings that are known without reading a record; arguments as of ``found_in``."""
    syncs = [OffsetMapping(sync.upstream, sync.downstream) for sync in world.syncs]
    return current_mappings(_remote_partition(world, row), syncs, kept)


def found_in(
    world: World, row: Mapping[str, object], kept: list[OffsetMapping], digest: Callable[[Record], bytes]
) -> list[OffsetMapping]:
    """Bisect a world.

    row: its row of the dataset ``mirror_partitions``; kept: mappings that a reset has kept; digest: tells records apart
    """
    search = begin_search(_remote_partition(world, row), known_in(world, row, kept), lowest=0)
    if search is None:
        return []

    def read(requested: Mapping[str, RecordOffsets]) -> dict[str, Records]:
        return {
            key: Records(_digests(world.source, some.source, digest), _digests(world.target, some.target, digest))
            for key, some in requested.items()
        }

    return list(dict.fromkeys(in_turns({"": search}, read)[""]))


def _remote_partition(world: World, row: Mapping[str, object]) -> remote_partitions.RemotePartition:
    return remote_partitions.RemotePartition(
        TopicPartition("t", 0),
        "there.t",
        LogBounds(world.source.start, world.source.end),
        None if world.absent else LogBounds(world.target.start, world.target.end),
        world.flow.stored,
        drained=bool(row["drained"]),
        origin=None if row["origin_upstream"] is None else OffsetMapping(-1, -1),
        ends_with_stored=bool(row["ends_with_stored"]),
        target_last=None if row["target_last"] is None else int(str(row["target_last"])),
        gapless=bool(row["gapless"]),
        transformed=bool(row["transformed"]),
        timed=bool(row["timed"]),
    )


def _digests(log: Log, offsets: frozenset[int], digest: Callable[[Record], bytes]) -> dict[int, bytes]:
    return {at: digest(log.records[at]) for at in offsets if at in log.records}
