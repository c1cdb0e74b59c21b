"""What fails: its conditions and words, and what the operator does then."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sandbox.kubernetes import Release
from tests.support.strimzi.desired import Operation
from tests.support.strimzi.managed import Managed, managed
from tests.support.strimzi.reconciler import Killed, Reconciler
from tests.support.strimzi.resources import (
    LABEL,
    MIRROR_CONNECTOR,
    OFFSETS,
    PAUSED,
    USE_RESOURCES,
    annotations_of,
)
from tests.support.strimzi.scene import Strimzi, asking, conditions_of, warning_of

pytestmark = [
    pytest.mark.kubernetes,
    # What fails does so in the same way in all versions.
    pytest.mark.parametrize("release", [Release.V1], indirect=True, scope="session"),
]


def _not_stopped(connector: Managed) -> None:
    connector.to_state("running")


def _no_config_map(connector: Managed) -> None:
    connector.resources.delete_config_map(connector.new)


def _no_key(connector: Managed) -> None:
    connector.offer("{}", key="another.json")


def _no_json(connector: Managed) -> None:
    connector.offer('{"offsets": [')


def _no_offsets(connector: Managed) -> None:
    connector.offer(json.dumps({"offsets": []}))


@pytest.mark.parametrize(
    ("prepare", "part"),
    [
        (_not_stopped, "Connector is not in STOPPED state"),
        (_no_config_map, "does not exist"),
        (_no_key, "is missing"),
        (_no_json, "Failed to parse contents"),
        (_no_offsets, "returned 400"),
    ],
)
def test_an_alteration_fails(connector: Managed, prepare: Callable[[Managed], None], part: str) -> None:
    """The annotation stays, the resource stays Ready, and a Warning says why; what Connect answered is not in it."""
    connector.to_state("stopped")
    prepare(connector)

    message = connector.ask(Operation.ALTER).warned("AlterOffsets")["message"]

    assert message.startswith("Encountered error altering connector offsets.")
    assert part in message
    resource = connector.read()
    assert annotations_of(resource)[OFFSETS] == "alter"
    assert "Ready" in {one["type"] for one in conditions_of(resource)}


def test_a_running_connector_is_not_reset(connector: Managed) -> None:
    """Once it is stopped, the annotation that still stands is obeyed."""
    assert "not in STOPPED state" in connector.ask(Operation.RESET).warned("ResetOffsets")["message"]

    connector.change({"state": "stopped"})
    connector.done()


@pytest.mark.parametrize(("operation", "reason"), [("alter", "AlterOffsets"), ("list", "ListOffsets")])
def test_a_property_is_missing(connector: Managed, operation: str, reason: str) -> None:
    """The property that names the ConfigMap."""
    connector.change({f"{operation}Offsets": None})

    message = connector.ask(operation).warned(reason)["message"]

    assert f"due to missing property {operation}Offsets" in message


@pytest.mark.parametrize("word", ["", "lst"])
def test_any_other_word_is_an_exception_in_the_operator(connector: Managed, word: str) -> None:
    """The resource is not ready then, and no Warning says why."""
    condition = connector.ask(word).not_ready()

    assert condition["reason"] == "IllegalArgumentException"
    assert [one["type"] for one in conditions_of(connector.read())] == ["NotReady"]


@pytest.mark.parametrize("annotation", [OFFSETS, MIRROR_CONNECTOR])
def test_a_mirror_maker_needs_both_annotations(strimzi: Strimzi, annotation: str) -> None:
    """One alone is warned of."""
    with managed(strimzi, "KafkaMirrorMaker2") as flow:
        both = asking(flow.kind, Operation.LIST, flow.connector)
        strimzi.resources.annotate(flow.kind, flow.name, {annotation: both[annotation]})

        assert "annotation" in flow.warned("ManageOffsets")["message"]


def test_a_name_of_no_connector_is_waited_for_for_ever(strimzi: Strimzi, reconciler: Reconciler) -> None:
    """Nothing is done, and nothing is said."""
    with managed(strimzi, "KafkaMirrorMaker2") as flow:
        strimzi.ask(flow.kind, flow.name, Operation.LIST, "eu->us.MirrorSorceConnector")
        for _ in range(2):
            reconciler.sweep()

        resource = flow.read()
        assert annotations_of(resource)[OFFSETS] == "list"
        assert [one["type"] for one in conditions_of(resource)] == ["Ready"]


def test_the_same_failure_is_not_written_again(connector: Managed, reconciler: Reconciler) -> None:
    """LastTransitionTime is when it failed first, not when it was tried last."""
    connector.to_state("stopped")  # so that nothing else changes in the status
    first = connector.ask(Operation.ALTER).warned("AlterOffsets")
    tried: list[Operation] = []

    with reconciler.before_operation(lambda _name, operation: tried.append(operation)):
        for _ in range(3):
            reconciler.sweep()

    assert tried.count(Operation.ALTER) >= 3
    assert warning_of(connector.read(), "AlterOffsets") == first


def test_after_a_conflict_the_operation_is_run_again(connector: Managed, reconciler: Reconciler) -> None:
    """A conflict: someone wrote to the resource between the annotation and its removal."""
    connector.to_state("stopped")
    connector.alter([connector.offset(3)])
    runs: list[int] = []

    def interfere(_name: str, operation: Operation) -> None:
        runs.append(operation is Operation.RESET)
        if len(runs) == 1:
            connector.resources.annotate(connector.kind, connector.name, {"someone": "else"})

    with reconciler.before_operation(interfere):
        connector.ask(Operation.RESET).done()

    assert sum(runs) >= 2
    assert connector.offsets() == []


def test_an_operator_that_dies_does_the_operation_when_it_is_back(connector: Managed, reconciler: Reconciler) -> None:
    """Until then nothing happens."""

    def die(_name: str, _operation: Operation) -> None:
        raise Killed

    with reconciler.before_operation(die):
        connector.ask(Operation.LIST)
        reconciler.sweep()
    assert annotations_of(connector.read())[OFFSETS] == "list"
    assert connector.resources.config_map(connector.listed) is None

    reconciler.back()
    connector.done()


def test_a_lost_event_is_made_up_for_by_the_next_interval(connector: Managed, reconciler: Reconciler) -> None:
    """Until then the operator does not notice the annotation."""
    with connector.strimzi.without_intervals():
        reconciler.sweep()  # the last one, if another one was on the way
        reconciler.drop_events(1)
        connector.ask(Operation.LIST)
        reconciler.heard()
        assert annotations_of(connector.read())[OFFSETS] == "list"

        reconciler.sweep()
        assert annotations_of(connector.read()) == {}


def _pause(connector: Managed) -> None:
    connector.resources.annotate(connector.kind, connector.name, {PAUSED: "true"})


def _unlabel(connector: Managed) -> None:
    connector.resources.merge(connector.kind, connector.name, {"metadata": {"labels": {LABEL: None}}})


@contextmanager
def _connect_changed(strimzi: Strimzi, patch: dict[str, Any], back: dict[str, Any]) -> Iterator[None]:
    strimzi.resources.merge("KafkaConnect", strimzi.connect_name, patch)
    try:
        yield
    finally:
        strimzi.resources.merge("KafkaConnect", strimzi.connect_name, back)


def test_a_paused_resource_is_left_alone(connector: Managed, reconciler: Reconciler) -> None:
    """Its only condition says so."""
    _pause(connector)
    connector.ask(Operation.LIST)
    reconciler.sweep()

    resource = connector.read()
    assert [one["type"] for one in conditions_of(resource)] == ["ReconciliationPaused"]
    assert annotations_of(resource)[OFFSETS] == "list"


def test_a_connector_without_a_label_is_of_no_cluster(strimzi: Strimzi, reconciler: Reconciler) -> None:
    """It is not ready, and its connector is deleted as one that nobody describes."""
    with managed(strimzi, "KafkaConnector") as stray:
        _unlabel(stray)
        assert "lacks label" in stray.ask(Operation.LIST).not_ready()["message"]
        reconciler.sweep()
        assert strimzi.connect is not None
        assert stray.name not in strimzi.connect.connectors()


@pytest.mark.parametrize(
    ("patch", "back", "part"),
    [
        (
            {"metadata": {"annotations": {USE_RESOURCES: None}}},
            {"metadata": {"annotations": {USE_RESOURCES: "true"}}},
            "is not configured with annotation",
        ),
        ({"spec": {"replicas": 0}}, {"spec": {"replicas": 1}}, "has 0 replicas"),
    ],
    ids=["unmanaged", "no replicas"],
)
def test_a_kafka_connect_that_runs_no_managed_connectors(
    strimzi: Strimzi, reconciler: Reconciler, patch: dict[str, Any], back: dict[str, Any], part: str
) -> None:
    """Its connectors are not ready, and nothing is done about their offsets."""
    with managed(strimzi, "KafkaConnector") as idle:
        with _connect_changed(strimzi, patch, back):
            assert part in idle.ask(Operation.LIST).not_ready()["message"]
            reconciler.sweep()
            assert annotations_of(idle.read())[OFFSETS] == "list"
        idle.done()
