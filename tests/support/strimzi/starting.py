"""A namespace with Strimzi on a real API server, whose operator owns the Connect worker of a sandbox."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox import Sandbox
from sandbox.kubernetes import GROUP, ApiServer, Release, crds, why_missing
from tests.support.strimzi.reconciler import Reconciler
from tests.support.strimzi.resources import USE_RESOURCES, Resources
from tests.support.strimzi.scene import Strimzi

EXAMPLES = Path(__file__).parents[3] / "examples" / "strimzi"
NAMESPACE, CONNECT, AIRFLOW = "kafka", "connect", "airflow"
#: A user without the rights of our Role.
NOBODY = "nobody"


@contextmanager
def api_server_of(release: Release) -> Iterator[ApiServer]:
    """Start an API server with Strimzi's resources and two users who have no rights yet.

    If none can run here, skip; in CI that is a failure.
    """
    if reason := why_missing():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    with ApiServer(users=[AIRFLOW, NOBODY]) as server:
        server.admin.install(crds(release))
        yield server


@contextmanager
def started(server: ApiServer, release: Release, sandbox: Sandbox) -> Iterator[Strimzi]:
    """Set up the namespace with our Roles for the user ``airflow``; at the end all connectors are deleted."""
    _set_up(server, release, sandbox.target.bootstrap)
    resources = Resources(server.admin.client, namespace=NAMESPACE, version=release.api_version)
    with Reconciler(
        server.admin.client, sandbox.connect, namespace=NAMESPACE, version=release.operator_version
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
