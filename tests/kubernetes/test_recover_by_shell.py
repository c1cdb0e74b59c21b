"""``connect-offsets recover`` settles what a dead run has left of a connector that Strimzi's operator runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.connect.strimzi.with_rest import StrimziWithRest
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.operations.stages.connector_stages import StopConnector
from airflow_provider_connect_offsets.saga import Executor, Explanation, Journal, Owner
from airflow_provider_connect_offsets.workspace.layout import journal_root
from sandbox.kubernetes import Release
from tests.support.programs.shell import Shell, shell
from tests.support.strimzi.managed import Managed
from tests.support.strimzi.resources import annotations_of
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.strimzi_clients import opened, plain

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.parametrize("release", [Release.V1], indirect=True, scope="session"),
]
DEAD = Owner.here(run="dag/dead", task="apply")
CONNECTIONS = {"connect_conn_id": "strimzi", "kubernetes_conn_id": "kubernetes_default"}


@pytest.fixture(name="run")
def _run(strimzi: Strimzi, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """The command, with the kubeconfig of a user who has the rights of our Role."""
    monkeypatch.setenv("KUBECONFIG", str(strimzi.kubeconfig))
    return shell(monkeypatch, capsys)


def test_a_run_by_resources_alone_is_undone(strimzi: Strimzi, run: Shell, tmp_path: Path) -> None:
    """The namespace is that of the current context; over REST alone, it is refused, though that tells no resource."""
    with plain(strimzi) as made:
        assert strimzi.connect is not None
        before = made.read()["spec"]
        with opened(strimzi) as client:
            cluster, also = client.cluster_names()
            clients = Clients(client, client, timeout=30, cluster=cluster, also=also, connections=CONNECTIONS)
            _leave_stopped(made, replace(clients, origin=Origin.STRIMZI), tmp_path)
        asked = ("recover", made.connector, "--workspace", tmp_path.as_uri())

        refused = run(*asked, "--url", strimzi.connect.url)
        done = run(*asked, "--strimzi-cluster", strimzi.connect_name)

        assert refused.code == 1
        assert f"Strimzi's operator runs '{made.connector}'" in refused.err
        assert "--strimzi-cluster" in refused.err
        assert (done.code, "the connector is RUNNING again" in done.err) == (0, True), done.err
        _is_as_before(made, before)


def test_a_run_that_also_used_rest_is_undone_by_both(strimzi: Strimzi, run: Shell, tmp_path: Path) -> None:
    """Over REST alone, Strimzi's operator would stop the connector again: that is refused."""
    with plain(strimzi) as made:
        assert strimzi.connect is not None
        before = made.read()["spec"]
        with opened(strimzi) as client, ConnectRest(ConnectEndpoint((strimzi.connect.url,)), timeout=30) as rest:
            both = StrimziWithRest(client, rest)
            cluster = rest.version().kafka_cluster_id
            clients = Clients(rest, both, timeout=30, cluster=cluster, also=client.cluster_id, connections=CONNECTIONS)
            _leave_stopped(made, clients, tmp_path)
        asked = ("recover", made.connector, "--workspace", tmp_path.as_uri(), "--url", strimzi.connect.url)

        refused = run(*asked)
        done = run(*asked, "--strimzi-cluster", strimzi.connect_name, "--namespace", strimzi.namespace)

        assert refused.code == 1
        assert f"Strimzi's operator runs '{made.connector}'" in refused.err
        assert "--strimzi-cluster" in refused.err
        assert (done.code, "the connector is RUNNING again" in done.err) == (0, True), done.err
        _is_as_before(made, before)


def test_without_a_kubeconfig_the_command_says_so(run: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))

    ended = run("recover", "orders", "--workspace", tmp_path.as_uri(), "--strimzi-cluster", "connect")

    assert (ended.code, "No Kubernetes cluster can be found with KUBECONFIG" in ended.err) == (2, True)


def _leave_stopped(made: Managed, clients: Clients, folder: Path) -> None:
    """What a change leaves whose process dies after the stop."""
    root = journal_root(folder.as_uri())
    journal = Journal(root, cluster=clients.cluster, resource=made.connector, also=clients.also)
    stage = StopConnector(made.connector, clients)
    with journal.claim(DEAD) as entry:
        entry.begin(DEAD, operation="the change of offsets", key="change", stages=[stage])
        Executor(entry, [stage], Explanation()).make(stage)
    made.in_state("STOPPED")


def _is_as_before(made: Managed, before: object) -> None:
    made.in_state("RUNNING")
    assert made.read()["spec"] == before
    assert not annotations_of(made.read())
