"""MirrorMaker 2's records: the bytes that its sources document, and bytes of a real one."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable
from datetime import UTC, datetime

from pyspark.sql import DataFrame, Row, SparkSession

from airflow_provider_connect_offsets.kafka.topic_reader import TopicReader
from airflow_provider_connect_offsets.pipeline.frames import struct_type
from airflow_provider_connect_offsets.pipeline.translate.mirror_records import (
    checkpoints,
    latest_checkpoints,
    offset_syncs,
)
from airflow_provider_connect_offsets.workspace.schemas import OFFSET_SYNCS, STORED_RECORDS
from sandbox import Progress, wait_until
from tests.support.flows.flows import RECORDS, MirrorFlow
from tests.support.rows.frames import assert_same_rows, frame_of

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def text(content: str) -> bytes:
    raw = content.encode()
    return struct.pack(">h", len(raw)) + raw


def sync(topic: str, partition: int, upstream: int, downstream: int) -> tuple[bytes, bytes]:
    return text(topic) + struct.pack(">i", partition), struct.pack(">qq", upstream, downstream)


def checkpoint(group: str, topic: str, partition: int, upstream: int, downstream: int) -> tuple[bytes, bytes]:
    key = text(group) + text(topic) + struct.pack(">i", partition)
    return key, struct.pack(">hqq", 0, upstream, downstream) + text("metadata-6")


def stored(spark: SparkSession, records: Iterable[tuple[bytes, bytes | None]]) -> DataFrame:
    rows = [("internal", 0, number, NOON, key, value) for number, (key, value) in enumerate(records)]
    return frame_of(spark, rows, struct_type(STORED_RECORDS))


def test_the_documented_bytes(spark: SparkSession) -> None:
    """One sync and one checkpoint, as MirrorMaker 2 writes them."""
    [found] = offset_syncs(
        stored(
            spark,
            [
                (
                    bytes.fromhex("0007746f7069632d3100000002"),
                    bytes.fromhex("00000000000000030000000000000004"),
                )
            ],
        )
    ).collect()
    [checkpointed] = checkpoints(
        stored(
            spark,
            [
                (
                    bytes.fromhex("000767726f75702d310007746f7069632d3200000003"),
                    bytes.fromhex("000000000000000000040000000000000005000a6d657461646174612d36"),
                )
            ],
        )
    ).collect()

    assert tuple(found) == ("topic-1", 2, 3, 4, 0, NOON.replace(tzinfo=None))
    assert tuple(checkpointed) == ("group-1", "topic-2", 3, 4, 5, "metadata-6", 0, NOON.replace(tzinfo=None))


def test_large_and_odd_values(spark: SparkSession) -> None:
    """The ends of a long, -1 (nothing yet), and names that are not ASCII."""
    values = [
        ("größe", 0, -1, -1),
        ("☕" * 80, 2**31 - 1, 2**63 - 1, -(2**63)),
        ("", 1, 2**32, 255),
    ]

    syncs = offset_syncs(stored(spark, [sync(*one) for one in values]))

    expected = [(*one, number, NOON) for number, one in enumerate(values)]
    assert_same_rows(syncs, frame_of(spark, expected, struct_type(OFFSET_SYNCS)))


def test_what_is_of_another_shape_is_left_out(spark: SparkSession) -> None:
    """Nothing of it is guessed."""
    synced, checkpointed = sync("t", 0, 1, 2), checkpoint("g", "t", 0, 1, 2)
    records = stored(
        spark,
        [
            (b"", b""),
            (b"\x00", b"\x00" * 16),
            (synced[0], None),
            (synced[0], b"\x00" * 15),
            (synced[0] + b"\x00", synced[1]),
            (b"\xff\xff" + b"\x00" * 4, b"\x00" * 16),
            (checkpointed[0], b"\x00\x01" + checkpointed[1][2:]),
            (checkpointed[0], None),
            (checkpointed[0][:-1], checkpointed[1]),
        ],
    )

    assert offset_syncs(records).isEmpty()
    assert checkpoints(records).isEmpty()


def decoded(key: bytes, value: bytes) -> tuple[str, str, int, int, int, str] | None:
    """A checkpoint as Java reads it; None where a byte is missing or left over."""
    try:
        (first,) = struct.unpack_from(">h", key)
        (second,) = struct.unpack_from(">h", key, 2 + first)
        (last,) = struct.unpack_from(">h", value, 18)
        version, upstream, downstream = struct.unpack_from(">hqq", value)
        (partition,) = struct.unpack_from(">i", key, 4 + first + second)
    except struct.error:
        return None
    whole = (len(key), len(value)) == (8 + first + second, 20 + last) and min(first, second, last) >= 0
    if not whole or version != 0:
        return None
    texts = key[2 : 2 + first], key[4 + first : 4 + first + second], value[20:]
    group, topic, metadata = (text.decode(errors="replace") for text in texts)
    return group, topic, partition, upstream, downstream, metadata


def test_any_bytes_are_read_as_java_reads_them(spark: SparkSession) -> None:
    """Of records in which a byte was changed, left out or put in, those are read that are whole by chance."""
    chance = random.Random(7)
    records: list[tuple[bytes, bytes | None]] = []
    for number in range(3000):
        parts = [
            bytearray(part) for part in checkpoint("g" * chance.randrange(4), "t", number, -number, 2**40 + number)
        ]
        for part in chance.sample(parts, k=chance.randrange(3)):
            at = chance.randrange(len(part))
            part[at : at + chance.randrange(2)] = bytes(chance.choices((0, 1, 2, 10, 128, 255), k=chance.randrange(2)))
        records.append((bytes(parts[0]), bytes(parts[1])))

    found = {row["log_offset"]: tuple(row)[:6] for row in checkpoints(stored(spark, records)).collect()}

    requested = {number: decoded(key, value or b"") for number, (key, value) in enumerate(records)}
    assert found == {number: one for number, one in requested.items() if one is not None}
    assert 300 < len(found) < 2700


def test_the_last_checkpoint_counts(spark: SparkSession) -> None:
    """Of each group, topic and partition, wherever the others are."""
    written = [
        checkpoint("a", "t", 0, 10, 1),
        checkpoint("b", "t", 0, 20, 2),
        checkpoint("a", "t", 1, 30, 3),
        checkpoint("a", "t", 0, 5, 4),
    ]

    last = latest_checkpoints(checkpoints(stored(spark, written)))

    columns = ["group", "topic", "kafka_partition", "upstream", "downstream"]
    expected = [("a", "t", 0, 5, 4), ("a", "t", 1, 30, 3), ("b", "t", 0, 20, 2)]
    assert_same_rows(last.select(*columns), frame_of(spark, expected, last.select(*columns).schema))


def test_syncs_of_a_real_flow(spark: SparkSession, mirror: MirrorFlow) -> None:
    """Each names a record of the source, and that very record of its remote topic."""
    topic = "mm2-offset-syncs.target.internal"

    def syncs_of_both() -> list[Row]:  # they are written a moment after the records that they are about
        with TopicReader({"bootstrap.servers": mirror.sandbox.source.bootstrap}, topic) as reader:
            rows = [(topic, one.partition, one.offset, NOON, one.key, one.value) for one in reader.records()]
        found = offset_syncs(frame_of(spark, rows, struct_type(STORED_RECORDS)))
        syncs = found.where(f"topic = '{mirror.topic}'").collect()
        return syncs if {row["kafka_partition"] for row in syncs} == {0, 1} else []

    work: Progress = {"syncs": lambda: mirror.sandbox.source.log_bounds(topic), **mirror.sandbox.connect.work}
    syncs = wait_until(syncs_of_both, 60, "no sync of each partition", progress=work)
    for row in syncs:
        assert 0 <= row["upstream"] < RECORDS
        # Replicated once and without gaps: the record at an offset has its copy at the same offset of the remote topic.
        assert row["downstream"] == row["upstream"]
