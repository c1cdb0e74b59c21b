"""ConfigMaps that Strimzi's operator creates, and answers of its workers that pass, on the real API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK
from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.strimzi.client import ConnectStrimzi
from sandbox import Connect, RestRefusal
from sandbox.kubernetes import Cluster, Release
from tests.support.strimzi.owned import Owned
from tests.support.strimzi.reconciler import Reconciler
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.strimzi_clients import at, opened, plain, reach

pytestmark = [pytest.mark.kubernetes, pytest.mark.parametrize("release", [Release.V1], indirect=True)]
NAME = "listed-heartbeats"


@pytest.fixture
def client(strimzi: Strimzi) -> Iterator[ConnectStrimzi]:
    airflow = Cluster(strimzi.kubeconfig)
    with ConnectStrimzi(airflow.client, namespace=strimzi.namespace, timeout=30) as user:
        yield user
    airflow.close()


@pytest.fixture
def heartbeats(strimzi: Strimzi, owned: Owned) -> Iterator[str]:
    config = {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector",
        "source.cluster.alias": "a",
        "target.cluster.alias": "b",
        "source.cluster.bootstrap.servers": strimzi.bootstrap,
        "target.cluster.bootstrap.servers": strimzi.bootstrap,
        "heartbeats.topic.replication.factor": "1",
    }
    owned.create(NAME, config)
    yield NAME
    owned.delete(NAME)


def test_offsets_are_listed_twice_and_nothing_is_left(owned: Owned, client: ConnectStrimzi, heartbeats: str) -> None:
    """Without a ConfigMap, Strimzi would create one without our label."""
    with owned.kept(heartbeats):
        first = client.read_offsets(heartbeats)
        assert client.read_offsets(heartbeats) == first
        client.close()


def test_a_config_map_that_the_operator_has_created_again_is_used_and_deleted(
    strimzi: Strimzi, owned: Owned, client: ConnectStrimzi, reconciler: Reconciler, heartbeats: str
) -> None:
    """It was deleted under way, so it is there without our label."""
    own = f"{heartbeats}-connect-offsets"
    with owned.kept(heartbeats):
        with reconciler.before_operation(lambda _name, _operation: strimzi.resources.delete_config_map(own)):
            first = client.read_offsets(heartbeats)
        created = strimzi.resources.config_map(own)
        assert created is not None
        assert "airflow-provider-connect-offsets/temporary" not in created["metadata"]["labels"]
        assert client.read_offsets(heartbeats) == first
        client.close()


def test_what_the_first_answer_of_a_worker_lacks_is_in_the_second(
    strimzi: Strimzi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker lists the partitions of a source that it knows, and only then reads its offsets topic to the end."""
    with plain(strimzi) as made, opened(strimzi, made) as client:
        reach(client, made.connector, State.STOPPED)
        client.write_offsets(made.connector, at(made, 41))
        path, answer = f"/connectors/{made.connector}/offsets", Connect.call
        lacking: list[dict[str, list[object]]] = [{"offsets": []}]

        def call(self: Connect, method: str, asked: str, *arguments: Any, **named: Any) -> Any:
            if (method, asked) == ("GET", path) and lacking:
                return lacking.pop()
            return answer(self, method, asked, *arguments, **named)

        monkeypatch.setattr(Connect, "call", call)
        assert client.read_offsets(made.connector) == at(made, 41)
        assert not lacking


def test_a_worker_that_is_not_ready_is_waited_for(
    strimzi: Strimzi, client: ConnectStrimzi, heartbeats: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator is NotReady at first, as nobody answers it; it tries again once it is made to look."""
    strimzi.in_state("KafkaConnector", heartbeats, heartbeats, "RUNNING")
    failures = [requests.ConnectionError(), *(RestRefusal("PUT", status, "") for status in (500, 409))]
    answer = Connect.call

    def call(self: Connect, method: str, path: str, *arguments: Any, **named: Any) -> Any:
        if path.endswith(f"{heartbeats}/config") and failures:
            raise failures.pop(0)
        return answer(self, method, path, *arguments, **named)

    monkeypatch.setattr(Connect, "call", call)
    client.stop(heartbeats)

    status = client.await_status(heartbeats, lambda one: one.is_stopped, timeout=30, clock=SYSTEM_CLOCK)
    assert (status.state, failures) == (State.STOPPED, [])
