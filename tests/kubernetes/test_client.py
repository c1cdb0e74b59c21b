"""The client of Strimzi's resources against a real API server and a real worker, with the rights of our Role only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK
from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.strimzi.client import ConnectStrimzi
from airflow_provider_connect_offsets.exceptions import NotStopped
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from sandbox.kubernetes import Cluster
from tests.support.strimzi.scene import Strimzi

pytestmark = pytest.mark.kubernetes
HEARTBEATS = "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector"
PARTITION = {"sourceClusterAlias": "a", "targetClusterAlias": "b"}


@pytest.fixture
def airflow(strimzi: Strimzi) -> Iterator[Cluster]:
    cluster = Cluster(strimzi.kubeconfig)
    yield cluster
    cluster.close()


@pytest.fixture
def client(strimzi: Strimzi, airflow: Cluster) -> Iterator[ConnectStrimzi]:
    with ConnectStrimzi(airflow.client, namespace=strimzi.namespace, timeout=30) as opened:
        yield opened


@pytest.fixture
def heartbeats(strimzi: Strimzi) -> Iterator[str]:
    name = "heartbeats"
    config = {
        "source.cluster.alias": "a",
        "target.cluster.alias": "b",
        "source.cluster.bootstrap.servers": strimzi.bootstrap,
        "target.cluster.bootstrap.servers": strimzi.bootstrap,
        "heartbeats.topic.replication.factor": 1,
    }
    strimzi.connector(name, HEARTBEATS, config)
    yield name
    strimzi.delete("KafkaConnector", name)


def test_offsets_are_altered_listed_and_reset_while_it_is_stopped(
    strimzi: Strimzi, client: ConnectStrimzi, heartbeats: str
) -> None:
    client.require_offset_changes()
    assert client.status(heartbeats).state is State.RUNNING
    client.stop(heartbeats)
    assert client.await_status(heartbeats, lambda one: one.is_stopped, timeout=30, clock=SYSTEM_CLOCK).is_stopped
    client.write_offsets(heartbeats, Offsets.of([Entry.of(PARTITION, {"offset": 0})]))
    assert client.read_offsets(heartbeats).stored()
    client.reset_offsets(heartbeats)
    assert client.read_offsets(heartbeats).stored() == {}
    client.resume(heartbeats)
    client.await_status(heartbeats, lambda one: one.state is State.RUNNING, timeout=30, clock=SYSTEM_CLOCK)
    client.close()
    left = strimzi.read("KafkaConnector", heartbeats)
    assert set(left["spec"]) == {"class", "tasksMax", "config"}
    assert not left["metadata"].get("annotations")
    assert strimzi.resources.config_map(f"{heartbeats}-connect-offsets") is None


def test_a_running_connector_refuses_a_change(client: ConnectStrimzi, heartbeats: str) -> None:
    with pytest.raises(NotStopped, match="Strimzi can't alter the offsets of connector 'heartbeats'"):
        client.write_offsets(heartbeats, Offsets.of([Entry.of(PARTITION, {"offset": 0})]))
