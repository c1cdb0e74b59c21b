"""Debezium's connector for PostgreSQL, whose offsets are positions in the write-ahead log (LSN).

Sources: ``PostgresOffsetContext``, ``WalPositionLocator`` and ``PostgresConnection.validateLogPosition`` (Debezium
3.4); "Streaming Replication Protocol" in PostgreSQL's manual; docs/seen.md for what a real one does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.document import JsonMap
from airflow_provider_connect_offsets.offsets.families.debezium import Debezium
from airflow_provider_connect_offsets.offsets.family import MAX_OFFSET, Config, Keys, plain_value

_LSN = re.compile(r"([0-9A-F]{1,8})/([0-9A-F]{1,8})", re.IGNORECASE | re.ASCII)


def parse_lsn(text: str) -> int:
    """Read an LSN as PostgreSQL writes it (``0/16B3748``) or as Debezium stores it (``23803720``).

    Raises:
        InvalidRequest: It is neither, or more than a connector can store.
    """
    match = _LSN.fullmatch(text)
    if match is None and not re.fullmatch(r"\d{1,19}", text, re.ASCII):
        raise InvalidRequest(f"{text!r} is not {DebeziumPostgres.source_position}")
    lsn = int(match[1], 16) << 32 | int(match[2], 16) if match else int(text)
    if not 0 < lsn <= MAX_OFFSET:
        raise InvalidRequest(
            f"{text!r} is not an LSN that a connector can store: it must be from 0/1 to {lsn_text(MAX_OFFSET)}"
        )
    return lsn


def lsn_text(lsn: int) -> str:
    """Write an LSN as PostgreSQL does: ``0/16B3748``."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def slot_of(config: Config) -> str | None:
    """Return the connector's replication slot; None if a config provider hides it."""
    return plain_value(config, "slot.name", "debezium")


@dataclass(frozen=True, slots=True)
class DebeziumPostgres(Debezium):
    """Debezium for PostgreSQL: resumes with transactions that commit at or after ``lsn``, if its slot still has them.

    An offset of ``lsn`` alone makes it deliver such transactions from their first change on. With ``lsn_commit`` and
    ``lsn_proc`` it first searches the log for the change that it delivered last (``WalPositionLocator``).
    """

    name: ClassVar[str] = "debezium_postgres"
    classes: ClassVar[tuple[str, ...]] = ("io.debezium.connector.postgresql.PostgresConnector",)
    offset_keys: ClassVar[Keys] = {"lsn": int}
    optional_keys: ClassVar[Keys] = {
        "lsn_proc": int,
        "lsn_commit": int,
        "messageType": str,
        "txId": int,
        "xmin": int,
        "ts_usec": int,
        "last_snapshot_record": bool,
        "snapshot_completed": bool,
    }
    why_no_position: ClassVar[str] = "its offsets are positions in PostgreSQL's write-ahead log, not in a Kafka log"
    without_offset: ClassVar[str] = (
        "snapshot.mode decides where the connector starts (initial: it reads all tables again; no_data: it goes on "
        "where its replication slot is)"
    )
    source_position: ClassVar[str] = "an LSN, like 0/16B3748 or 23803720"

    def offset_from(self, value: str) -> JsonMap:
        """Return the offset of an LSN; raises :class:`InvalidRequest`."""
        return {"lsn": parse_lsn(value)}
