"""Connectors in Connect's config topic, which can be read while no worker runs.

Sources: ``KafkaConfigBackingStore`` (keys ``connector-<name>``, ``tasks-fencing-<name>``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_connect_offsets.exceptions import StoreDamaged
from airflow_provider_connect_offsets.kafka.topic_reader import TopicReader
from airflow_provider_connect_offsets.offsets.families import ConnectorType

_CONNECTOR, _FENCING = "connector-", "tasks-fencing-"


@dataclass(frozen=True, slots=True)
class ConfiguredConnector:
    """A connector that exists.

    Attributes:
        name: Its name.
        config: Its configuration.
        fenced_tasks: Number of its tasks according to exactly-once workers; None if no worker wrote exactly once.
    """

    name: str
    config: Mapping[str, str]
    fenced_tasks: int | None = None

    @property
    def offsets_topic(self) -> str:
        """The connector's own offsets topic; empty if it uses the workers' topic."""
        return self.config.get("offsets.storage.topic", "")

    @property
    def type(self) -> ConnectorType:
        """Sink if the name of the class ends with Sink or SinkConnector, else source; nothing else reveals the type."""
        class_name = self.config.get("connector.class", "").removesuffix("Connector")
        return ConnectorType.SINK if class_name.endswith("Sink") else ConnectorType.SOURCE


def read_connectors(config: Mapping[str, Any], topic: str) -> dict[str, ConfiguredConnector]:
    """Return all connectors by name.

    Args:
        config: Settings of librdkafka.
        topic: The workers' config topic.

    Raises:
        InvalidInput: The topic does not exist.
        StoreDamaged: A record can't be read.
        StoreError: Kafka can't be read.
    """
    with TopicReader(config, topic) as reader:
        latest = {record.key: record.value for record in reader.records()}
    texts = {key.decode(errors="replace"): value for key, value in latest.items()}
    connectors: dict[str, ConfiguredConnector] = {}
    for key, value in texts.items():
        name = key.removeprefix(_CONNECTOR)
        if key == name or value is None:
            continue
        config_of = _field(topic, key, value, "properties")
        fencing = texts.get(_FENCING + name)
        tasks = None if fencing is None else int(_field(topic, _FENCING + name, fencing, "task-count"))
        connectors[name] = ConfiguredConnector(name, config_of, tasks)
    return connectors


def _field(topic: str, key: str, value: bytes, field: str) -> Any:
    try:
        return json.loads(value)[field]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreDamaged(f"Topic {topic!r}: {field!r} of the record {key!r} can't be read ({error}).") from error
