"""A running Debezium connector of one table of a real database."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self
from uuid import uuid4

from sandbox import ConnectWorker, Kafka, wait_for

_TO_JSON = "org.apache.kafka.connect.json.JsonConverter"


@dataclass(frozen=True)
class CapturedOrders(ABC):
    """Captures a table ``orders_…`` with the columns ``id`` and ``what``, which has one row at first."""

    schema: ClassVar[str]
    """The schema of the table, of PostgreSQL, or its database, of MariaDB."""

    worker: ConnectWorker
    kafka: Kafka
    name: str

    @abstractmethod
    def execute(self, statement: str) -> None:
        """Execute a statement in a transaction of its own."""

    @abstractmethod
    def database_config(self) -> dict[str, str]:
        """The part of its configuration that its kind of database has."""

    @staticmethod
    def new_name() -> str:
        """A name for connector, table and topics that no other connector has."""
        return f"orders_{uuid4().hex[:8]}"

    def captured(self, **settings: str) -> Self:
        """Create table and connector, and wait until its snapshot is delivered."""
        self.execute(f"CREATE TABLE {self.name} (id int PRIMARY KEY, what text)")
        self.insert(0)
        self.worker.create(self.name, self.config(**settings))
        wait_for(self.delivered, [0], 90, f"{self.name} delivers no snapshot")
        return self

    def config(self, **settings: str) -> dict[str, str]:
        """Its configuration; underscores in names of ``settings`` mean dots."""
        return {
            "tasks.max": "1",
            "database.hostname": "127.0.0.1",
            "topic.prefix": self.name,
            "table.include.list": f"{self.schema}.{self.name}",
            "topic.creation.default.replication.factor": "1",
            "topic.creation.default.partitions": "1",
            "key.converter": _TO_JSON,
            "value.converter": _TO_JSON,
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
            **self.database_config(),
            **{name.replace("_", "."): value for name, value in settings.items()},
        }

    def insert(self, *numbers: int) -> None:
        """Insert a row for each number, in a transaction of its own."""
        for number in numbers:
            self.execute(f"INSERT INTO {self.name} VALUES ({number}, 'new')")  # noqa: S608 - names of our own

    def delivered(self) -> list[int]:
        """``id`` of each change in its topic, in order."""
        topic = f"{self.name}.{self.schema}.{self.name}"
        if topic not in self.kafka.topics():
            return []
        values = [json.loads(record.value) for record in self.kafka.consume(topic) if record.value]
        return [value["after"]["id"] for value in values if value["after"]]

    def remove(self) -> None:
        """Delete the connector."""
        self.worker.delete(self.name)
