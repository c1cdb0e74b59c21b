"""A real API server with Strimzi's resources, and an operator between it and the shared Connect worker.

Where ``KUBECONFIG`` names a cluster, the same tests run there, with the operator that runs there. It needs the
namespace ``STRIMZI_NAMESPACE`` (default: kafka) with a KafkaConnect ``STRIMZI_CONNECT`` (default: connect) whose
connectors are managed by resources. Tests that break the operator, or look at its workers, are skipped there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes.client.exceptions import ApiException

from sandbox import Sandbox
from sandbox.kubernetes import GROUP, ApiServer, Cluster, Release
from tests.support.airflow.planted import planted_connection
from tests.support.strimzi.managed import KINDS, Managed, managed
from tests.support.strimzi.owned import Owned, connection_to
from tests.support.strimzi.reconciler import Reconciler
from tests.support.strimzi.resources import Resources
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.starting import CONNECT, NAMESPACE, api_server_of, started


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """Two real Kafka clusters, and a Connect worker with an address as the pods of a KafkaConnect have."""
    address = f"{CONNECT}-connect-0.{CONNECT}-connect.{NAMESPACE}.svc"
    with Sandbox(
        keep_logs=Path("build/sandbox-logs"), worker_properties={"rest.advertised.host.name": address}
    ) as running:
        yield running


@pytest.fixture(scope="session", params=[Release.V1, Release.V1BETA2])
def release(request: pytest.FixtureRequest) -> Release:
    """The release of Strimzi whose resources are served; ``parametrize`` it indirectly for others."""
    chosen: Release = request.param
    return chosen


@pytest.fixture(scope="session")
def api_server(release: Release) -> Iterator[ApiServer]:
    """An API server with Strimzi's resources, and a user who has no rights yet."""
    with api_server_of(release) as server:
        yield server


@pytest.fixture(scope="session")
def strimzi(release: Release, request: pytest.FixtureRequest) -> Iterator[Strimzi]:
    """A namespace with Strimzi; the worker of the shared sandbox belongs to its operator as long as it is there."""
    if os.environ.get("KUBECONFIG"):
        cluster = Cluster(Path(os.environ["KUBECONFIG"]))
        yield _elsewhere(cluster, release)
        cluster.close()
        return
    server: ApiServer = request.getfixturevalue("api_server")
    sandbox: Sandbox = request.getfixturevalue("sandbox")
    with started(server, release, sandbox) as strimzi:
        yield strimzi


@pytest.fixture(params=KINDS)
def connector(strimzi: Strimzi, request: pytest.FixtureRequest) -> Iterator[Managed]:
    """A running connector that is managed by a resource, of each kind."""
    with managed(strimzi, request.param) as made:
        yield made


@pytest.fixture
def reconciler(strimzi: Strimzi) -> Reconciler:
    """The operator, whose failures are switched on."""
    if strimzi.reconciler is None:
        pytest.skip("The real operator of KUBECONFIG can't be made to fail.")
    return strimzi.reconciler


@pytest.fixture
def owned(strimzi: Strimzi) -> Iterator[Owned]:
    """Creates and observes connectors of the shared worker; the operator acts on events only, as for two minutes."""
    if strimzi.connect is None:
        pytest.skip("The workers of KUBECONFIG are not those of the sandbox.")
    with strimzi.without_intervals():
        yield Owned(strimzi)


@pytest.fixture
def connections(sandbox: Sandbox, strimzi: Strimzi, monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow's default connections lead to the sandbox, and to the resources with the rights of our Role only."""
    for name, value in sandbox.to_connections().items():
        monkeypatch.setenv(name, planted_connection(value))
    kubernetes = {"conn_type": "kubernetes", "extra": {"kube_config_path": str(strimzi.kubeconfig)}}
    monkeypatch.setenv("AIRFLOW_CONN_KUBERNETES_DEFAULT", json.dumps(kubernetes))
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_CONNECT_DEFAULT", connection_to(strimzi, strimzi.connect_name))


def _elsewhere(cluster: Cluster, release: Release) -> Strimzi:
    namespace, name = os.environ.get("STRIMZI_NAMESPACE", NAMESPACE), os.environ.get("STRIMZI_CONNECT", CONNECT)
    resources = Resources(cluster.client, namespace=namespace, version=release.api_version)
    for version in ("v1", "v1beta2") if release is Release.BOTH else (release.api_version,):
        try:
            resources.in_version(version).list("KafkaConnect")
        except ApiException as error:
            pytest.skip(f"The cluster of KUBECONFIG does not serve {GROUP}/{version}: {error.reason}")
    connect = resources.get("KafkaConnect", name)
    if connect is None:
        pytest.fail(f"The namespace {namespace} of KUBECONFIG has no KafkaConnect {name}.")
    bootstrap = connect["spec"]["bootstrapServers"]
    return Strimzi(
        resources=resources,
        kubeconfig=cluster.kubeconfig,
        connect_name=name,
        bootstrap=bootstrap,
        source_bootstrap=bootstrap,
        connect=None,
        reconciler=None,
    )
