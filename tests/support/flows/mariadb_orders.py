"""A running Debezium connector of one table of a real MariaDB."""

from __future__ import annotations

import json
from dataclasses import dataclass
from uuid import uuid4

from sandbox import ConnectWorker, Kafka, wait_for
from sandbox.mariadb import DATABASE, PASSWORD, USER, MariaDb

_TO_JSON = "org.apache.kafka.connect.json.JsonConverter"


@dataclass(frozen=True)
class MariaDbOrders:
    """Captures a table ``orders_…`` with the columns ``id`` and ``what``, which has one row at first."""

    worker: ConnectWorker
    kafka: Kafka
    database: MariaDb
    name: str

    @classmethod
    def start(cls, worker: ConnectWorker, kafka: Kafka, database: MariaDb) -> MariaDbOrders:
        """Create table and connector, and wait until its snapshot is delivered."""
        orders = cls(worker, kafka, database, f"orders_{uuid4().hex[:8]}")
        database.query(f"CREATE TABLE {orders.name} (id int PRIMARY KEY, what text)")
        orders.insert(0)
        worker.create(orders.name, orders.config())
        wait_for(orders.delivered, [0], 90, f"{orders.name} delivers no snapshot")
        return orders

    def config(self) -> dict[str, str]:
        """Its configuration."""
        return {
            "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
            "tasks.max": "1",
            "database.hostname": "127.0.0.1",
            "database.port": str(self.database.port),
            "database.user": USER,
            "database.password": PASSWORD,
            "database.ssl.mode": "disable",
            # Of all replicas and connectors of a server each needs its own.
            "database.server.id": str(int(self.name.removeprefix("orders_"), 16)),
            "topic.prefix": self.name,
            "database.include.list": DATABASE,
            "table.include.list": f"{DATABASE}.{self.name}",
            "schema.history.internal.kafka.bootstrap.servers": self.kafka.bootstrap,
            "schema.history.internal.kafka.topic": f"history-{self.name}",
            "topic.creation.default.replication.factor": "1",
            "topic.creation.default.partitions": "1",
            "key.converter": _TO_JSON,
            "value.converter": _TO_JSON,
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
        }

    def insert(self, *numbers: int) -> None:
        """Insert a row for each number, in a transaction of its own."""
        for number in numbers:
            self.database.query(f"INSERT INTO {self.name} VALUES ({number}, 'new')")  # noqa: S608 - names of our own

    def delivered(self) -> list[int]:
        """``id`` of each change in its topic, in order."""
        topic = f"{self.name}.{DATABASE}.{self.name}"
        if topic not in self.kafka.topics():
            return []
        values = [json.loads(record.value) for record in self.kafka.consume(topic) if record.value]
        return [value["after"]["id"] for value in values if value["after"]]

    def end_of_binlog(self) -> tuple[str, int]:
        """The present end of the binlog: file and position."""
        file, position = self.database.query("SHOW MASTER STATUS")[0][:2]
        return file, int(position)

    def gtids_at(self, file: str, position: int) -> str:
        """The GTIDs of a place in the binlog, as MariaDB converts it."""
        return self.database.query(f"SELECT BINLOG_GTID_POS('{file}', {position})")[0][0]

    def alter(self, offset: dict[str, str | int]) -> None:
        """Store an offset by Connect itself, and resume."""
        self.worker.stop(self.name)
        self.worker.alter(self.name, [{"partition": {"server": self.name}, "offset": offset}])
        self.worker.call("PUT", f"/connectors/{self.name}/resume")

    def remove(self) -> None:
        """Delete the connector."""
        self.worker.delete(self.name)
