"""Offset syncs of MirrorMaker 2, decoded one at a time without Spark.

The pipeline decodes whole topics of them (``pipeline.translate.mirror_records``). Source: ``OffsetSync``
(connect-mirror).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from airflow_provider_connect_offsets.offsets.family import TopicPartition

_SIZE, _NUMBER, _PAIR = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">qq")


@dataclass(frozen=True, slots=True)
class OffsetSync:
    """The record at offset ``upstream`` of a source partition has offset ``downstream`` in its remote topic."""

    where: TopicPartition
    upstream: int
    downstream: int


def parse_sync(key: bytes, value: bytes | None) -> OffsetSync | None:
    """Read a sync; None for a tombstone or another record."""
    where = _topic_partition(key)
    if where is None or value is None or len(value) != _PAIR.size:
        return None
    return OffsetSync(where, *_PAIR.unpack(value))


def _topic_partition(key: bytes) -> TopicPartition | None:
    if len(key) < _SIZE.size:
        return None
    (size,) = _SIZE.unpack_from(key)
    if size < 0 or len(key) != _SIZE.size + size + _NUMBER.size:
        return None
    try:
        topic = key[_SIZE.size : _SIZE.size + size].decode()
    except UnicodeDecodeError:
        return None
    return TopicPartition(topic, _NUMBER.unpack_from(key, _SIZE.size + size)[0])
