"""Why the operator would do nothing: each named at once, with nothing changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from airflow_provider_connect_offsets.connect.strimzi.client import ConnectStrimzi
from airflow_provider_connect_offsets.exceptions import AccessDenied, InvalidInput, NotReconciled, UnknownConnector
from sandbox.kubernetes import ApiServer, Cluster, Release
from tests.support.strimzi.managed import Managed
from tests.support.strimzi.resources import LABEL, OFFSETS, PAUSED, USE_RESOURCES, annotations_of
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.strimzi_clients import opened, plain

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.parametrize("release", [Release.V1], indirect=True, scope="session"),
]


@contextmanager
def _paused(strimzi: Strimzi, made: Managed) -> Iterator[None]:
    strimzi.resources.annotate(made.kind, made.name, {PAUSED: "true"})
    yield
    strimzi.resources.annotate(made.kind, made.name, {PAUSED: None})


@contextmanager
def _labelled(strimzi: Strimzi, made: Managed, label: str | None) -> Iterator[None]:
    strimzi.resources.merge(made.kind, made.name, {"metadata": {"labels": {LABEL: label}}})
    yield
    strimzi.resources.merge(made.kind, made.name, {"metadata": {"labels": {LABEL: strimzi.connect_name}}})


@contextmanager
def _without_label(strimzi: Strimzi, made: Managed) -> Iterator[None]:
    with _labelled(strimzi, made, None):
        yield


@contextmanager
def _unmanaged(strimzi: Strimzi, made: Managed) -> Iterator[None]:
    del made
    strimzi.resources.annotate("KafkaConnect", strimzi.connect_name, {USE_RESOURCES: None})
    yield
    strimzi.resources.annotate("KafkaConnect", strimzi.connect_name, {USE_RESOURCES: "true"})


@contextmanager
def _without_workers(strimzi: Strimzi, made: Managed) -> Iterator[None]:
    kind, name = ("KafkaConnect", strimzi.connect_name) if made.kind == "KafkaConnector" else (made.kind, made.name)
    strimzi.resources.merge(kind, name, {"spec": {"replicas": 0}})
    yield
    strimzi.resources.merge(kind, name, {"spec": {"replicas": 1}})


@pytest.mark.parametrize(
    ("kind", "spoil", "sentence"),
    [
        ("KafkaConnector", _paused, "is paused by its annotation strimzi.io/pause-reconciliation"),
        ("KafkaMirrorMaker2", _paused, "is paused by its annotation strimzi.io/pause-reconciliation"),
        ("KafkaConnector", _without_label, "has no label strimzi.io/cluster, so no KafkaConnect runs it"),
        ("KafkaConnector", _unmanaged, 'has no annotation strimzi.io/use-connector-resources: "true"'),
        ("KafkaConnector", _without_workers, "has 0 replicas, so no worker runs its connectors"),
        ("KafkaMirrorMaker2", _without_workers, "has 0 replicas, so no worker runs its connectors"),
    ],
)
def test_what_the_operator_would_ignore_is_refused_at_once(
    strimzi: Strimzi, kind: str, spoil: Callable[[Strimzi, Managed], AbstractContextManager[None]], sentence: str
) -> None:
    with plain(strimzi, kind) as made, opened(strimzi, made) as client, spoil(strimzi, made):
        before, began = made.read(), time.monotonic()
        for refused in (client.read_offsets, client.stop, client.reset_offsets):
            with pytest.raises(NotReconciled, match=f"Nothing was changed: .*{sentence}"):
                refused(made.connector)
        assert time.monotonic() - began < 5
        after = made.read()
        assert after["spec"] == before["spec"]
        assert OFFSETS not in annotations_of(after)


def test_a_connector_of_another_cluster_is_named(strimzi: Strimzi) -> None:
    with (
        plain(strimzi) as made,
        opened(strimzi) as client,
        _labelled(strimzi, made, "another"),
        pytest.raises(
            UnknownConnector, match=r"belongs to KafkaConnect 'another' according to its label strimzi\.io/cluster"
        ),
    ):
        client.info(made.connector)


def test_a_connector_without_a_resource_is_named(strimzi: Strimzi) -> None:
    with opened(strimzi) as client, pytest.raises(UnknownConnector, match="There is no KafkaConnector 'nowhere' in"):
        client.info("nowhere")


def test_a_cluster_that_is_not_there_is_named(strimzi: Strimzi) -> None:
    user = Cluster(strimzi.kubeconfig)
    client = ConnectStrimzi(user.client, namespace=strimzi.namespace, cluster="nowhere")
    with pytest.raises(InvalidInput, match="no KafkaConnect and no KafkaMirrorMaker2 named 'nowhere'"):
        client.connectors()
    user.close()


def test_all_missing_rights_are_named(api_server: ApiServer, strimzi: Strimzi) -> None:
    """Of a user who may only read: before anything is changed."""
    role = {"namespace": strimzi.namespace, "name": "reader"}
    rules = [{"apiGroups": ["kafka.strimzi.io"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]
    api, user = "rbac.authorization.k8s.io", {"kind": "User", "name": "nobody"}
    api_server.admin.apply(
        {"apiVersion": f"{api}/v1", "kind": "Role", "metadata": role, "rules": rules},
        {
            "apiVersion": f"{api}/v1",
            "kind": "RoleBinding",
            "metadata": role,
            "roleRef": {"apiGroup": api, "kind": "Role", "name": "reader"},
            "subjects": [{"apiGroup": api, **user}],
        },
    )
    with plain(strimzi) as made:
        client = ConnectStrimzi(api_server.user("nobody").client, namespace=strimzi.namespace, cluster="connect")
        with pytest.raises(
            AccessDenied, match=r"lacks rights in namespace .* \(patch kafkaconnectors, get configmaps, create config"
        ):
            client.read_offsets(made.connector)
        with pytest.raises(AccessDenied, match=r"lacks rights .* \(patch kafkaconnectors\)\. Bind a Role"):
            client.stop(made.connector)
        with pytest.raises(AccessDenied, match=r"lacks rights .* \(create kafkaconnectors, delete kafkaconnectors\)\."):
            client.delete(made.connector)
