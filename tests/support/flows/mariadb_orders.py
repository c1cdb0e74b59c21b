"""A running Debezium connector of one table of a real MariaDB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from sandbox import ConnectWorker, Kafka
from sandbox.mariadb import DATABASE, PASSWORD, USER, MariaDb
from tests.support.flows.captured_orders import CapturedOrders


@dataclass(frozen=True)
class MariaDbOrders(CapturedOrders):
    """Captures a table of a MariaDB."""

    schema: ClassVar[str] = DATABASE

    database: MariaDb

    @classmethod
    def start(cls, worker: ConnectWorker, kafka: Kafka, database: MariaDb) -> Self:
        """Create table and connector, and wait until its snapshot is delivered."""
        return cls(worker, kafka, cls.new_name(), database).captured()

    def execute(self, statement: str) -> None:
        self.database.query(statement)

    def database_config(self) -> dict[str, str]:
        return {
            "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
            "database.port": str(self.database.port),
            "database.user": USER,
            "database.password": PASSWORD,
            "database.ssl.mode": "disable",
            # Of all replicas and connectors of a server each needs its own.
            "database.server.id": str(int(self.name.removeprefix("orders_"), 16)),
            "database.include.list": DATABASE,
            "schema.history.internal.kafka.bootstrap.servers": self.kafka.bootstrap,
            "schema.history.internal.kafka.topic": f"history-{self.name}",
        }

    def end_of_binlog(self) -> tuple[str, int]:
        """The present end of the binlog: file and position."""
        file, position = self.database.query("SHOW MASTER STATUS")[0][:2]
        return file, int(position)

    def gtids_at(self, file: str, position: int) -> str:
        """The GTIDs of a position in the binlog, as MariaDB converts it."""
        return self.database.query(f"SELECT BINLOG_GTID_POS('{file}', {position})")[0][0]

    def alter(self, offset: dict[str, str | int]) -> None:
        """Store an offset by Connect itself, and resume."""
        self.worker.stop(self.name)
        self.worker.alter(self.name, [{"partition": {"server": self.name}, "offset": offset}])
        self.worker.call("PUT", f"/connectors/{self.name}/resume")
