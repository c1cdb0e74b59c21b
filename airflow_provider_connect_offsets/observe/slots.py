"""Reads the replication slot of a Debezium connector for PostgreSQL, and compares LSNs of a change with it.

A plan is checked against the slot as its snapshot observed it. A running connector confirms more and more of the log,
so the slot is read again when the connector is stopped, before anything is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
from airflow_provider_connect_offsets.exceptions import Drift, InvalidRequest
from airflow_provider_connect_offsets.observe.clients import Clients, Database
from airflow_provider_connect_offsets.offsets.document import parse_map
from airflow_provider_connect_offsets.offsets.families import DebeziumPostgres
from airflow_provider_connect_offsets.offsets.families.postgres import lsn_text, parse_lsn, slot_of
from airflow_provider_connect_offsets.offsets.family import whole_field
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan

# Returns one row in any case. A standby has no current position; the end of the log that it has replayed takes its
# place.
_STATEMENT = """\
SELECT slot.restart_lsn::text, slot.confirmed_flush_lsn::text, slot.wal_status, coalesce(slot.active, false),
  (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END)::text
FROM (SELECT 1) AS one LEFT JOIN pg_replication_slots AS slot ON slot.slot_name = %s
"""


@dataclass(frozen=True, slots=True)
class Slot:
    """A replication slot as observed; LSNs as numbers.

    Attributes:
        name: Its name.
        restart_lsn: From where PostgreSQL keeps its log for the slot; None: there is no such slot.
        confirmed_flush_lsn: Up to where its reader has received everything; None: there is no such slot.
        wal_status: Whether PostgreSQL still has that log (``lost``: no); None: there is no such slot.
        active: Whether a reader is connected.
        current_wal_lsn: End of the log.
    """

    name: str
    restart_lsn: int | None
    confirmed_flush_lsn: int | None
    wal_status: str | None
    active: bool
    current_wal_lsn: int

    def row(self, connector: str, observed_at: datetime) -> dict[str, Any]:
        """Return a row of the dataset ``replication_slots``."""
        return {
            "connector": connector,
            "slot": self.name,
            "restart_lsn": self.restart_lsn,
            "confirmed_flush_lsn": self.confirmed_flush_lsn,
            "current_wal_lsn": self.current_wal_lsn,
            "wal_status": self.wal_status,
            "observed_at": observed_at,
        }


def has_slot(connector: ConnectorInfo) -> bool:
    """Whether a connector reads a replication slot."""
    return connector.family.name == DebeziumPostgres.name


def observe(clients: Clients, connector: ConnectorInfo) -> Slot | None:
    """Read the slot of a connector; None if the connector reads no slot, or ``clients`` have no database.

    Raises:
        InvalidRequest: The slot's name can't be read from the configuration.
        StoreError: The database does not answer, or refuses.
    """
    if clients.database is None or not has_slot(connector):
        return None
    name = slot_of(connector.config)
    if name is None:
        raise InvalidRequest(
            f"{connector.name!r}: a config provider hides slot.name, so the replication slot can't be read. Leave "
            "database_conn_id empty, or set slot.name to the name itself."
        )
    return read(clients.database, name)


def read(database: Database, name: str) -> Slot:
    """Read a slot, which need not exist; raises :class:`StoreError`."""
    restart, confirmed, status, active, current = database.fetch_first(_STATEMENT, name)
    return Slot(name, _lsn(restart), _lsn(confirmed), status, active, parse_lsn(current))


def _lsn(text: str | None) -> int | None:
    return None if text is None else parse_lsn(text)


def refuse_unsent(clients: Clients, plan: OffsetPlan) -> None:
    """Raise :class:`Drift` if the slot of a STOPPED connector no longer delivers from the lowest LSN of ``plan`` on.

    The connector may have confirmed more of the log between plan and stop.

    Raises:
        Drift: The slot does not exist any more, or has confirmed more than that.
        StoreError: A system does not answer, or refuses.
    """
    if clients.database is None or plan.family.name != DebeziumPostgres.name:
        return
    changes = [parse_map(entry.offset) for entry in plan.changes() if entry.offset is not None]
    lsns = [lsn for offset in changes if (lsn := whole_field(offset, "lsn")) is not None]
    name = slot_of(clients.control.info(plan.connector).config)
    if not lsns or name is None:
        return
    database = clients.database
    # The connection of the stopped task may end, and confirm its last LSN, a moment after the connector is STOPPED.
    slot = clients.settle(lambda: read(database, name), until=lambda slot: not slot.active)
    if slot.confirmed_flush_lsn is None or slot.confirmed_flush_lsn > min(lsns):
        reached = (
            "does not exist any more"
            if slot.confirmed_flush_lsn is None
            else f"has meanwhile confirmed everything up to {lsn_text(slot.confirmed_flush_lsn)}"
        )
        raise Drift(
            f"Nothing was written: the replication slot {name!r} {reached}. So PostgreSQL would not send all changes "
            f"from LSN {lsn_text(min(lsns))} on, where {plan.connector!r} should resume. Plan again."
        )
