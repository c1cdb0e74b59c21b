"""The files of examples/strimzi: the API server takes each resource, and the DAG parses."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from sandbox.airflow import parse_dags
from sandbox.kubernetes import ApiServer, Release

EXAMPLES = Path(__file__).parents[2] / "examples" / "strimzi"
pytestmark = pytest.mark.kubernetes
APART = "examples"


def test_the_resources_of_each_version_are_valid(api_server: ApiServer, release: Release) -> None:
    """In a namespace that no operator watches, as they name clusters that are not there."""
    files = sorted(EXAMPLES.glob(f"kafka-*-{release.api_version}.yaml"))
    manifests = [one for path in files for one in yaml.safe_load_all(path.read_text())]
    assert sorted(one["kind"] for one in manifests) == ["KafkaConnect", "KafkaConnector", "KafkaMirrorMaker2"]
    for one in manifests:
        one["metadata"]["namespace"] = APART
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": APART}}

    api_server.admin.apply(namespace, *manifests)

    for one in manifests:
        stored = api_server.admin.read(one)
        assert stored is not None
        assert stored["spec"] == one["spec"]  # a field that the version does not know is pruned
    api_server.admin.delete(*manifests)


@pytest.mark.parametrize("release", [Release.V1], indirect=True)
def test_roles_and_bindings_are_valid(api_server: ApiServer) -> None:
    """As they are, for a namespace of their own."""
    files = ("role", "role-create-delete", "role-binding")
    manifests = [one for name in files for one in yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text())]
    for one in manifests:
        one["metadata"]["namespace"] = APART
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": APART}}

    api_server.admin.apply(namespace, *manifests)

    assert [api_server.admin.read(one) is not None for one in manifests] == [True] * len(manifests)


def test_the_dag_changes_a_connector_through_its_resource() -> None:
    """Its defaults are those of the example."""
    dag = parse_dags(EXAMPLES / "orders_sink_offsets.py")["orders_sink_offsets"]

    given = {name: dag.params[name] for name in ("connector", "control", "connect_conn_id")}
    assert given == {"connector": "orders-sink", "control": "strimzi", "connect_conn_id": "strimzi"}
