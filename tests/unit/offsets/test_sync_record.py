"""Offset syncs, decoded one at a time."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.sync_record import OffsetSync, parse_sync

LONGS = st.integers(-(2**63), 2**63 - 1)


def test_the_documented_bytes() -> None:
    """The bytes are those of MirrorMaker 2's sources."""
    key = bytes.fromhex("0007746f7069632d3100000002")
    value = bytes.fromhex("00000000000000030000000000000004")

    assert parse_sync(key, value) == OffsetSync(TopicPartition("topic-1", 2), upstream=3, downstream=4)


@given(st.text(st.characters(codec="utf-8"), max_size=50), st.integers(0, 2**31 - 1), LONGS, LONGS)
def test_what_is_written_is_read(topic: str, partition: int, upstream: int, downstream: int) -> None:
    """A sync with any topic and any offsets can be read."""
    raw = topic.encode()
    key = struct.pack(">h", len(raw)) + raw + struct.pack(">i", partition)

    sync = parse_sync(key, struct.pack(">qq", upstream, downstream))

    assert sync == OffsetSync(TopicPartition(topic, partition), upstream, downstream)
    assert parse_sync(key, None) is None
    assert parse_sync(key + b"\x00", struct.pack(">qq", upstream, downstream)) is None


@given(st.binary(max_size=30), st.none() | st.binary(max_size=20))
def test_nothing_is_guessed(key: bytes, value: bytes | None) -> None:
    """Bytes of another shape are no sync and raise no error."""
    sync = parse_sync(key, value)

    assert sync is None or (value is not None and len(value) == 16)
