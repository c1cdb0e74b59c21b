"""The resource of a copy: that of the original, but for what is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.strimzi.patches import config_patch, created_resource, state_patch
from airflow_provider_connect_offsets.connect.strimzi.places import Place, find_place
from airflow_provider_connect_offsets.connect.strimzi.resources import UNSET_STATE, CustomResource, ResourceKind

SPEC = {
    "class": "com.example.Sink",
    "tasksMax": 2,
    "version": "1.4.0",
    "autoRestart": {"enabled": True, "maxRestarts": 7},
    "config": {"topics": "t", "size": 5},
}
LABELS = {"strimzi.io/cluster": "connect", "team": "payments"}


def place(spec: Mapping[str, Any] = SPEC, *, version: str = "v1", **annotations: str) -> Place:
    metadata = {
        "name": "orders",
        "namespace": "ns",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 1,
        "labels": LABELS,
        "annotations": annotations,
    }
    body = {"apiVersion": f"kafka.strimzi.io/{version}", "metadata": metadata, "spec": dict(spec)}
    return find_place(CustomResource(ResourceKind.CONNECTOR, body), "orders")


def copied(original: Place, **settings: str) -> dict[str, Any]:
    config = {**original.info(dict).config, **settings, "name": "orders-2"}
    version = original.resource.version
    return created_resource("orders-2", config, cluster="connect", state=State.STOPPED, version=version, like=original)


def of_sink(**spec: Any) -> dict[str, Any]:
    return {**SPEC, **spec}


@pytest.fixture(autouse=True)
def known_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """The type of a connector does not matter here."""
    monkeypatch.setattr(Place, "_status_body", lambda _place: {"type": "sink"})


def test_what_a_person_has_set_stays() -> None:
    body = copied(place(owner="me"))
    assert body["spec"] == {**SPEC, "state": "stopped"}
    assert body["metadata"]["labels"] == LABELS
    assert body["metadata"]["annotations"] == {"owner": "me", UNSET_STATE: "stopped"}


def test_settings_that_are_asked_for_are_changed_alone() -> None:
    spec = copied(place(), topics="u", **{"connector.plugin.version": "2.0.0"})["spec"]
    assert spec == {**SPEC, "config": {"topics": "u", "size": 5}, "version": "2.0.0", "state": "stopped"}


def test_what_belongs_to_the_original_alone_is_left_out() -> None:
    """Operations, restarts and pauses that are asked for, ConfigMaps with its offsets, and who owns it."""
    asked = {
        "strimzi.io/connector-offsets": "list",
        "strimzi.io/restart": "true",
        "strimzi.io/restart-task": "0",
        "strimzi.io/pause-reconciliation": "false",
        "argocd.argoproj.io/tracking-id": "app:ns/orders",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    maps = {"listOffsets": {"toConfigMap": {"name": "m"}}, "alterOffsets": {"fromConfigMap": {"name": "m"}}}
    body = copied(place(of_sink(**maps), note="kept", **asked))
    assert body["metadata"]["annotations"] == {"note": "kept", UNSET_STATE: "stopped"}
    assert body["spec"] == {**SPEC, "state": "stopped"}


@pytest.mark.parametrize(
    ("spec", "annotations", "is_set"),
    [
        (SPEC, {}, False),
        (of_sink(state="running"), {}, True),
        (of_sink(state="paused"), {}, True),
        (of_sink(state="stopped"), {UNSET_STATE: "stopped"}, False),
    ],
    ids=["unset", "running", "paused", "unset, and stopped by us"],
)
def test_a_state_appears_only_where_one_is_set(
    spec: dict[str, Any], annotations: dict[str, str], *, is_set: bool
) -> None:
    body = copied(place(spec, **annotations))
    assert body["spec"]["state"] == "stopped"
    made = place(body["spec"], **body["metadata"]["annotations"])
    resumed = [(one["op"], one["path"]) for one in state_patch(made, State.RUNNING)]
    assert ("remove", "/spec/state") in resumed if not is_set else ("add", "/spec/state") in resumed


def test_a_connector_that_is_no_copy_requests_its_state() -> None:
    config = {"connector.class": "C", "connector.plugin.version": "1", "tasks.max": "1"}
    body = created_resource("new", config, cluster="connect", state=State.STOPPED, version="v1")
    assert body["spec"] == {"class": "C", "tasksMax": 1, "version": "1", "config": {}, "state": "stopped"}
    assert body["metadata"]["annotations"] == {}


@pytest.mark.parametrize(
    ("spec", "version", "field"),
    [
        (SPEC, "v1beta2", True),
        ({"class": "C", "config": {"connector.plugin.version": "1.4.0"}}, "v1", False),
        ({"class": "C", "config": {}}, "v1beta2", False),
        ({"class": "C", "config": {}}, "v1", True),
    ],
    ids=["its field", "its config", "without a field", "a new field"],
)
def test_the_version_of_a_plugin_is_written_where_it_stands_or_belongs(
    spec: dict[str, Any], version: str, *, field: bool
) -> None:
    original = place(spec, version=version)
    made = copied(original, **{"connector.plugin.version": "2"})["spec"]
    assert (made.get("version"), made["config"].get("connector.plugin.version")) == (
        ("2", None) if field else (None, "2")
    )
    config = {**original.info(dict).config, "connector.plugin.version": "2"}
    replaced = {one["path"]: one["value"] for one in config_patch(original, config)}
    assert ("/spec/version" in replaced) is field
    assert ("connector.plugin.version" in replaced["/spec/config"]) is not field
