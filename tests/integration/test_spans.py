"""Reading single records of real logs."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from airflow_provider_connect_offsets.kafka.spans import _TOGETHER, Isolation, Spans
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from sandbox import Sandbox, wait_for

RECORDS = 1200


@pytest.fixture
def topic(sandbox: Sandbox) -> Iterator[str]:
    """A partition of many records, one of some with a transaction behind them that was given up, and an empty one."""
    name = f"spans-{uuid4().hex[:8]}"
    sandbox.source.create_topic(name, partitions=3)
    sandbox.source.produce(name, map(str, range(RECORDS)), partition=0)
    sandbox.source.produce(name, "abc", partition=1)
    producer = Producer(sandbox.source.client_settings() | {"transactional.id": name})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(name, "given up", partition=1)
    producer.flush(30)
    producer.abort_transaction(30)
    wait_for(lambda: sandbox.source.log_bounds(name)[1], (0, 5), 60, "no marker was written")
    sandbox.source.produce(name, "d", partition=1)
    yield name
    sandbox.source.delete_topic(name)


@pytest.mark.parametrize(
    ("isolation", "there"),
    [(Isolation.READ_COMMITTED, {0, 2, 5}), (Isolation.READ_UNCOMMITTED, {0, 2, 3, 5})],
)
def test_single_records(sandbox: Sandbox, topic: str, isolation: Isolation, there: set[int]) -> None:
    """As when the log is read whole; of what was given up, is a marker, is deleted or lies at the end, nothing."""
    many, few, none = (TopicPartition(topic, number) for number in range(3))
    sandbox.source.delete_records(topic, {0: 7})
    requested = {many: [1199, 3, 1199, *range(10, 1100, 13), 600, 601], few: [0, 2, 3, 4, 5, 6], none: [0]}
    with Spans({"bootstrap.servers": sandbox.source.bootstrap}, isolation=isolation) as spans:
        whole = set(spans.digests({many: range(7, RECORDS), few: range(6)}, timed={}))

        found = list(spans.digests_at(requested, timed={}))

        assert list(spans.digests_at({many: [], none: [0]}, timed={})) == []
    assert len(found) == len(set(found))
    assert set(found) == {one for one in whole if one.offset in requested[one.where]}
    assert {one.offset for one in found if one.where == few} == there
    assert {one.offset for one in found if one.where == many} == set(requested[many]) - {3}


def test_single_records_of_many_partitions(sandbox: Sandbox) -> None:
    """Each requested record is read once, even if there are more than can be read at the same time."""
    name, count = f"spans-{uuid4().hex[:8]}", 2 * _TOGETHER + 3
    sandbox.source.create_topic(name, partitions=count)
    for number in range(count):
        sandbox.source.produce(name, "abcdef", partition=number)
    requested = {TopicPartition(name, number): [5, number % 4] for number in range(count)}

    with Spans({"bootstrap.servers": sandbox.source.bootstrap}) as spans:
        found = [(one.where, one.offset) for one in spans.digests_at(requested, timed={})]
    sandbox.source.delete_topic(name)

    assert len(found) == 2 * count
    assert set(found) == {(where, at) for where, some in requested.items() for at in some}


def test_batches_hold_records_only(sandbox: Sandbox, topic: str) -> None:
    """At the end of a partition librdkafka reports an error as a message, which is left out."""
    requested = {TopicPartition(topic, 0): range(RECORDS), TopicPartition(topic, 1): range(6)}
    with Spans({"bootstrap.servers": sandbox.source.bootstrap}) as spans:
        messages = [message for batch in spans.batches(requested) for message in batch]

    assert [message.error() for message in messages if message.error()] == []
    found = sorted((message.partition() or 0, message.offset() or 0) for message in messages)
    assert found == [*((0, offset) for offset in range(RECORDS)), (1, 0), (1, 1), (1, 2), (1, 5)]
