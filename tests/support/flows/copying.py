"""Connectors that are copied and renamed, as the operators do it, without Airflow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_connect_offsets.kafka.groups import ConsumerGroups
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.operations.existence import copying
from airflow_provider_connect_offsets.operations.existence.copy_check import Copying
from airflow_provider_connect_offsets.saga.lease import Owner
from tests.support.flows.existence import NewSink, owner


@dataclass(frozen=True)
class CopiedSink:
    """A file sink that exists, and how it is copied."""

    original: NewSink
    how: Copying

    @classmethod
    def of(cls, original: NewSink, **how: Any) -> CopiedSink:
        """Name the copy after the original."""
        return cls(original, Copying(original.new.name, f"{original.new.name}-copy", **how))

    def but(self, **how: Any) -> CopiedSink:
        """The same, copied otherwise."""
        return replace(self, how=replace(self.how, **how))

    def copy(self, by: Owner | None = None, clients: Clients | None = None) -> int:
        """Copy or rename it."""
        changer = self.original.changer
        if clients is not None:
            return copying.copy(self.how, replace(clients, workspace=changer.workspace), by or owner())
        with changer.clients() as own:
            return copying.copy(self.how, own, by or owner())

    @property
    def exists(self) -> bool:
        """Whether the copy exists."""
        return self.how.new_name in self.original.sandbox.connect.connectors()

    @property
    def committed(self) -> int | None:
        """The committed offset of the copy's own consumer group."""
        with ConsumerGroups({"bootstrap.servers": self.original.sandbox.target.bootstrap}) as groups:
            found = groups.offsets(f"connect-{self.how.new_name}")
        return found.get(TopicPartition(self.original.topic, 0))
