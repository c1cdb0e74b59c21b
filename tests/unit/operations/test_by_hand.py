"""What a message names as the next step works with the control: Strimzi sets back a state that came by REST."""

from __future__ import annotations

from typing import Any, cast

import pytest

from airflow_provider_connect_offsets.connect.group_offsets import GroupOffsets
from airflow_provider_connect_offsets.connect.protocols import (
    ConnectorControl,
    ConnectorRegistry,
    ConnectorStatus,
    State,
)
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.connect.storage.storage_control import StorageControl
from airflow_provider_connect_offsets.exceptions import NotApplied, StoreError, Unreachable, Unsupported
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.operations.existence.create_delete import _Created
from airflow_provider_connect_offsets.operations.stages.captured import STOP, Alteration, PriorState, describe_resume
from airflow_provider_connect_offsets.operations.stages.explained import ConnectorExplained
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.record import Progress, SagaRecord, StageRecord

NOBODY = cast("Any", None)
REST = ConnectRest(ConnectEndpoint(("http://127.0.0.1:1",)))


class Kubectl:
    """Says what a client of resources says; the real one has tests of its own."""

    def __init__(self, state: State = State.STOPPED) -> None:
        self.state = state

    def await_status(self, _connector: str, _until: object, **_how: object) -> ConnectorStatus:
        """Return the state that it was made with."""
        return ConnectorStatus(self.state, "")

    def by_hand(self, connector: str, state: State) -> str:
        """Name a patch."""
        return f"run kubectl patch kafkaconnector {connector} to {state}"

    def delete_by_hand(self, name: str) -> str:
        """Name a deletion."""
        return f"run kubectl delete kafkaconnector {name}"


KUBECTL = cast("Any", Kubectl())


@pytest.mark.parametrize(
    ("control", "state", "sentence"),
    [
        (REST, State.RUNNING, "send PUT /connectors/c/resume"),
        (REST, State.PAUSED, "send PUT /connectors/c/pause"),
        (REST, State.STOPPED, "send PUT /connectors/c/stop"),
        (StorageControl(NOBODY, NOBODY), State.RUNNING, "start the process"),
        (StorageControl(NOBODY, NOBODY), State.STOPPED, "stop the process"),
        (GroupOffsets(NOBODY), State.RUNNING, "start its applications"),
        (GroupOffsets(NOBODY), State.STOPPED, "stop its applications"),
    ],
)
def test_each_control_says_how_a_state_is_requested(control: ConnectorControl, state: State, sentence: str) -> None:
    """The advice is a part of a sentence; no server is called."""
    assert control.by_hand("c", state) == sentence


def _prior(state: State) -> Alteration:
    offsets = Offsets.of([Entry('{"partition":0}', '{"offset":7}')])
    return Alteration(state, offsets, offsets)


@pytest.mark.parametrize(
    ("origin", "control", "state", "sentence"),
    [
        (Origin.REST, REST, State.RUNNING, ", then send PUT /connectors/c/resume"),
        (Origin.REST, REST, State.STOPPED, ""),
        (Origin.STRIMZI, KUBECTL, State.PAUSED, ", then run kubectl patch kafkaconnector c to PAUSED"),
        # Offsets by REST, the state by the resource.
        (Origin.REST, KUBECTL, State.RUNNING, ", then run kubectl patch kafkaconnector c to RUNNING"),
        (Origin.FILE, NOBODY, State.RUNNING, ""),
        (Origin.GROUP, NOBODY, State.RUNNING, ""),
    ],
)
def test_prior_states_are_restored_by_the_control(origin: Origin, control: Any, state: State, sentence: str) -> None:
    """The advice comes after the offsets; it is empty if nothing has a state, or it was STOPPED."""
    assert describe_resume(Clients(NOBODY, control, origin=origin), "c", _prior(state)) == sentence


@pytest.mark.parametrize(
    ("control", "failure", "state", "begin", "sentence"),
    [
        (REST, Unreachable("Then."), State.RUNNING, "The state of 'c' is unknown: ", "send PUT /connectors/c/resume."),
        (REST, Unreachable("Then."), State.PAUSED, "The state of 'c' is unknown: ", "send PUT /connectors/c/pause."),
        (
            Kubectl(State.STOPPED),
            StoreError("Then."),
            State.RUNNING,
            "'c' stays STOPPED: ",
            "run kubectl patch kafkaconnector c to RUNNING.",
        ),
        (
            Kubectl(State.RUNNING),
            StoreError("Then."),
            State.PAUSED,
            "'c' is RUNNING: ",
            "run kubectl patch kafkaconnector c to PAUSED.",
        ),
    ],
)
def test_a_connector_whose_state_could_not_be_restored(
    control: Any, failure: StoreError, state: State, begin: str, sentence: str
) -> None:
    """Its state is said as it was observed; its prior state is the one to request."""
    captured = PriorState(state, 1).as_json()
    stop = StageRecord(STOP, "c", "here", {"optional": False}, progress=Progress.DONE, captured=captured)
    record = SagaRecord("c", Owner("dag/run", "apply", "host", 1), operation="the change", stages=(stop,))

    error = ConnectorExplained("c", control).explain_not_undone(NotApplied("First."), failure, record)

    assert str(error).startswith(begin)
    assert str(error).endswith(f"Then. Run the task again, or {sentence}")


@pytest.mark.parametrize(
    ("registry", "sentence"),
    [(REST, "send DELETE /connectors/c."), (KUBECTL, "run kubectl delete kafkaconnector c.")],
)
def test_a_connector_that_could_not_be_deleted_again(registry: ConnectorRegistry, sentence: str) -> None:
    """The error says how to delete it."""
    error = _Created("c", registry).explain_not_undone(NotApplied("First."), StoreError("Then."), cast("Any", None))

    assert str(error).endswith(f"If it is there, {sentence}")


@pytest.mark.parametrize("origin", sorted(Origin))
def test_what_creates_connectors(origin: Origin) -> None:
    """Neither a storage nor consumer groups can."""
    clients = Clients(NOBODY, KUBECTL, origin=origin)
    if origin in {Origin.REST, Origin.STRIMZI}:
        assert clients.registry() is KUBECTL
        return

    with pytest.raises(
        Unsupported,
        match=r"where only its offsets are stored.*control=rest\) or Strimzi's resources \(control=strimzi\)",
    ):
        clients.registry()
