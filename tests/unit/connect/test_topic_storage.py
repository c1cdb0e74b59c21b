"""The topics with the offsets of a Connect cluster's connectors, without Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from airflow_provider_connect_offsets.connect.storage.config_topic import ConfiguredConnector
from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.connect.storage.topic_storage import TopicStorage, WorkerTopics
from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.kafka.topic_reader import Progress, TopicRecord
from airflow_provider_connect_offsets.kafka.topic_writer import task_transactional_ids
from airflow_provider_connect_offsets.offsets.families import ConnectorType

OWN = {"offsets.storage.topic": "own", "producer.override.bootstrap.servers": "elsewhere:9092"}


def test_another_cluster_is_not_taken_for_this_one() -> None:
    """A connector's own topic is in its producer's cluster; without settings for that, nothing is read or written."""
    storage = TopicStorage(WorkerTopics({"bootstrap.servers": "here:9092"}, "connect-offsets"))

    with pytest.raises(InvalidInput, match=r"'lines' stores its offsets in topic 'own' of another Kafka cluster"):
        storage._topic_of(ConfiguredConnector("lines", OWN))
    here = storage._topic_of(ConfiguredConnector("lines", {"offsets.storage.topic": "own"}))
    assert (here.topic, here.servers) == ("own", "here:9092")


def test_connectors_are_known_by_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """One whose offset can't be read is listed, and so are all others."""
    storage = TopicStorage(WorkerTopics({"bootstrap.servers": "here:9092"}, "connect-offsets"))
    lines, others = b'["lines",{"filename":"a"}]', b'["others",{"filename":"b"}]'
    shared, own = Stored({lines: b"[1]", others: b'{"position":1}'}), Stored({})
    monkeypatch.setattr(storage, "_shared_topic", lambda: shared)
    assert storage.connectors() == ["lines", "others"]

    monkeypatch.setattr(storage, "_own_topics", lambda: {"others": own})
    assert storage.connectors() == ["lines"]


class Stored(OffsetsTopic):
    """An offsets topic with these records."""

    def __init__(self, values: dict[bytes, bytes]) -> None:
        super().__init__({"bootstrap.servers": "127.0.0.1:1"}, "connect-offsets")
        self._values = values

    def records(self, progress: Progress | None = None) -> Iterator[TopicRecord]:
        del progress
        return (TopicRecord(0, at, 0, *one) for at, one in enumerate(self._values.items()))


def test_settings_hold_secrets_that_nobody_sees() -> None:
    """The ``repr`` of a storage does not show them."""
    assert "hunter2" not in repr(WorkerTopics({"sasl.password": "hunter2"}, "connect-offsets"))


def test_transactional_ids_are_those_of_the_tasks() -> None:
    """They are those of ``Worker.taskTransactionalId``; the first task is fenced if the number of tasks is unknown."""
    assert task_transactional_ids("workers", "lines", 2) == (
        "connect-cluster-workers-lines-0",
        "connect-cluster-workers-lines-1",
    )
    assert task_transactional_ids("workers", "lines", 0) == ("connect-cluster-workers-lines-0",)


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("org.apache.kafka.connect.file.FileStreamSinkConnector", ConnectorType.SINK),
        ("JdbcSink", ConnectorType.SINK),
        ("org.apache.kafka.connect.mirror.MirrorSourceConnector", ConnectorType.SOURCE),
        ("io.debezium.connector.postgresql.PostgresConnector", ConnectorType.SOURCE),
        ("", ConnectorType.SOURCE),
    ],
)
def test_a_sink_is_known_by_its_class(named: str, expected: ConnectorType) -> None:
    """The config topic has no other evidence; a connector not known to be a sink may have source offsets."""
    assert ConfiguredConnector("any", {"connector.class": named}).type is expected
