"""Connectors that are created and deleted, as the operators do it, without Airflow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from airflow_provider_connect_offsets.kafka.groups import ConsumerGroups
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import Offsets, parse_rest
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.operations.existence import create_delete
from airflow_provider_connect_offsets.operations.existence.new_connector import NewConnector
from airflow_provider_connect_offsets.saga.lease import Owner
from sandbox import Sandbox, wait_for
from sandbox.connectors import file_sink_config, file_source_config
from tests.support.flows.flows import Changer

RECORDS = 20


def owner() -> Owner:
    """An owner that no other test has."""
    return Owner.here(run=f"test/{uuid4().hex}", task="create")


@dataclass(frozen=True)
class NewSink:
    """A file sink that does not exist yet; its topic has ``RECORDS`` records, whose values are their offsets."""

    sandbox: Sandbox
    changer: Changer
    new: NewConnector
    topic: str
    file: Path

    @classmethod
    def ready(cls, sandbox: Sandbox, changer: Changer, position: int = 15, **more: Any) -> NewSink:
        """Make the topic; the connector is to resume at ``position``."""
        mark = uuid4().hex[:8]
        topic, file = f"created-{mark}", sandbox.data / f"created-{mark}.txt"
        sandbox.target.create_topic(topic)
        sandbox.target.produce(topic, [str(number) for number in range(RECORDS)])
        new = NewConnector(f"created-{mark}", file_sink_config(topic, file), at(topic, position), **more)
        return cls(sandbox, changer, new, topic, file)

    def but(self, **changed: Any) -> NewSink:
        """The same, with other settings of the connector."""
        return replace(self, new=replace(self.new, **changed))

    def create(self, by: Owner | None = None, clients: Clients | None = None) -> int:
        """Create it."""
        if clients is not None:
            here = replace(clients, workspace=self.changer.workspace)
            return create_delete.create(self.new, here, by or owner())
        with self.changer.clients() as own:
            return create_delete.create(self.new, own, by or owner())

    def delete(self, kept: str, by: Owner | None = None, clients: Clients | None = None) -> int:
        """Delete it."""
        if clients is not None:
            here = replace(clients, workspace=self.changer.workspace)
            return create_delete.delete(self.new.name, here, by or owner(), kept=kept)
        with self.changer.clients() as own:
            return create_delete.delete(self.new.name, own, by or owner(), kept=kept)

    @property
    def exists(self) -> bool:
        """Whether the connector exists."""
        return self.new.name in self.sandbox.connect.connectors()

    @property
    def committed(self) -> int | None:
        """The committed offset of its consumer group."""
        with ConsumerGroups({"bootstrap.servers": self.sandbox.target.bootstrap}) as groups:
            return groups.offsets(f"connect-{self.new.name}").get(TopicPartition(self.topic, 0))

    def lines(self) -> list[str]:
        """The lines of its file."""
        return self.file.read_text().splitlines() if self.file.exists() else []


def at(topic: str, position: int) -> Offsets:
    """The offset of the only partition."""
    partition = {"kafka_topic": topic, "kafka_partition": 0}
    return parse_rest({"offsets": [{"partition": partition, "offset": {"kafka_offset": position}}]})


def file_source(sandbox: Sandbox, folder: Path) -> tuple[str, dict[str, str]]:
    """Create a file source that has stored its offset; returns its name and its settings."""
    name, file = f"created-{uuid4().hex[:8]}", folder / "lines.txt"
    file.write_text("one\ntwo\n")
    config = file_source_config(name, file)
    sandbox.connect.create(name, config)
    wait_for(lambda: len(sandbox.connect.stored_offsets(name)), 1, 60, "it stores no offset")
    return name, config
