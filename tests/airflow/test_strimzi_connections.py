"""Connectors are reached by the resources of Strimzi: which ones, by which connections, and when that is refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK
from airflow_provider_connect_offsets.connect.protocols import ConnectorStatus, SharedStore, State
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.strimzi import client as strimzi_client
from airflow_provider_connect_offsets.connect.strimzi.client import ConnectStrimzi
from airflow_provider_connect_offsets.connect.strimzi.with_rest import StrimziWithRest
from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.hooks.clients import open_clients, open_connect_cluster
from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook
from airflow_provider_connect_offsets.hooks.snapshots import open_snapshot_clients
from airflow_provider_connect_offsets.hooks.strimzi import open_strimzi
from airflow_provider_connect_offsets.observe.clients import Origin
from airflow_provider_connect_offsets.parameters.connections import ConnectParams, Control
from airflow_provider_connect_offsets.parameters.snapshots import SnapshotConnectionParams
from tests.support.workers.scripted_worker import Reply, scripted_worker

SetConnection = Callable[..., None]
NEEDED = "control=strimzi needs the Kubernetes provider: pip install 'airflow-provider-connect-offsets[strimzi]'"
PROVIDER = "airflow.providers.cncf.kubernetes.hooks.kubernetes"
KUBERNETES = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "here", "cluster": {"server": "http://127.0.0.1:1"}}],
    "contexts": [{"name": "here", "context": {"cluster": "here"}}],
    "current-context": "here",
}


class Opened(ConnectStrimzi):
    """Records how it was opened, and needs no API server."""

    made: list[dict[str, Any]]

    def __init__(self, api: Any, **how: Any) -> None:
        super().__init__(api, **how)
        self.made.append({**how, "server": api.configuration.host})

    def greet(self) -> None:
        """As if it had answered."""

    @property
    def cluster_id(self) -> str:
        """As if the API server had allowed it."""
        return "scripted"

    def cluster_names(self) -> tuple[str, str]:
        """Return no other name."""
        return self.cluster_id, ""

    def describe(self) -> str:
        """As if the API server had allowed it."""
        return "KafkaConnect 'orders' in namespace 'kafka', served as v1; connectors: 2."

    def status(self, connector: str) -> ConnectorStatus:
        """Return RUNNING without tasks."""
        del connector
        return ConnectorStatus(State.RUNNING, "")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """How clients were opened."""
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(Opened, "made", found, raising=False)
    monkeypatch.setattr(strimzi_client, "ConnectStrimzi", Opened)
    return found


@pytest.fixture(autouse=True)
def _kubernetes(connection: SetConnection) -> None:
    """The Kubernetes connection names a kubeconfig."""
    connection("kubernetes_default", conn_type="kubernetes", extra={"kube_config": KUBERNETES})


def _open(connect_conn_id: str = "kafka_connect_default", kubernetes_conn_id: str = "kubernetes_default") -> None:
    open_strimzi(connect_conn_id, kubernetes_conn_id, timeout=1.0)


def test_the_connect_connection_names_the_resource(connection: SetConnection, made: list[dict[str, Any]]) -> None:
    """No host is needed, only the resource and its namespace."""
    connection("orders", extra={"strimzi_cluster": "orders", "strimzi_namespace": "kafka"})

    _open("orders")

    assert made == [{"namespace": "kafka", "cluster": "orders", "timeout": 1.0, "server": "http://127.0.0.1:1"}]


def test_without_the_default_connection_nothing_is_named(made: list[dict[str, Any]]) -> None:
    """The only resource of the namespace is used then."""
    _open()

    assert (made[0]["cluster"], made[0]["namespace"]) == ("", "default")


def test_the_kubernetes_connection_has_the_namespace(connection: SetConnection, made: list[dict[str, Any]]) -> None:
    """Unless the Connect connection names another one."""
    extra = {"kube_config": KUBERNETES, "namespace": "streams"}
    connection("other", conn_type="kubernetes", extra=extra)
    connection("orders", extra={"strimzi_namespace": "kafka"})

    _open(kubernetes_conn_id="other")
    _open("orders", "other")

    assert [one["namespace"] for one in made] == ["streams", "kafka"]


@pytest.mark.parametrize(
    ("connect", "kubernetes", "text"),
    [
        ("missing", "kubernetes_default", "There is no Airflow connection 'missing'. Add it"),
        ("kafka_connect_default", "missing", "There is no Airflow connection 'missing'. Add it"),
        ("kafka_connect_default", "of_connect", "'of_connect' is of type 'kafka_connect', but 'kubernetes' is needed"),
        ("kubernetes_default", "kubernetes_default", "is of type 'kubernetes', but 'kafka_connect' is needed"),
        ("misspelt", "kubernetes_default", "'misspelt': Its extra has unknown fields: strimzi_clustr"),
        ("of_connect", "kubernetes_default", "'of_connect': strimzi_cluster must be a string"),
        ("kafka_connect_default", "broken", "'broken' can't be used for Kubernetes: "),
    ],
)
def test_mistakes_are_named(
    connection: SetConnection, made: list[dict[str, Any]], connect: str, kubernetes: str, text: str
) -> None:
    """Each names the connection, and nothing was opened."""
    connection("of_connect", extra={"strimzi_cluster": 1})
    connection("misspelt", extra={"strimzi_clustr": "orders"})
    connection("broken", conn_type="kubernetes", extra={"kube_config_path": "/no/such/file"})

    with pytest.raises(InvalidInput, match=text):
        _open(connect, kubernetes)

    assert made == []


def test_without_the_kubernetes_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence says what to install; the same if Airflow's button tests the connection."""
    monkeypatch.setitem(sys.modules, PROVIDER, None)  # its import fails, as if it were not installed

    with pytest.raises(InvalidInput) as caught:
        _open()

    assert str(caught.value) == NEEDED


def test_all_else_works_without_the_kubernetes_provider(connection: SetConnection) -> None:
    """Neither DAGs nor hooks, operators and triggers import it, or the Kubernetes client, before it is needed."""
    connection(host="127.0.0.1")
    script = """
import importlib, pkgutil, sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "kubernetes" or name.startswith("airflow.providers.cncf.kubernetes.hooks"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refused())
import airflow_provider_connect_offsets as package
from airflow_provider_connect_offsets import dags
assert [getattr(dags, name)() for name in dags.__all__]
for room in ("hooks", "operators", "sensors", "triggers"):
    path = [f"{package.__path__[0]}/{room}"]
    for found in pkgutil.walk_packages(path, f"{package.__name__}.{room}."):
        importlib.import_module(found.name)

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.hooks.clients import open_connect_cluster
from airflow_provider_connect_offsets.parameters.connections import ConnectParams

with open_connect_cluster(ConnectParams()):
    print("rest is open")
for control in ("strimzi", "strimzi+rest"):
    try:
        with open_connect_cluster(ConnectParams(control=control)):
            raise AssertionError(control)
    except InvalidInput as error:
        print(error)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert ended.stdout.splitlines()[-3:] == ["rest is open", NEEDED, NEEDED], ended.stderr


def test_the_clients_of_a_change(made: list[dict[str, Any]]) -> None:
    """They wait long enough for the operator, and name the Kubernetes connection in messages."""
    with open_clients(ConnectParams(control="strimzi"), None) as connect:
        clients = connect

    assert (clients.origin, clients.cluster, clients.timeout) == (Origin.STRIMZI, "scripted", 300.0)
    assert clients.connections == {
        "connect_conn_id": "kafka_connect_default",
        "kubernetes_conn_id": "kubernetes_default",
    }
    assert made[0]["timeout"] == 300.0


def test_a_timeout_that_is_given_is_kept(made: list[dict[str, Any]]) -> None:
    """Even a shorter timeout than the default is kept."""
    with open_clients(ConnectParams(control="strimzi"), None, timeout=7.0) as connect:
        assert connect.timeout == 7.0

    assert made[0]["timeout"] == 7.0


def test_rest_waits_as_before(connection: SetConnection) -> None:
    """It names no Kubernetes connection."""
    with scripted_worker() as worker:
        worker.answers("GET /", Reply(200, {"version": "4.3.1", "commit": "c", "kafka_cluster_id": "K1"}))
        connection(host=worker.url)
        with open_clients(ConnectParams(), None) as connect:
            clients = connect

    assert (clients.origin, clients.cluster, clients.timeout) == (Origin.REST, "K1", 120.0)
    assert clients.connections == {"connect_conn_id": "kafka_connect_default"}


def test_state_by_the_resource_and_offsets_by_rest(connection: SetConnection, made: list[dict[str, Any]]) -> None:
    """Journals name the cluster as with ``control=rest``, so that both exclude each other."""
    with scripted_worker() as worker:
        worker.answers("GET /", Reply(200, {"version": "4.3.1", "commit": "c", "kafka_cluster_id": "K1"}))
        connection(host=worker.url, extra={"strimzi_cluster": "orders"})
        with open_clients(ConnectParams(control="strimzi+rest"), None) as connect:
            clients = connect

    assert isinstance(clients.control, StrimziWithRest)
    assert isinstance(clients.offsets, ConnectRest)
    assert (clients.origin, clients.cluster, clients.timeout) == (Origin.REST, "K1", 300.0)
    assert made[0]["cluster"] == "orders"


def test_both_need_the_host(made: list[dict[str, Any]]) -> None:
    """Without the connection there is no REST API, even if the namespace has only one resource."""
    with (
        pytest.raises(InvalidInput, match="There is no Airflow connection 'kafka_connect_default'"),
        open_clients(ConnectParams(control="strimzi+rest"), None),
    ):
        pytest.fail("opened without a REST API")

    assert len(made) == 1


@pytest.mark.parametrize("control", ["Strimzi", "kubernetes", ""])
def test_an_unknown_control_is_refused(control: str) -> None:
    """By the names of all that there are."""
    with (
        pytest.raises(InvalidInput, match=r"rest, storage, strimzi, strimzi\+rest, groups, not"),
        open_connect_cluster(ConnectParams(control=control)),
    ):
        pytest.fail("opened by an unknown control")


def test_each_thread_of_a_snapshot_has_its_own_client(made: list[dict[str, Any]]) -> None:
    """A client is not meant for several threads; another one reaches the same resource."""
    with open_snapshot_clients(SnapshotConnectionParams.parse(control=Control.STRIMZI)) as clients:
        store = clients.offsets
        assert isinstance(store, SharedStore)
        with store.another() as other:
            assert other is not store

    first, second = made
    assert second == {"clock": SYSTEM_CLOCK, **first}
    assert (clients.cluster, clients.origin) == ("scripted", Origin.STRIMZI)


@pytest.mark.usefixtures("made")
def test_testing_a_connection_without_a_host(connection: SetConnection) -> None:
    """The text says by which Kubernetes connection the resource was read."""
    connection("orders", extra={"strimzi_cluster": "orders"})

    works, text = KafkaConnectHook("orders").test_connection()

    assert works
    assert text == (
        "KafkaConnect 'orders' in namespace 'kafka', served as v1; connectors: 2. Read through Kubernetes connection "
        "'kubernetes_default'; a DAG may use another one."
    )


def test_testing_it_without_the_kubernetes_provider(connection: SetConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    """The API server may not have it installed."""
    connection("orders", extra={"strimzi_cluster": "orders"})
    monkeypatch.setitem(sys.modules, PROVIDER, None)

    works, text = KafkaConnectHook("orders").test_connection()

    assert not works
    assert "[strimzi]" in text
