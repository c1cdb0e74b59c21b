"""What Connect's config topic says of connectors: readable also while no worker runs.

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
    """A connector that exists: its configuration, and of how many tasks its exactly-once workers have told.

    ``fenced_tasks`` is None where no worker of it ever wrote exactly once.
    """

    name: str
    config: Mapping[str, str]
    fenced_tasks: int | None = None

    @property
    def offsets_topic(self) -> str:
        """The connector's own offsets topic; empty where it uses the workers' one."""
        return self.config.get("offsets.storage.topic", "")

    @property
    def type(self) -> ConnectorType:
        """Source or sink, by the name of the class, as nothing else tells; what tells neither is taken for a source."""
        named = self.config.get("connector.class", "").removesuffix("Connector")
        return ConnectorType.SINK if named.endswith("Sink") else ConnectorType.SOURCE


def read_connectors(config: Mapping[str, Any], topic: str, *, timeout: float = 15.0) -> dict[str, ConfiguredConnector]:
    """Read all connectors that exist, by name; ``config`` holds librdkafka's settings.

    Raises :class:`InvalidInput` where there is no such topic, :class:`StoreDamaged` for a record that can't be read,
    and store errors.
    """
    with TopicReader(config, topic, timeout=timeout) as reader:
        latest = {record.key: record.value for record in reader.records()}
    texts = {key.decode(errors="replace"): value for key, value in latest.items()}
    found: dict[str, ConfiguredConnector] = {}
    for key, value in texts.items():
        name = key.removeprefix(_CONNECTOR)
        if key == name or value is None:
            continue
        config_of = _field(topic, key, value, "properties")
        fencing = texts.get(_FENCING + name)
        tasks = None if fencing is None else int(_field(topic, _FENCING + name, fencing, "task-count"))
        found[name] = ConfiguredConnector(name, config_of, tasks)
    return found


def _field(topic: str, key: str, value: bytes, field: str) -> Any:
    try:
        return json.loads(value)[field]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreDamaged(f"Topic {topic!r}: the record {key!r} holds no {field!r} ({error}).") from error
