"""Clients of Strimzi's resources for tests, with the rights of our Role only, and connectors without ConfigMaps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK
from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.strimzi.client import ConnectStrimzi
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from sandbox.kubernetes import Cluster
from tests.support.strimzi.managed import Managed, managed
from tests.support.strimzi.resources import annotations_of
from tests.support.strimzi.scene import Strimzi


@contextmanager
def opened(strimzi: Strimzi, managed: Managed | None = None, *, timeout: float = 30.0) -> Iterator[ConnectStrimzi]:
    """Open a client of the KafkaConnect, or of the KafkaMirrorMaker2 of a connector."""
    is_flow = managed is not None and managed.kind == "KafkaMirrorMaker2"
    cluster = f"KafkaMirrorMaker2/{managed.name}" if managed is not None and is_flow else strimzi.connect_name
    user = Cluster(strimzi.kubeconfig)
    try:
        with ConnectStrimzi(user.client, namespace=strimzi.namespace, cluster=cluster, timeout=timeout) as client:
            yield client
    finally:
        user.close()


@contextmanager
def plain(strimzi: Strimzi, kind: str = "KafkaConnector") -> Iterator[Managed]:
    """A running connector whose resource names no ConfigMap."""
    with managed(strimzi, kind) as made:
        made.change({"listOffsets": None, "alterOffsets": None})
        strimzi.observed(made.kind, made.name)
        yield made


def reach(client: ConnectStrimzi, connector: str, state: State) -> None:
    """Request a state and wait until it is observed."""
    request = {State.RUNNING: client.resume, State.PAUSED: client.pause, State.STOPPED: client.stop}
    request[state](connector)
    status = client.await_status(connector, lambda one: one.state is state, timeout=30, clock=SYSTEM_CLOCK)
    assert status.state is state


def at(managed: Managed, offset: int) -> Offsets:
    """One offset of a connector."""
    entry = managed.offset(offset)
    return Offsets.of([Entry.of(entry["partition"], entry["offset"])])


def change_offsets(made: Managed) -> None:
    """Change offsets through our client: they are stored, the connector runs again, and nothing is left."""
    strimzi, before = made.strimzi, made.read()
    with opened(strimzi, made) as client:
        client.read_offsets(made.connector)
        reach(client, made.connector, State.STOPPED)
        client.write_offsets(made.connector, at(made, 41))
        assert client.read_offsets(made.connector) == at(made, 41)
        reach(client, made.connector, State.RUNNING)
    after = made.read()
    assert after["spec"] == before["spec"]
    assert annotations_of(after) == annotations_of(before)
    left = [strimzi.resources.config_map(f"{made.name}-connect-offsets{end}") for end in ("", "-new")]
    assert left == [None, None]
