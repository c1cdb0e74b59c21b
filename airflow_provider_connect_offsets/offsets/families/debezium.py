"""What all of Debezium's connectors have in common: their source partitions are named by ``topic.prefix``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_provider_connect_offsets.offsets.document import JsonMap
from airflow_provider_connect_offsets.offsets.family import Config, Family, Keys, error, plain_value
from airflow_provider_connect_offsets.offsets.verdicts import Finding, Rule


@dataclass(frozen=True, slots=True)
class Debezium(Family):
    """A connector of Debezium.

    Attributes:
        server_field: Field of its source partitions that has ``topic.prefix``.
    """

    server_field: ClassVar[str] = "server"
    partition_keys: ClassVar[Keys | None] = {"server": str}
    without_offset: ClassVar[str] = (
        "snapshot.mode decides where the connector starts (initial: it reads all tables again)"
    )

    def only_partition(self, config: Config) -> JsonMap | None:
        """Return ``server``, which is ``topic.prefix``; None if that is hidden, or partitions have other keys too."""
        server = server_of(config)
        return None if server is None or self.partition_keys != {"server": str} else {"server": server}

    def check_partition(self, partition: JsonMap, config: Config) -> Iterator[Finding]:
        """Require the configured ``topic.prefix``."""
        named, configured = partition.get(self.server_field), server_of(config)
        if isinstance(named, str) and configured is not None and named != configured:
            message = f"the connector's topic.prefix is '{configured}', so it would never read an offset of '{named}'"
            yield error(Rule.NOT_CONSUMED, message)


def server_of(config: Config) -> str | None:
    """Return the name in all source partitions of a Debezium connector; None if a config provider hides it.

    It is ``topic.prefix``, or before Debezium 2.0 ``database.server.name``.
    """
    return plain_value(config, "topic.prefix", config.get("database.server.name"))
