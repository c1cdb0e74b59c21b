"""Replication slots: how one is read, and when a change is refused at the stop."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from airflow_provider_connect_offsets.connect.protocols import ConnectorControl, ConnectorInfo, OffsetStore
from airflow_provider_connect_offsets.exceptions import Drift, InvalidRequest
from airflow_provider_connect_offsets.observe import slots
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.families import ConnectorType
from airflow_provider_connect_offsets.offsets.plan import Action, OffsetPlan, PlanRow
from airflow_provider_connect_offsets.offsets.requests.request import Request

CLASS = "io.debezium.connector.postgresql.PostgresConnector"
ORDERS = ConnectorInfo("orders", ConnectorType.SOURCE, {"connector.class": CLASS, "slot.name": "orders"})
REQUEST = Request.parse(connector="orders", to="offset", value="0/400", now=datetime(2026, 1, 31, tzinfo=UTC))
Row = tuple[Any, ...]
IN_USE: Row = ("0/200", "0/300", "reserved", True, "0/900")
LEFT: Row = ("0/200", "0/300", "reserved", False, "0/900")
ADVANCED: Row = ("0/200", "0/401", "reserved", False, "0/900")
GONE: Row = (None, None, None, False, "0/900")


class Answers:
    """A database whose answers are given, and a worker that knows one connector."""

    def __init__(self, *rows: Row, info: ConnectorInfo = ORDERS) -> None:
        self._rows: Iterator[Row] = iter(rows)
        self._info = info
        self.requested: list[tuple[str, ...]] = []

    def fetch_first(self, statement: str, *values: str) -> Row:
        assert statement.count("%s") == len(values)
        self.requested.append(values)
        return next(self._rows)

    def info(self, connector: str) -> ConnectorInfo:
        assert connector == self._info.name
        return self._info

    @property
    def clients(self) -> Clients:
        return Clients(cast("OffsetStore", self), cast("ConnectorControl", self), database=self, timeout=5)


def plan(after: str | None = '{"lsn":1024}', family: str = "debezium_postgres") -> OffsetPlan:
    """A plan of one row."""
    action = Action.CLEAR if after is None else Action.SET
    row = PlanRow("orders", family, '{"server":"db"}', None, None, '{"lsn":1280}', None, after, None, action, "")
    return OffsetPlan.of(REQUEST, [row])


def test_a_slot_is_read_by_its_configured_name() -> None:
    """LSNs become numbers; one that does not exist has none, but the end of the log is known."""
    answers = Answers(IN_USE, GONE)

    first, second = slots.observe(answers.clients, ORDERS), slots.observe(answers.clients, ORDERS)

    assert first == slots.Slot("orders", 0x200, 0x300, "reserved", active=True, current_wal_lsn=0x900)
    assert second == slots.Slot("orders", None, None, None, active=False, current_wal_lsn=0x900)
    assert answers.requested == [("orders",), ("orders",)]


def test_a_name_that_only_the_worker_knows_is_refused() -> None:
    """Any other slot's LSNs would be wrong."""
    hidden = ConnectorInfo("orders", ConnectorType.SOURCE, {"connector.class": CLASS, "slot.name": "${env:SLOT}"})

    with pytest.raises(InvalidRequest, match=r"'orders': a config provider hides slot\.name"):
        slots.observe(Answers(info=hidden).clients, hidden)


def test_connectors_without_a_slot_ask_nothing() -> None:
    """A sink, and a plan that removes the offset."""
    answers = Answers()

    assert slots.observe(answers.clients, ConnectorInfo("s", ConnectorType.SINK, {"connector.class": CLASS})) is None
    slots.refuse_unsent(answers.clients, plan(after=None))
    slots.refuse_unsent(answers.clients, plan(family="generic_source"))
    assert answers.requested == []


def test_the_slot_is_compared_when_its_reader_has_left() -> None:
    """While the stopped task's connection ends, the slot may still confirm its last LSN."""
    kept = Answers(IN_USE, IN_USE, LEFT)
    slots.refuse_unsent(kept.clients, plan())
    assert len(kept.requested) == 3

    with pytest.raises(Drift, match=r"'orders' has meanwhile confirmed everything up to 0/401\. .* LSN 0/400 on"):
        slots.refuse_unsent(Answers(IN_USE, ADVANCED).clients, plan())


def test_a_slot_that_is_gone_is_drift() -> None:
    """A new one would begin at the end of the log."""
    with pytest.raises(Drift, match="slot 'orders' does not exist any more"):
        slots.refuse_unsent(Answers(GONE).clients, plan())
