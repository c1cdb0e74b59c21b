"""Kafka clients without a Kafka: they refuse invalid arguments and never hang."""

from __future__ import annotations

import logging
from concurrent.futures import Future
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest
from confluent_kafka import KafkaError, KafkaException

from airflow_provider_connect_offsets.exceptions import (
    InvalidInput,
    NobodyThere,
    OutcomeUnknown,
    StoreError,
    Unreachable,
)
from airflow_provider_connect_offsets.kafka import topic_writer
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.groups import ConsumerGroups
from airflow_provider_connect_offsets.kafka.logs import KafkaLogs
from airflow_provider_connect_offsets.kafka.topic_writer import TopicWriter
from airflow_provider_connect_offsets.offsets.families import TopicPartition

NOBODY = {"bootstrap.servers": "127.0.0.1:1"}


def test_brokers_that_do_not_answer_are_named(caplog: pytest.LogCaptureFixture) -> None:
    """The error comes within the timeout and has the reason; librdkafka's own messages stay below INFO."""
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


@pytest.mark.parametrize(
    ("server", "why"), [("127.0.0.1:1", "Connection refused"), ("no-such-host.invalid:9092", "Failed to resolve")]
)
def test_nobody_at_any_address_is_said_at_once(server: str, why: str) -> None:
    """The error has the cause, and comes long before the timeout."""
    with (
        KafkaCluster({"bootstrap.servers": f"{server},127.0.0.1:1"}, timeout=600) as cluster,
        pytest.raises(NobodyThere, match=rf"No broker can be reached at {server}.*{why}.*Check bootstrap.servers"),
    ):
        cluster.greet()


class Restarting:
    """A cluster whose coordinators load during the first answers, as after a broker's restart."""

    def __init__(self, times: int) -> None:
        self.left = times

    def list_consumer_groups(self, **_asked: Any) -> Future[Any]:
        self.left -= 1
        errors = [KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS)] if self.left >= 0 else []
        answer: Future[Any] = Future()
        answer.set_result(SimpleNamespace(valid=[SimpleNamespace(group_id="orders")], errors=errors))
        return answer

    def poll(self, _timeout: float) -> None:
        """There is no error to report."""


def test_groups_are_listed_once_all_coordinators_are_there() -> None:
    """The groups of a loading coordinator would be missing."""
    with ConsumerGroups(NOBODY, timeout=60) as groups:
        groups._client = cast("Any", Restarting(2))
        assert groups.list_groups() == ["orders"]


def test_coordinators_that_do_not_come_are_an_error_that_callers_know() -> None:
    """Once the timeout has ended."""
    with ConsumerGroups(NOBODY, timeout=0.5) as groups:
        groups._client = cast("Any", Restarting(10_000))
        with pytest.raises(Unreachable, match="Can't list the consumer groups"):
            groups.list_groups()


def test_a_record_that_librdkafka_refuses_leaves_the_outcome_unknown() -> None:
    """The caller has to read back, because records before it may be written, with or without a transaction."""
    writer = TopicWriter({**NOBODY, "message.max.bytes": 1000}, "offsets")

    with pytest.raises(OutcomeUnknown, match=r"did not confirm 1 record of 'flow' in topic 'offsets' \(.*too large"):
        writer.write({b"key": b"x" * 2000}, {}, whose="flow")


@pytest.mark.parametrize("where", ["poll", "flush"])
def test_an_error_that_ends_the_producer_leaves_the_outcome_unknown(
    monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Python wraps what confluent-kafka raises while it calls back for records; the error names the missing right."""

    def end(*_arguments: object) -> int:
        refused = KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "no PID", fatal=True)
        raise SystemError("returned a result with an exception set") from KafkaException(refused)

    producer = Mock(poll=Mock(return_value=0), flush=Mock(return_value=0))
    getattr(producer, where).side_effect = end
    monkeypatch.setattr(topic_writer, "Producer", lambda _config: producer)

    with pytest.raises(OutcomeUnknown, match=r"\(no PID: .* needs an ACL that allows Write on the topic\)"):
        TopicWriter(NOBODY, "offsets").write({b"key": b"value"}, {}, whose="flow")


def test_settings_that_cannot_work_are_refused() -> None:
    """A client can't be created without brokers, with an unknown setting or with a wrong value."""
    with pytest.raises(InvalidInput, match=r"bootstrap\.servers"):
        KafkaLogs({})
    with pytest.raises(InvalidInput, match="No such configuration property"):
        KafkaLogs({**NOBODY, "nonsense": "x"})
    with pytest.raises(InvalidInput, match=r"security\.protocol"):
        ConsumerGroups({**NOBODY, "security.protocol": "x"})


def test_what_no_log_can_have_is_refused_without_asking() -> None:
    """An invalid topic name, a negative partition and a moment without time zone are errors of the caller."""
    with KafkaLogs(NOBODY) as logs:
        with pytest.raises(StoreError, match="topic 'a b' partition 0"):
            logs.bounds([TopicPartition("a b", 0)])
        with pytest.raises(StoreError, match="partition -1"):
            logs.bounds([TopicPartition("t", -1)])
        with pytest.raises(InvalidInput, match="no time zone"):
            logs.bounds([], moment=datetime(2026, 1, 1))  # noqa: DTZ001
        assert logs.bounds([]) == {}


def test_a_closed_client_stays_closed() -> None:
    """After the block the client can no longer be used."""
    with KafkaLogs(NOBODY) as logs:
        pass
    with pytest.raises(StoreError, match="closed"):
        logs.topics()


@pytest.mark.parametrize("used", [False, True])
def test_a_closed_cluster_has_no_groups(used: bool) -> None:  # noqa: FBT001 - a case of the test
    """Whether or not they were used in the block."""
    with KafkaCluster(NOBODY) as cluster:
        groups = cluster.groups if used else None
    with pytest.raises(StoreError, match="closed"):
        (groups or cluster.groups).state("g")
