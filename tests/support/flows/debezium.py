"""A running Debezium connector of one table of a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.families.postgres import lsn_text, parse_lsn
from sandbox import ConnectWorker, Kafka, wait_for, wait_until
from sandbox.postgres import DATABASE, PASSWORD, USER, Postgres
from tests.support.flows.captured_orders import CapturedOrders
from tests.support.flows.flows import Changer

CLASS = "io.debezium.connector.postgresql.PostgresConnector"


@dataclass(frozen=True)
class PsqlDatabase:
    """A ``Database`` by PostgreSQL's own shell; that of Airflow needs a provider."""

    postgres: Postgres

    def fetch_first(self, statement: str, *values: str) -> tuple[Any, ...]:
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
class OrdersConnector(CapturedOrders):
    """Captures a table of a PostgreSQL."""

    schema: ClassVar[str] = "public"

    postgres: Postgres

    @classmethod
    def start(cls, worker: ConnectWorker, kafka: Kafka, postgres: Postgres, **settings: str) -> Self:
        """Create table and connector, and wait until its snapshot is delivered."""
        return cls(worker, kafka, cls.new_name(), postgres).captured(**settings)

    def execute(self, statement: str) -> None:
        self.postgres.query(statement)

    def database_config(self) -> dict[str, str]:
        return {
            "connector.class": CLASS,
            "database.port": str(self.postgres.port),
            "database.user": USER,
            "database.password": PASSWORD,
            "database.dbname": DATABASE,
            "plugin.name": "pgoutput",
            "slot.name": self.name,
            "publication.name": self.name,
            "publication.autocreate.mode": "filtered",
        }

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
                offset is not None and offset["lsn"] >= parse_lsn(lsn)
                for offset in self.worker.stored_offsets(self.name)
            )

        wait_until(is_stored, 60, f"{self.name} stores no offset at {lsn}")

    def remove(self) -> None:
        """Delete the connector and its slot."""
        super().remove()
        statement = (
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active AND slot_name = "
        )
        wait_until(
            lambda: self.postgres.query(f"{statement}'{self.name}'"), 30, f"the slot of {self.name} stays in use"
        )
