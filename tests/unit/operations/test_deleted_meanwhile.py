"""A connector that is deleted: its worker may know its state for a moment longer than its offsets."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo, ConnectorStatus, State
from airflow_provider_connect_offsets.exceptions import Interfered, UnknownConnector
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.families import ConnectorType
from airflow_provider_connect_offsets.operations.stages.captured import Alteration
from airflow_provider_connect_offsets.operations.stages.offset_stages import AlterOffsets
from airflow_provider_connect_offsets.operations.stages.replay_stages import StopClone
from airflow_provider_connect_offsets.saga import Found

CAPTURED = Alteration(State.RUNNING, Offsets(), Offsets()).as_json()


class Worker:
    """A worker that still has the status of a deleted connector in its status topic."""

    def await_status(self, _connector: str, _until: object, **_how: object) -> ConnectorStatus:
        return ConnectorStatus(State.STOPPED, "worker")

    def read_offsets(self, connector: str) -> Offsets:
        raise UnknownConnector(f"Connector {connector} not found.")


@pytest.mark.parametrize(("optional", "found"), [(True, Found.DONE), (False, Found.FOREIGN)])
def test_offsets_of_a_deleted_connector(*, optional: bool, found: Found) -> None:
    """Of one that a later stage deletes they are done with; else someone has deleted it."""
    worker: Any = Worker()
    state = AlterOffsets("c", Clients(worker, worker), optional=optional).find(CAPTURED)

    assert state.found is found
    assert optional or isinstance(state.why, Interfered)


def test_a_clone_that_is_deleted_between_two_questions_is_stopped() -> None:
    """Its configuration was there, and its state is not any more."""

    class Forgetting:
        def info(self, connector: str) -> ConnectorInfo:
            return ConnectorInfo(connector, ConnectorType.SINK, {"name": connector})

        def await_status(self, connector: str, _until: object, **_how: object) -> ConnectorStatus:
            raise UnknownConnector(f"Connector {connector} not found.")

    worker: Any = Forgetting()
    assert StopClone("c", Clients(worker, worker), [], limit=1.0).find({}).found is Found.DONE
