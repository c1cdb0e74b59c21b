"""Skipped records of topics that transactions write to: their markers have offsets, and are no records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.workspace.outcome import Result
from sandbox import Broker, Sandbox
from sandbox.connectors import file_sink_config
from tests.support.flows.flows import Changer
from tests.support.flows.group_changer import GroupChanger
from tests.support.flows.groups import commit_groups, committed
from tests.support.flows.poisoned import BROKEN, JSON, Poisoned, lines, rows

pytestmark = pytest.mark.jobs
#: Where the first transaction's marker is, which is where a reader of its three records has come to.
MARKER = 3
READS_COMMITTED = {"consumer.override.isolation.level": "read_committed"}


def write_transactions(broker: Broker, topic: str) -> None:
    """Write three good records (0 to 2), an aborted broken one (4), a broken one and two good ones (6 to 8).

    Each transaction is followed by its marker: 3, 5 and 9.
    """
    producer = Producer(broker.client_settings() | {"transactional.id": topic})
    producer.init_transactions(30)
    for values, is_committed in ((rows(0, 3), True), ([BROKEN], False), ([BROKEN, *rows(3, 2)], True)):
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, partition=0)
        producer.flush(30)
        (producer.commit_transaction if is_committed else producer.abort_transaction)(30)


@pytest.fixture
def poisoned(sandbox: Sandbox, target_changer: Changer) -> Iterator[Poisoned]:
    """A sink that reads committed records, and has failed on the broken one behind two markers."""
    name = f"poisoned-{uuid4().hex[:8]}"
    config = {**file_sink_config(name, sandbox.data / f"{name}.txt"), **JSON, **READS_COMMITTED}
    sink = Poisoned(sandbox, target_changer, name, name, [], config)
    sandbox.target.create_topic(name)
    write_transactions(sandbox.target, name)
    sandbox.target.commit_group(f"connect-{name}", name, {0: MARKER})
    sandbox.connect.create(name, config)
    sandbox.connect.wait_state(name, "FAILED", tasks=1)
    assert sink.position == MARKER
    yield sink
    sink.remove()


def test_one_skipped_record_is_the_broken_one_and_not_a_marker(poisoned: Poisoned, target_changer: Changer) -> None:
    """From the marker on, the sink's next record is skipped, and the very next one is delivered."""
    outcome = target_changer.change(poisoned.name, "skip", "1")

    assert outcome.result is Result.APPLIED
    poisoned.wait_until_delivered(lines(3, 2))


def test_the_broken_record_is_found_behind_markers(poisoned: Poisoned) -> None:
    """Its offset is exact, whatever lies between the position and it."""
    with ExitStack() as stack:
        done = poisoned.work(stack).skip()

    assert done.places == ((poisoned.topic, 0, 6),)
    poisoned.wait_until_delivered(lines(3, 2))


def test_a_group_that_may_read_aborted_records_skips_them_too(sandbox: Sandbox, spark: object, workspace: str) -> None:
    """Without read_committed an aborted record is delivered, so it is the one that is skipped; a shift counts all."""
    topic = f"transactions-{uuid4().hex[:8]}"
    sandbox.target.create_topic(topic)
    write_transactions(sandbox.target, topic)
    group, where = f"reader-{topic}", TopicPartition(topic, 0)
    commit_groups(sandbox.target, {group: {where: MARKER}})
    changer = GroupChanger.of(spark, workspace, sandbox.target)

    changer.change(group, "skip", "1", topics=topic)
    assert committed(sandbox.target, [group])[group] == {where: 5}

    changer.change(group, "shift", "1", topics=topic)
    assert committed(sandbox.target, [group])[group] == {where: 6}
