"""How a wait for a state ends if tasks have failed."""

from __future__ import annotations

from typing import Any, cast

import pytest

from airflow_provider_connect_offsets.connect.protocols import ConnectorControl, ConnectorStatus, State, TaskStatus
from airflow_provider_connect_offsets.exceptions import NotRunning
from airflow_provider_connect_offsets.observe.waiting import observe_state


class Failed:
    """A connector whose only task has failed."""

    def status(self, _connector: str) -> ConnectorStatus:
        return ConnectorStatus(State.RUNNING, "worker", (TaskStatus(0, State.FAILED, "worker", "Boom\n at x"),))


CONTROL = cast("ConnectorControl", cast("Any", Failed()))


@pytest.mark.parametrize("state", ["RUNNING", "PAUSED"])
def test_a_failed_task_ends_the_waiting(state: str) -> None:
    """Waiting longer would not repair it."""
    with pytest.raises(NotRunning, match=f"'flow' has failed while {state} is awaited: Boom"):
        observe_state(CONTROL, "flow", state)


def test_a_failed_connector_may_still_be_stopped() -> None:
    """Its task exists until the stop was carried out; FAILED itself is reached."""
    assert not observe_state(CONTROL, "flow", "STOPPED").reached
    assert observe_state(CONTROL, "flow", "FAILED").reached
