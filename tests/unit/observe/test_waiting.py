"""How waits end if tasks have failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from airflow_provider_connect_offsets.connect.protocols import ConnectorControl, ConnectorStatus, State, TaskStatus
from airflow_provider_connect_offsets.exceptions import NotRunning
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.lag import observe_lag, observe_replicated
from airflow_provider_connect_offsets.observe.positions import observe_positions
from airflow_provider_connect_offsets.observe.waiting import Observation, observe_state
from airflow_provider_connect_offsets.offsets.requests.place import Awaited, AwaitedLag
from tests.support.rows.made_up_cluster import MadeUpCluster, MadeUpFlow, MadeUpLog


class Failed:
    """A connector whose only task has failed."""

    def status(self, _connector: str) -> ConnectorStatus:
        return ConnectorStatus(State.RUNNING, "worker", (TaskStatus(0, State.FAILED, "worker", "Boom\n at x"),))


CONTROL = cast("ConnectorControl", cast("Any", Failed()))


@pytest.mark.parametrize("state", ["RUNNING", "PAUSED"])
def test_a_failed_task_ends_the_waiting(state: str) -> None:
    """Waiting longer would not repair it."""
    with pytest.raises(NotRunning, match=f"'flow' should become {state}, but it has failed: Boom"):
        observe_state(CONTROL, "flow", state)


def test_a_failed_connector_may_still_be_stopped() -> None:
    """Its task exists until the stop was carried out; FAILED itself is reached."""
    assert not observe_state(CONTROL, "flow", "STOPPED").reached
    assert observe_state(CONTROL, "flow", "FAILED").reached


@pytest.mark.parametrize(
    "observe",
    [
        lambda clients: observe_lag(clients, "mirror", AwaitedLag()),
        lambda clients: observe_positions(clients, "mirror", Awaited()),
    ],
    ids=["lag", "positions"],
)
def test_a_failed_task_ends_the_waiting_for_records(observe: Callable[[Clients], Observation]) -> None:
    """It reads no more of them; once all are read, it does not matter that it has failed."""
    source, target = (MadeUpCluster({"orders": [MadeUpLog.of("a", "b")]}) for _ in range(2))

    def clients_at(stored: int) -> Clients:
        flow = MadeUpFlow(source, target, {("orders", 0): stored}, {"topics": "orders"})
        control = cast("ConnectorControl", cast("Any", SimpleNamespace(info=flow.info, status=Failed().status)))
        return replace(flow.clients, control=control, logs=cast("Any", source))

    assert observe(clients_at(1)).reached
    with pytest.raises(NotRunning, match=r"'mirror' \(RUNNING\): orders-0 .* It has failed: Boom"):
        observe(clients_at(0))


@pytest.mark.parametrize(
    ("reset", "lag"),
    [("earliest", 2), ("latest", None), ("none", None), ("by_duration:PT1H", None), ("${env:R}", None)],
)
def test_without_an_offset_the_lag_is_known_only_from_the_log_start(reset: str, lag: int | None) -> None:
    """With any other auto.offset.reset nobody knows yet where the connector begins."""
    source, target = (MadeUpCluster({"orders": [MadeUpLog.of("a", "b")]}) for _ in range(2))
    flow = MadeUpFlow(source, target, {}, {"topics": "orders", "source.consumer.auto.offset.reset": reset})

    observed = observe_replicated(replace(flow.clients, logs=cast("Any", source)), flow.info("mirror"))

    assert [one.lag for one in observed.values()] == [lag]
