"""A running Debezium connector of one table of a real PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.families.postgres import lsn_text, parse_lsn
from sandbox import ConnectWorker, Kafka, wait_for, wait_until
from sandbox.postgres import DATABASE, PASSWORD, USER, Postgres
from tests.support.flows.flows import Changer

CLASS = "io.debezium.connector.postgresql.PostgresConnector"
_TO_JSON = "org.apache.kafka.connect.json.JsonConverter"


@dataclass(frozen=True)
class PsqlDatabase:
    """A ``Database`` by PostgreSQL's own shell; that of Airflow needs a provider."""

    postgres: Postgres

    def first(self, statement: str, *values: str) -> tuple[Any, ...]:
        """Return the first row; ``values`` are names without quotes."""
        row = self.postgres.query(statement.replace("%s", "'{}'").format(*values))[0]
        restart, confirmed, status, active, current = (text or None for text in row)
        return restart, confirmed, status, active == "t", current


@dataclass(frozen=True)
class DatabaseChanger(Changer):
    """Changes connectors whose offsets are positions in a PostgreSQL's log; without one if it is None."""

    postgres: Postgres | None = None

    @contextmanager
    def clients(self) -> Iterator[Clients]:
        """Open the clients of the worker and the database."""
        with super().clients() as clients:
            yield replace(clients, database=PsqlDatabase(self.postgres) if self.postgres else None)


@dataclass(frozen=True)
class OrdersConnector:
    """Captures a table ``orders_…`` with the columns ``id`` and ``what``, which has one row at first."""

    worker: ConnectWorker
    kafka: Kafka
    postgres: Postgres
    name: str

    @classmethod
    def start(cls, worker: ConnectWorker, kafka: Kafka, postgres: Postgres, **settings: str) -> OrdersConnector:
        """Create table and connector, and wait until its snapshot is delivered."""
        orders = cls(worker, kafka, postgres, f"orders_{uuid4().hex[:8]}")
        postgres.query(f"CREATE TABLE {orders.name} (id int PRIMARY KEY, what text)")
        orders.insert(0)
        worker.create(orders.name, orders.config(**settings))
        wait_for(orders.delivered, [0], 90, f"{orders.name} delivers no snapshot")
        return orders

    def config(self, **settings: str) -> dict[str, str]:
        """Its configuration; underscores in names of ``settings`` mean dots."""
        return {
            "connector.class": CLASS,
            "tasks.max": "1",
            "database.hostname": "127.0.0.1",
            "database.port": str(self.postgres.port),
            "database.user": USER,
            "database.password": PASSWORD,
            "database.dbname": DATABASE,
            "topic.prefix": self.name,
            "plugin.name": "pgoutput",
            "slot.name": self.name,
            "publication.name": self.name,
            "publication.autocreate.mode": "filtered",
            "table.include.list": f"public.{self.name}",
            "topic.creation.default.replication.factor": "1",
            "topic.creation.default.partitions": "1",
            "key.converter": _TO_JSON,
            "value.converter": _TO_JSON,
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }

    def insert(self, *numbers: int) -> None:
        """Insert a row for each number, in a transaction of its own."""
        for number in numbers:
            self.postgres.query(f"INSERT INTO {self.name} VALUES ({number}, 'new')")  # noqa: S608 - names of our own

    def delivered(self) -> list[int]:
        """``id`` of each change in its topic, in order."""
        topic = f"{self.name}.public.{self.name}"
        if topic not in self.kafka.topics():
            return []
        values = [json.loads(record.value) for record in self.kafka.consume(topic) if record.value]
        return [value["after"]["id"] for value in values if value["after"]]

    def end_of_log(self) -> str:
        """The present end of the write-ahead log, as PostgreSQL writes it."""
        return self.postgres.value("SELECT pg_current_wal_lsn()")

    def confirmed(self) -> int:
        """What its slot has confirmed."""
        statement = "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = "
        return parse_lsn(self.postgres.value(f"{statement}'{self.name}'"))

    def wait_confirmed(self, lsn: str) -> None:
        """Wait until its slot has confirmed an LSN."""
        wait_until(lambda: self.confirmed() >= parse_lsn(lsn), 60, f"the slot of {self.name} does not confirm {lsn}")

    def deliver_confirmed(self, *numbers: int) -> str:
        """Insert rows into the new table, wait until the slot has confirmed a part of them; returns the LSN before."""
        lsn = self.end_of_log()
        self.insert(*numbers)
        wait_for(self.delivered, [0, *numbers], 60, f"{self.name} does not deliver")
        self.wait_confirmed(lsn_text(parse_lsn(lsn) + 1))
        return lsn

    def wait_stored(self, lsn: str) -> None:
        """Wait until Connect has stored an offset at or after an LSN."""

        def is_stored() -> bool:
            return any(
                offset is not None and offset["lsn"] >= parse_lsn(lsn) for offset in self.worker.stored(self.name)
            )

        wait_until(is_stored, 60, f"{self.name} stores no offset at {lsn}")

    def remove(self) -> None:
        """Delete the connector and its slot."""
        self.worker.delete(self.name)
        statement = (
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active AND slot_name = "
        )
        wait_until(
            lambda: self.postgres.query(f"{statement}'{self.name}'"), 30, f"the slot of {self.name} stays in use"
        )
