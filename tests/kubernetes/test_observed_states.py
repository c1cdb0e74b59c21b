"""The operator's observation of a state may be old, or contradict what the resource requests."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK
from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import NotReconciled, NotStopped
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.operations.stages.captured import PriorState
from sandbox.kubernetes import Release
from tests.support.strimzi.managed import Managed
from tests.support.strimzi.reconciler import Reconciler
from tests.support.strimzi.resources import OFFSETS
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.strimzi_clients import at, opened, reach

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.parametrize("release", [Release.V1], indirect=True, scope="session"),
]


@pytest.fixture
def outdated(strimzi: Strimzi, reconciler: Reconciler, connector: Managed) -> Iterator[Managed]:
    """A running connector of which the status says STOPPED; the operator does not look.

    The real one writes that a moment after it has resumed a connector, and looks again up to two minutes later.
    """
    with strimzi.without_intervals():
        strimzi.settled()
        reconciler.away()
        resource = connector.read()
        for one in (resource["status"].get("connectorStatus"), *resource["status"].get("connectors", [])):
            if one is not None:
                one |= {"connector": {**one["connector"], "state": "STOPPED"}, "tasks": []}
        strimzi.resources.put_status(connector.kind, resource)
        yield connector
        reconciler.back()


def test_a_running_connector_with_an_outdated_status_is_no_stopped_one(
    strimzi: Strimzi, reconciler: Reconciler, outdated: Managed
) -> None:
    """Its prior state decides what it is after a change."""
    with opened(strimzi, outdated) as client:
        back = threading.Timer(1.0, reconciler.back)
        back.start()
        prior = PriorState.observe(Clients(client, client, origin=Origin.STRIMZI, timeout=30), outdated.connector)
        back.join()
        assert prior.state is State.RUNNING


def test_a_state_that_the_operator_does_not_bring_about_is_named(strimzi: Strimzi, outdated: Managed) -> None:
    """Which state the connector is to have after a change, nobody can tell."""
    with opened(strimzi, outdated) as client:
        clients = Clients(client, client, origin=Origin.STRIMZI, timeout=2)
        with pytest.raises(NotReconciled, match=rf"'{outdated.connector}' has been STOPPED for 2 s, .* RUNNING"):
            PriorState.observe(clients, outdated.connector)


def test_a_state_that_was_set_back_is_named_where_offsets_are_refused(strimzi: Strimzi, connector: Managed) -> None:
    """As a GitOps tool does within seconds; Connect only says that the connector is not STOPPED."""
    with opened(strimzi, connector) as client:
        reach(client, connector.connector, State.STOPPED)
        connector.to_state("running")
        with pytest.raises(
            NotStopped, match=r"not in STOPPED state\. The resource now requests RUNNING: someone else has changed"
        ):
            client.write_offsets(connector.connector, at(connector, 41))


def test_an_annotation_that_stops_the_operator_is_named_with_what_removes_it(
    strimzi: Strimzi, reconciler: Reconciler, connector: Managed
) -> None:
    """The real one raises an uncaught exception for an empty value, whatever else the resource requests."""
    with opened(strimzi, connector) as client:
        reconciler.away()
        connector.change({"state": "running"}, annotations={OFFSETS: ""})
        try:
            with pytest.raises(NotReconciled) as said:
                client.await_status(connector.connector, lambda _: True, timeout=2, clock=SYSTEM_CLOCK)
        finally:
            strimzi.resources.annotate(connector.kind, connector.name, {OFFSETS: None})
            reconciler.back()
    assert f"has annotations that someone else has set ({OFFSETS}: '')" in str(said.value)
    assert f"kubectl annotate -n {strimzi.namespace} {connector.kind.lower()}s {connector.name} {OFFSETS}-" in str(
        said.value
    )
