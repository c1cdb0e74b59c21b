"""The offsets topic of a real worker: the same values as by its REST API, written as the worker writes them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.document import Entry, JsonMap, Offsets, parse_map, parse_rest
from airflow_provider_connect_offsets.offsets.storage import key_bytes, parse_key, value_bytes
from sandbox import Sandbox, wait_for, wait_until
from sandbox.connectors import file_source_config, mirror_checkpoint_config, mirror_heartbeat_config
from tests.support.flows.flows import MirrorFlow

pytestmark = pytest.mark.faults
TOPIC = "connect-offsets"


def config(sandbox: Sandbox) -> dict[str, str]:
    return {"bootstrap.servers": sandbox.target.bootstrap}


def _commit(sandbox: Sandbox, group: str, topic: str) -> None:
    """Let a consumer group have read all: without one there is no checkpoint, nor for one behind the last sync."""
    end = sandbox.source.log_bounds(topic)[0][1]
    read = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, end)])
    with sandbox.source.admin() as client:
        client.alter_consumer_group_offsets([read])[group].result(30)


def is_as_returned(sandbox: Sandbox, topic: OffsetsTopic, name: str) -> bool:
    """Whether the topic has the offsets that the worker returns for a connector."""
    returned = parse_rest({"offsets": sandbox.connect.offsets(name)})
    return topic.read_offsets(name).by_partition() == returned.by_partition()


@pytest.fixture
def sources(sandbox: Sandbox, mirror: MirrorFlow, tmp_path: Path) -> Iterator[list[str]]:
    """A connector of each kind that stores offsets, once each has stored some."""
    mark = uuid4().hex[:8]
    lines = tmp_path / "lines.txt"
    lines.write_text("one\n")
    configs = {
        f"checkpoint-{mark}": mirror_checkpoint_config(sandbox),
        f"heartbeat-{mark}": mirror_heartbeat_config(sandbox),
        f"file größe-{mark}": file_source_config(f"lines-{mark}", lines),
    }
    sandbox.source.produce(mirror.topic, ["more"], partition=0)
    for name, requested in configs.items():
        sandbox.connect.create(name, requested)
    _commit(sandbox, f"readers-{mark}", mirror.topic)
    for name in (mirror.name, *configs):
        has_stored = partial(sandbox.connect.offsets, name)
        wait_until(has_stored, 60, f"{name} has stored nothing", progress=sandbox.connect.work)
    mirror.wait_until_caught_up()
    yield [mirror.name, *configs]
    for name in configs:
        sandbox.connect.delete(name)


def test_it_is_read_and_written_as_the_worker_does(sandbox: Sandbox, sources: list[str]) -> None:
    """Each kind of connector has the same offsets, and the same bytes of keys and values, in the same partition."""
    for name in sources:
        sandbox.connect.pause(name)  # so that nothing moves while both are read
    topic = OffsetsTopic(config(sandbox), TOPIC)
    for name in sources:
        wait_until(partial(is_as_returned, sandbox, topic, name), 60, f"{name} is returned otherwise")

    copy = f"copy-{uuid4().hex[:8]}"
    sandbox.target.create_topic(copy, partitions=len(sandbox.target.log_bounds(TOPIC)))
    copied = OffsetsTopic(config(sandbox), copy)
    for name in sources:
        copied.write_offsets(name, topic.read_offsets(name))
    places = {record.key: record.partition for record in topic.records()}
    written = list(copied.records())
    assert {key.connector for record in written if (key := parse_key(record.key))} == set(sources)
    for record in written:
        assert places[record.key] == record.partition
        key = parse_key(record.key)
        assert key is not None
        assert record.key == key_bytes(key.connector, parse_map(key.partition))
    values = {record.key: record.value for record in topic.records()}
    assert all(record.value == values[record.key] for record in written)


def test_a_stopped_connector_goes_on_from_what_was_written(sandbox: Sandbox, mirror: MirrorFlow) -> None:
    """One partition set, the other removed; the worker reads both, and replicates just that again."""
    topic = OffsetsTopic(config(sandbox), TOPIC)
    sandbox.connect.stop(mirror.name)
    before = sum(mirror.target_ends().values())
    entries = {parse_map(entry.partition)["partition"]: entry for entry in topic.read_offsets(mirror.name)}

    reply = topic.write_offsets(
        mirror.name, Offsets.of([Entry(entries[0].partition, '{"offset":89}'), Entry(entries[1].partition, None)])
    )

    assert reply.message == f"2 records went to topic '{TOPIC}'."
    wait_for(mirror.positions, {0: 90}, 60, "the worker does not see it")
    sandbox.connect.resume(mirror.name)
    mirror.wait_until_caught_up()
    assert sum(mirror.target_ends().values()) - before == 10 + 100


def test_a_reset_leaves_tombstones_for_one_connector_only(sandbox: Sandbox, mirror: MirrorFlow) -> None:
    """A new partition is written with the key that a worker would write."""
    topic = OffsetsTopic(config(sandbox), TOPIC)
    sandbox.connect.stop(mirror.name)
    others = {name: topic.read_offsets(name) for name in topic.connectors() if name != mirror.name}

    topic.reset_offsets(mirror.name)

    wait_for(lambda: sandbox.connect.offsets(mirror.name), [], 60, "the worker still tells offsets")
    assert {name: topic.read_offsets(name) for name in others} == others
    partition: JsonMap = {"cluster": "source", "topic": mirror.topic, "partition": 1}
    topic.write_offsets(mirror.name, Offsets.of([Entry.of(partition, {"offset": 4})]))
    wait_for(mirror.positions, {1: 5}, 60, "the worker does not find it")
    last = list(topic.records())
    assert any(record.key == key_bytes(mirror.name, partition) for record in last)
    assert any(record.value == value_bytes({"offset": 4}) for record in last)


def test_a_topic_that_is_not_there_is_named(sandbox: Sandbox) -> None:
    """The error names it in one sentence."""
    with pytest.raises(InvalidInput, match="There is no topic 'no-such-topic' in the cluster of"):
        OffsetsTopic(config(sandbox), "no-such-topic").connectors()
