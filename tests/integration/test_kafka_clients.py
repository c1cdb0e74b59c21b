"""The clients of a Kafka cluster's logs, consumer groups and records on a real cluster."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import uuid4

import confluent_kafka
import pytest

from airflow_provider_connect_offsets.exceptions import (
    InvalidInput,
    StoreError,
)
from airflow_provider_connect_offsets.kafka.groups import Committed, ConsumerGroups, GroupState, GroupStatus
from airflow_provider_connect_offsets.kafka.logs import KafkaLogs, LogBounds
from airflow_provider_connect_offsets.kafka.remaining import Remaining, RemainingRecords
from airflow_provider_connect_offsets.kafka.spans import Isolation
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from sandbox import Sandbox, wait_for, wait_until
from tests.support.flows.timed_topic import SECOND, START


@pytest.fixture
def logs(sandbox: Sandbox) -> Iterator[KafkaLogs]:
    """The logs of the worker's cluster."""
    with KafkaLogs({"bootstrap.servers": sandbox.target.bootstrap, "group.id": "of-no-use-here"}) as logs:
        yield logs


def _moment(milliseconds: float) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def test_log_bounds(logs: KafkaLogs, sandbox: Sandbox, topic: str) -> None:
    """Start and end of each partition, also where records were deleted, and of an empty one."""
    with sandbox.target.admin() as admin:
        admin.delete_records([confluent_kafka.TopicPartition(topic, 0, 3)])[
            confluent_kafka.TopicPartition(topic, 0)
        ].result(30)

    both = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    assert logs.bounds(both) == {both[0]: LogBounds(3, 10), both[1]: LogBounds(0, 0)}
    assert logs.topics()[topic] == 2


@pytest.mark.parametrize(
    ("milliseconds", "offset"),
    [
        (0, 0),
        (-5 * SECOND, 0),
        (START, 0),
        (START + 3 * SECOND, 3),
        (START + 3 * SECOND + 0.5, 4),
        (START + 9 * SECOND, 9),
        (START + 9 * SECOND + 1, 10),
    ],
)
def test_a_moment_in_the_log(logs: KafkaLogs, topic: str, milliseconds: float, offset: int) -> None:
    """It is the first record that isn't older; where all are older, and where there is none, the log's end."""
    both = [TopicPartition(topic, 0), TopicPartition(topic, 1)]

    found = logs.bounds(both, moment=_moment(milliseconds))

    assert [found[where].lookup_offset for where in both] == [offset, 0]


def test_partitions_that_are_not_there_are_named(logs: KafkaLogs, topic: str) -> None:
    """One error names all of them, and no other partition."""
    requested = [TopicPartition(topic, 0), TopicPartition(topic, 7), TopicPartition("no-such-topic", 0)]

    with pytest.raises(StoreError, match="no-such-topic") as caught:
        logs.bounds(requested)

    assert type(caught.value) is StoreError
    assert f"topic {topic!r} partition 7" in str(caught.value)
    assert f"topic {topic!r} partition 0" not in str(caught.value)


def test_internal_topics_are_left_out(logs: KafkaLogs, sandbox: Sandbox) -> None:
    """What Kafka keeps for itself is no topic anyone resumes in."""
    assert "__consumer_offsets" in sandbox.target.topics()
    assert "__consumer_offsets" not in logs.topics()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_consumer_groups(sandbox: Sandbox, topic: str, protocol: str) -> None:
    """A group is listed while someone is in it, and its offsets after; a read of it doesn't make one."""
    group = f"g-{uuid4().hex[:8]}"
    settings = {"bootstrap.servers": sandbox.target.bootstrap}
    with ConsumerGroups(settings) as groups:
        assert groups.state(group) == GroupStatus(GroupState.EMPTY, members=0)
        assert groups.offsets(group) == {}

        own = {
            "group.id": group,
            "group.protocol": protocol,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        consumer = confluent_kafka.Consumer({**settings, **own})
        consumer.subscribe([topic])
        first = wait_until(lambda: consumer.poll(0.1), 60, "no record came")
        assert first is not None
        consumer.commit(message=first, asynchronous=False)
        wait_for(lambda: groups.state(group), GroupStatus(GroupState.STABLE, members=1), 60, "it is not stable")
        assert not groups.state(group).inactive

        consumer.close()
        wait_until(lambda: groups.state(group).inactive, 60, "the group did not become empty")
        assert groups.offsets(group) == {TopicPartition(topic, 0): 1}


def test_many_consumer_groups(sandbox: Sandbox, topic: str) -> None:
    """More than one request takes: each has its own offsets, and one that nobody knows has none."""
    mark = uuid4().hex[:8]
    names = [f"many-{mark}-{number:03}" for number in range(250)]
    settings = {"bootstrap.servers": sandbox.target.bootstrap}
    with sandbox.target.admin() as admin:
        commits = [
            admin.alter_consumer_group_offsets(
                [
                    confluent_kafka.ConsumerGroupTopicPartitions(
                        name, [confluent_kafka.TopicPartition(topic, 0, number % 10, metadata="noted")]
                    )
                ]
            )[name]
            for number, name in enumerate(names)
        ]
        for commit in commits:
            commit.result(30)

    with ConsumerGroups(settings) as groups:
        assert groups.list_groups(f"many-{mark}-.*") == names
        assert groups.list_groups(f"many-{mark}") == []
        with pytest.raises(InvalidInput, match=r"groups: 'many-\(' is not a regular expression"):
            groups.list_groups("many-(")
        found = groups.offsets_of([*names, "nobody"])
        assert found.pop("nobody") == {}
        assert found == {
            name: {TopicPartition(topic, 0): Committed(number % 10, "noted")} for number, name in enumerate(names)
        }
        assert all(status.inactive for status in groups.states([*names, "nobody"]).values())


def test_the_first_record_that_is_left_to_read(sandbox: Sandbox, topic: str) -> None:
    """It is at or after the position, or at the log start if that is out of range; transaction markers don't count."""
    where, empty = TopicPartition(topic, 0), TopicPartition(topic, 1)
    producer = confluent_kafka.Producer(sandbox.target.client_settings() | {"transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, "undecided", partition=1)
    producer.flush(30)

    with RemainingRecords({"bootstrap.servers": sandbox.target.bootstrap}) as logs:
        assert logs.first_remaining({where: 3}) == {where: Remaining(3, START + 3 * SECOND)}
        assert logs.first_remaining({where: 10}) == {}
        assert logs.first_remaining({where: 11}) == {where: Remaining(0, START)}
        sandbox.target.delete_records(topic, {0: 5})
        assert logs.first_remaining({where: 3}) == {where: Remaining(5, START + 5 * SECOND)}
        # An open transaction: read_committed does not know yet.
        assert logs.first_remaining({empty: 0}, isolation=Isolation.READ_COMMITTED) == {empty: Remaining(0, None)}
        assert logs.first_remaining({empty: 0})[empty].offset == 0
        producer.abort_transaction(30)
        wait_for(lambda: sandbox.target.log_bounds(topic)[1], (0, 2), 60, "no marker was written")
        assert logs.first_remaining({empty: 0}, isolation=Isolation.READ_COMMITTED) == {}
        assert logs.first_remaining({empty: 1}) == {}
        with pytest.raises(StoreError, match=f"topic '{topic}' partition 7"):
            logs.first_remaining({TopicPartition(topic, 7): 0})
        assert set(logs.topic_ids([topic, "no-such-topic", "no topic"])) == {topic}
