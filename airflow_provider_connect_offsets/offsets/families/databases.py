"""Families of connectors that read other databases: their offsets are checked, and can only be given whole.

Sources of the keys: Debezium's classes ``…OffsetContext`` and ``…Partition``, and the JDBC source connector's
``TimestampIncrementingOffset`` and ``OffsetProtocols``. None was tried on a real database (docs/supported.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_provider_connect_offsets.offsets.document import JsonMap
from airflow_provider_connect_offsets.offsets.families.debezium import Debezium
from airflow_provider_connect_offsets.offsets.family import Config, Family, Keys, Signed, error
from airflow_provider_connect_offsets.offsets.verdicts import Finding, Rule

_DEBEZIUM = "io.debezium.connector"


@dataclass(frozen=True, slots=True)
class DebeziumMySql(Debezium):
    """Debezium for MySQL: a binlog file and a position in it; with ``gtids``, these decide."""

    name: ClassVar[str] = "debezium_mysql"
    classes: ClassVar[tuple[str, ...]] = (f"{_DEBEZIUM}.mysql.MySqlConnector",)
    offset_keys: ClassVar[Keys] = {"file": str, "pos": int}
    optional_keys: ClassVar[Keys] = {"gtids": str, "row": int, "event": int, "server_id": int, "ts_sec": int}
    why_no_position: ClassVar[str] = "its offsets are positions in the database's binlog, not in a Kafka log"


@dataclass(frozen=True, slots=True)
class DebeziumSqlServer(Debezium):
    """Debezium for SQL Server: the LSN of a commit, and of a change within its transaction."""

    name: ClassVar[str] = "debezium_sqlserver"
    classes: ClassVar[tuple[str, ...]] = (f"{_DEBEZIUM}.sqlserver.SqlServerConnector",)
    partition_keys: ClassVar[Keys] = {"server": str, "database": str}
    offset_keys: ClassVar[Keys] = {"commit_lsn": str}
    optional_keys: ClassVar[Keys] = {"change_lsn": str, "event_serial_no": int, "snapshot_completed": bool}
    why_no_position: ClassVar[str] = "its offsets are positions in SQL Server's transaction log, not in a Kafka log"

    def check_offset(self, offset: JsonMap) -> Iterator[Finding]:
        """Require LSNs as SQL Server writes them; Debezium writes ``NULL`` where there is none."""
        for field in ("commit_lsn", "change_lsn"):
            value = offset.get(field)
            if isinstance(value, str) and value != "NULL" and not _SQL_SERVER_LSN.fullmatch(value):
                message = f"offset field '{field}' must be an LSN like 00000027:00000ac0:0002, not '{value}'"
                yield error(Rule.WRONG_TYPE, message)


_SQL_SERVER_LSN = re.compile(r"[0-9a-f]{8}:[0-9a-f]{8}:[0-9a-f]{4}", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class DebeziumMongoDb(Debezium):
    """Debezium for MongoDB, whose offset is a resume token of the change stream or the time of an oplog entry.

    The partition is ``server_id``; before Debezium 3.0 also ``rs``, the replica set.
    """

    name: ClassVar[str] = "debezium_mongodb"
    classes: ClassVar[tuple[str, ...]] = (f"{_DEBEZIUM}.mongodb.MongoDbConnector",)
    server_field: ClassVar[str] = "server_id"
    partition_keys: ClassVar[Keys | None] = None
    offset_keys: ClassVar[Keys] = {}
    optional_keys: ClassVar[Keys] = {"sec": int, "ord": int, "resume_token": str, "initsync": bool}
    why_no_position: ClassVar[str] = "its offsets are resume tokens of MongoDB's change stream, not in a Kafka log"

    def check_partition(self, partition: JsonMap, config: Config) -> Iterator[Finding]:
        """Require the configured ``topic.prefix``."""
        if not isinstance(partition.get(self.server_field), str):
            message = "the partition must have the key server_id with a string; otherwise nothing would read it"
            yield error(Rule.WRONG_KEYS, message)
        yield from Debezium.check_partition(self, partition, config)

    def check_offset(self, offset: JsonMap) -> Iterator[Finding]:
        """Require a token, or a time."""
        if not {"resume_token", "sec"} & set(offset):
            message = "the offset must have the key resume_token or sec; otherwise nothing would read it"
            yield error(Rule.WRONG_KEYS, message)


@dataclass(frozen=True, slots=True)
class DebeziumOracle(Debezium):
    """Debezium for Oracle: a system change number (SCN), which is stored as a string."""

    name: ClassVar[str] = "debezium_oracle"
    classes: ClassVar[tuple[str, ...]] = (f"{_DEBEZIUM}.oracle.OracleConnector",)
    offset_keys: ClassVar[Keys] = {}
    optional_keys: ClassVar[Keys] = {
        "scn": str,
        "commit_scn": str,
        "snapshot_scn": str,
        "lcr_position": str,
        "snapshot_completed": bool,
    }
    why_no_position: ClassVar[str] = "its offsets are Oracle's change numbers (SCN), not positions in a Kafka log"

    def check_offset(self, offset: JsonMap) -> Iterator[Finding]:
        """Require an SCN (LogMiner) or an LCR position (XStream), and digits in an SCN."""
        if not {"scn", "lcr_position"} & set(offset):
            message = "the offset must have the key scn or lcr_position; otherwise nothing would read it"
            yield error(Rule.WRONG_KEYS, message)
        scn = offset.get("scn")
        if isinstance(scn, str) and not re.fullmatch(r"\d+", scn, re.ASCII):
            yield error(Rule.WRONG_TYPE, f"offset field 'scn' must have only digits, not '{scn}'")


@dataclass(frozen=True, slots=True)
class JdbcSource(Family):
    """The JDBC source connector: the largest value of a growing column, the latest time, or both, per table or query.

    A partition is ``{"protocol": "1", "table": …}`` (in old releases ``{"table": …}``) or ``{"query": "query"}``.
    """

    name: ClassVar[str] = "jdbc_source"
    classes: ClassVar[tuple[str, ...]] = (
        "io.aiven.connect.jdbc.JdbcSourceConnector",
        "io.confluent.connect.jdbc.JdbcSourceConnector",
    )
    offset_keys: ClassVar[Keys] = {}
    optional_keys: ClassVar[Keys] = {"incrementing": Signed, "timestamp": Signed, "timestamp_nanos": int}
    why_no_position: ClassVar[str] = "its offsets are values of a table's columns, not positions in a Kafka log"
    without_offset: ClassVar[str] = "it reads its tables again from the first row"

    def check_partition(self, partition: JsonMap, config: Config) -> Iterator[Finding]:
        """Require a table or the query."""
        keys = set(partition)
        if keys not in ({"protocol", "table"}, {"table"}, {"query"}):
            found = ", ".join(sorted(keys)) or "none"
            message = f"the partition must have the keys protocol and table, or the key query, but has {found}"
            yield error(Rule.WRONG_KEYS, f"{message}, so nothing would read it")
        elif not all(isinstance(value, str) for value in partition.values()):
            yield error(Rule.WRONG_TYPE, "all fields of the partition must be strings")

    def check_offset(self, offset: JsonMap) -> Iterator[Finding]:
        """Require a column's value, and nanoseconds within their second."""
        if not {"incrementing", "timestamp"} & set(offset):
            message = "the offset must have the key incrementing or timestamp; otherwise nothing would read it"
            yield error(Rule.WRONG_KEYS, message)
        nanos = offset.get("timestamp_nanos")
        if isinstance(nanos, int) and nanos >= _SECOND:
            yield error(Rule.WRONG_TYPE, f"offset field 'timestamp_nanos' must be less than a second, not {nanos}")


_SECOND = 1_000_000_000
