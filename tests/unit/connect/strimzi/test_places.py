"""Connectors in custom resources of both versions: names, settings, requested states, and patches of them."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.strimzi.patches import state_patch
from airflow_provider_connect_offsets.connect.strimzi.places import Place, find_place, places_in
from airflow_provider_connect_offsets.connect.strimzi.resources import CustomResource, ResourceKind, pointer
from airflow_provider_connect_offsets.exceptions import NotReady, UnknownConnector
from airflow_provider_connect_offsets.offsets.families import ConnectorType

_V1 = {
    "target": {"alias": "b", "bootstrapServers": "b:9092"},
    "mirrors": [
        {
            "source": {"alias": "a", "bootstrapServers": "a:9092"},
            "topicsPattern": "orders.*",
            "groupsPattern": "app",
            "sourceConnector": {"tasksMax": 2, "config": {"refresh.topics.enabled": False, "offset.lag.max": 10}},
            "checkpointConnector": {},
        }
    ],
}
_V1BETA2 = {
    "connectCluster": "b",
    "clusters": [{"alias": "a", "bootstrapServers": "a:9092"}, {"alias": "b", "bootstrapServers": "b:9092"}],
    "mirrors": [
        {"sourceCluster": "b", "targetCluster": "a", "sourceConnector": {}},
        {
            "sourceCluster": "a",
            "targetCluster": "b",
            "topicsPattern": "orders.*",
            "sourceConnector": {"tasksMax": 2},
            "heartbeatConnector": {},
        },
    ],
}


def resource(
    kind: ResourceKind, spec: dict[str, Any], *, status: dict[str, Any] | None = None, **annotations: str
) -> CustomResource:
    named = {name.replace("__", "/").replace("_", "-"): value for name, value in annotations.items()}
    metadata = {"name": "orders", "namespace": "ns", "uid": "u", "resourceVersion": "7", "annotations": named}
    return CustomResource(kind, {"metadata": metadata, "spec": spec, "status": status or {}})


def connector(spec: dict[str, Any], *, status: dict[str, Any] | None = None) -> Place:
    return find_place(resource(ResourceKind.CONNECTOR, spec, status=status), "orders")


def test_a_kafka_connector_is_one_connector() -> None:
    spec = {
        "class": "com.example.Sink",
        "tasksMax": 3,
        "config": {"topics": "t", "flag": True, "size": 5, "none": None},
    }
    place = connector(spec, status={"connectorStatus": {"type": "sink"}})
    assert place.info(dict).config == {
        "topics": "t",
        "flag": "true",
        "size": "5",
        "tasks.max": "3",
        "name": "orders",
        "connector.class": "com.example.Sink",
    }
    assert place.info(dict).type is ConnectorType.SINK
    assert place.key == "offsets.json"


@pytest.mark.parametrize("spec", [_V1, _V1BETA2], ids=["v1", "v1beta2"])
def test_a_flow_has_a_name_for_each_of_its_connectors(spec: dict[str, Any]) -> None:
    flow = resource(ResourceKind.MIRROR_MAKER, spec)
    place = find_place(flow, "a->b.MirrorSourceConnector")
    config = place.info(dict).config
    assert place.info(dict).type is ConnectorType.SOURCE
    assert config["connector.class"] == "org.apache.kafka.connect.mirror.MirrorSourceConnector"
    assert (config["source.cluster.alias"], config["target.cluster.alias"]) == ("a", "b")
    assert config["source.cluster.bootstrap.servers"] == "a:9092"
    assert (config["topics"], config["tasks.max"]) == ("orders.*", "2")
    assert place.key == "a--b.MirrorSourceConnector.json"


def test_only_connectors_that_have_a_section_exist() -> None:
    names = [place.connector for place in places_in(resource(ResourceKind.MIRROR_MAKER, _V1))]
    assert names == ["a->b.MirrorSourceConnector", "a->b.MirrorCheckpointConnector"]
    message = r"no connector 'a->b.MirrorHeartbeatConnector'\. Its connectors: 'a->b.MirrorS"
    with pytest.raises(UnknownConnector, match=message):
        find_place(resource(ResourceKind.MIRROR_MAKER, _V1), "a->b.MirrorHeartbeatConnector")


@pytest.mark.parametrize(
    ("spec", "tests"),
    [
        (_V1, {"/spec/mirrors/0/source/alias": "a"}),
        (_V1BETA2, {"/spec/mirrors/1/sourceCluster": "a", "/spec/mirrors/1/targetCluster": "b"}),
    ],
    ids=["v1", "v1beta2"],
)
def test_a_patch_of_a_flow_tests_that_the_mirror_is_still_there(spec: dict[str, Any], tests: dict[str, str]) -> None:
    place = find_place(resource(ResourceKind.MIRROR_MAKER, spec), "a->b.MirrorSourceConnector")
    unchanged: dict[str, Any] = {"/metadata/uid": "u", "/metadata/generation": None, "/metadata/annotations": None}
    assert {one["path"]: one["value"] for one in place.guards()} == {**unchanged, **tests}
    assert {one["op"] for one in place.guards()} == {"test"}


def test_a_type_that_is_unknown_is_an_error() -> None:
    with pytest.raises(
        NotReady, match=r"not known yet whether connector 'orders' is a source or a sink: KafkaConnector"
    ):
        connector({"class": "com.example.Any"}).info(dict)


def test_the_workers_plugins_tell_the_type_before_the_first_status() -> None:
    plugins = {"com.example.Any": ConnectorType.SOURCE}
    assert connector({"class": "com.example.Any"}).info(lambda: plugins).type is ConnectorType.SOURCE


@pytest.mark.parametrize(
    ("spec", "state"),
    [
        ({}, State.RUNNING),
        ({"pause": True}, State.PAUSED),
        ({"pause": True, "state": "running"}, State.RUNNING),
        ({"state": "stopped"}, State.STOPPED),
    ],
)
def test_the_requested_state_is_state_or_else_pause(spec: dict[str, Any], state: State) -> None:
    assert connector(spec).requested_state is state


_NOTE = "/metadata/annotations/airflow-provider-connect-offsets~1unset-state"


def test_an_unset_state_is_noted_when_it_is_set_and_removed_afterwards() -> None:
    stopping = state_patch(connector({}), State.STOPPED)
    assert stopping[0] == {"op": "add", "path": "/spec/state", "value": "stopped"}
    assert stopping[1]["value"] == {"airflow-provider-connect-offsets/unset-state": "stopped"}
    stopped = resource(
        ResourceKind.CONNECTOR, {"state": "stopped"}, airflow_provider_connect_offsets__unset_state="stopped"
    )
    assert state_patch(find_place(stopped, "orders"), State.RUNNING) == [
        {"op": "remove", "path": "/spec/state"},
        {"op": "remove", "path": _NOTE},
    ]


def test_a_state_that_someone_else_set_meanwhile_stays_set() -> None:
    theirs = resource(
        ResourceKind.CONNECTOR, {"state": "paused"}, airflow_provider_connect_offsets__unset_state="stopped"
    )
    assert state_patch(find_place(theirs, "orders"), State.RUNNING) == [
        {"op": "add", "path": "/spec/state", "value": "running"},
        {"op": "remove", "path": _NOTE},
    ]


def test_a_state_that_was_set_is_set_again_without_a_note() -> None:
    assert state_patch(connector({"state": "running"}), State.STOPPED) == [
        {"op": "add", "path": "/spec/state", "value": "stopped"}
    ]
    assert state_patch(connector({"state": "stopped"}), State.STOPPED) == []


def test_a_pointer_escapes_what_json_pointers_escape() -> None:
    assert pointer("metadata", "annotations", "strimzi.io/x~y", 0) == "/metadata/annotations/strimzi.io~1x~0y/0"
