"""A real API server with Strimzi's resources, and an operator between it and the shared Connect worker.

Where ``KUBECONFIG`` names a cluster, the same tests run there, with the operator that runs there. It needs the
namespace ``STRIMZI_NAMESPACE`` (default: kafka) with a KafkaConnect ``STRIMZI_CONNECT`` (default: connect) whose
connectors are managed by resources. Tests that break the operator, or look at its workers, are skipped there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes.client.exceptions import ApiException

from sandbox import Sandbox
from sandbox.kubernetes import GROUP, ApiServer, Cluster, Release, crds, missing
from tests.support.strimzi.managed import KINDS, Managed, managed
from tests.support.strimzi.reconciler import Reconciler
from tests.support.strimzi.resources import USE_RESOURCES, Resources
from tests.support.strimzi.scene import Strimzi

EXAMPLES = Path(__file__).parents[2] / "examples" / "strimzi"
NAMESPACE, CONNECT, AIRFLOW = "kafka", "connect", "airflow"


@pytest.fixture(scope="session", params=[Release.V1, Release.V1BETA2])
def release(request: pytest.FixtureRequest) -> Release:
    """The release of Strimzi whose resources are served; ``parametrize`` it indirectly for others."""
    chosen: Release = request.param
    return chosen


@pytest.fixture(scope="session")
def api_server(release: Release) -> Iterator[ApiServer]:
    """An API server with Strimzi's resources, and a user who has no rights yet."""
    if reason := missing():
        pytest.skip(reason)
    with ApiServer(users=[AIRFLOW]) as server:
        server.admin.install(crds(release))
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
    _set_up(server, release, sandbox.target.bootstrap)
    resources = Resources(server.admin.client, namespace=NAMESPACE, version=release.api_version)
    with Reconciler(
        server.admin.client, sandbox.connect, namespace=NAMESPACE, version=release.api_version
    ) as reconciler:
        yield Strimzi(
            resources=resources,
            kubeconfig=server.kubeconfig(AIRFLOW, namespace=NAMESPACE),
            connect_name=CONNECT,
            bootstrap=sandbox.target.bootstrap,
            source_bootstrap=sandbox.source.bootstrap,
            connect=sandbox.connect,
            reconciler=reconciler,
        )
    for name in sandbox.connect.connectors():
        sandbox.connect.delete(name)


@pytest.fixture(params=KINDS)
def connector(strimzi: Strimzi, request: pytest.FixtureRequest) -> Iterator[Managed]:
    """A running connector that is managed by a resource, of each kind."""
    with managed(strimzi, request.param) as made:
        yield made


@pytest.fixture
def reconciler(strimzi: Strimzi) -> Reconciler:
    """The operator, whose failures are switched on."""
    if strimzi.reconciler is None:
        pytest.skip("The real operator of KUBECONFIG can't be told to fail.")
    return strimzi.reconciler


def kafka_connect(version: str, bootstrap: str) -> dict[str, Any]:
    """A KafkaConnect whose connectors are managed by resources."""
    topics = {f"{kind}StorageTopic": f"connect-{kind}" for kind in ("config", "status", "offset")}
    own = {"groupId": CONNECT, **topics} if version == "v1" else {}
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "KafkaConnect",
        "metadata": {"name": CONNECT, "namespace": NAMESPACE, "annotations": {USE_RESOURCES: "true"}},
        "spec": {"replicas": 1, "bootstrapServers": bootstrap, **own},
    }


def _set_up(server: ApiServer, release: Release, bootstrap: str) -> None:
    server.admin.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        kafka_connect(release.api_version, bootstrap),
    )
    for name in ("role", "role-create-delete"):
        role = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
        binding = yaml.safe_load((EXAMPLES / "role-binding.yaml").read_text())
        binding["metadata"]["name"] = binding["roleRef"]["name"] = role["metadata"]["name"]
        binding["subjects"] = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": AIRFLOW}]
        server.admin.apply(role, binding)


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
