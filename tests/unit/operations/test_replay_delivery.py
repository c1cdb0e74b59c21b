"""How a replay waits for its clone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo, ConnectorStatus, State
from airflow_provider_connect_offsets.exceptions import Unreachable
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.replay import Range
from airflow_provider_connect_offsets.operations.stages.replay_stages import DeliverInterval
from tests.support.rows.made_up_cluster import MadeUpCluster, MadeUpFlow, MadeUpLog


@dataclass
class Restarting:
    """The worker of a clone that has delivered everything; it does not answer the first requests."""

    flow: MadeUpFlow
    silent: int

    def info(self, connector: str) -> ConnectorInfo:
        self.silent -= 1
        if self.silent >= 0:
            raise Unreachable("no answer")
        return self.flow.info(connector)

    def status(self, _connector: str) -> ConnectorStatus:
        return ConnectorStatus(State.RUNNING, "worker")


def delivery(silent: int, *, timeout: float) -> DeliverInterval:
    """The delivery of two records, both replicated, by a worker that does not answer for so many requests."""
    source, target = (MadeUpCluster({"orders": [MadeUpLog.of("a", "b")]}) for _ in range(2))
    flow = MadeUpFlow(source, target, {("orders", 0): 1})
    control: Any = Restarting(flow, silent)
    clients: Clients = replace(flow.clients, control=control, logs=cast("Any", source), timeout=timeout)
    return DeliverInterval("mirror", clients, [Range("orders", 0, 0, 2)], limit=60)


def test_a_worker_that_restarts_is_waited_for() -> None:
    """What was delivered so far need not be delivered again."""
    delivery(3, timeout=10).do({})


def test_one_that_stays_away_ends_the_replay() -> None:
    """If the worker does not answer for as long as a state may take, the replay fails."""
    with pytest.raises(Unreachable, match="no answer"):
        delivery(1_000_000, timeout=0.1).do({})
