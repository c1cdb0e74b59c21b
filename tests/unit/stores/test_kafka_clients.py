"""What the Kafka doors do without a Kafka: refuse what can't work, and never hang."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import pytest

from airflow_provider_connect_offsets.exceptions import InvalidInput, StoreError, Unreachable
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.stores.groups import ConsumerGroups
from airflow_provider_connect_offsets.stores.kafka import KafkaLogs

NOBODY = {"bootstrap.servers": "127.0.0.1:1"}


def test_brokers_that_do_not_answer_are_named(caplog: pytest.LogCaptureFixture) -> None:
    """Within the time limit, with the reason; librdkafka's own chatter stays below INFO."""
    caplog.set_level(logging.INFO)
    with KafkaLogs(NOBODY, timeout=0.3) as logs, ConsumerGroups(NOBODY, timeout=0.3) as groups:
        calls = (
            logs.topics,
            lambda: logs.bounds([TopicPartition("t", 0)], moment=datetime.now(UTC)),
            lambda: groups.state("g"),
            lambda: groups.offsets("g"),
        )
        for call in calls:
            with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1 within 0\.3 s .*Connection refused"):
                call()
    assert caplog.text == ""


def test_settings_that_cannot_work_are_refused() -> None:
    """No brokers, an unknown setting, a wrong value: told when the door is opened."""
    with pytest.raises(InvalidInput, match=r"bootstrap\.servers"):
        KafkaLogs({})
    with pytest.raises(InvalidInput, match="No such configuration property"):
        KafkaLogs({**NOBODY, "nonsense": "x"})
    with pytest.raises(InvalidInput, match=r"security\.protocol"):
        ConsumerGroups({**NOBODY, "security.protocol": "x"})


def test_what_no_log_can_have_is_refused_without_asking() -> None:
    """A name no topic can have, a negative partition and a moment without a time zone are mistakes of the caller."""
    with KafkaLogs(NOBODY) as logs:
        with pytest.raises(StoreError, match="topic 'a b' partition 0"):
            logs.bounds([TopicPartition("a b", 0)])
        with pytest.raises(StoreError, match="partition -1"):
            logs.bounds([TopicPartition("t", -1)])
        with pytest.raises(InvalidInput, match="no time zone"):
            logs.bounds([], moment=datetime(2026, 1, 1))  # noqa: DTZ001
        assert logs.bounds([]) == {}


def test_a_closed_door_stays_closed() -> None:
    """After the block the client is gone."""
    with KafkaLogs(NOBODY) as logs:
        pass
    with pytest.raises(StoreError, match="closed"):
        logs.topics()
