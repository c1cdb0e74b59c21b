"""Offsets and states through resources: what the operator does for both kinds, in both versions of the API."""

from __future__ import annotations

import pytest

from sandbox import wait_for, wait_until
from sandbox.kubernetes import Release
from tests.support.strimzi.desired import Operation
from tests.support.strimzi.managed import Managed, managed
from tests.support.strimzi.owned import Owned
from tests.support.strimzi.reconciler import Reconciler
from tests.support.strimzi.resources import OFFSETS, annotations_of
from tests.support.strimzi.scene import Strimzi, asking, conditions_of, warning_of

pytestmark = pytest.mark.kubernetes

BOTH = pytest.mark.parametrize("release", [Release.BOTH], indirect=True, scope="session")
OLD = pytest.mark.parametrize("release", [Release.V1BETA2], indirect=True, scope="session")


def test_offsets_are_listed_while_it_runs(connector: Managed) -> None:
    """The ConfigMap has them in the REST API's form; both annotations are removed."""
    resource = connector.ask(Operation.LIST).done()

    assert connector.strimzi.offsets_in(connector.listed, connector.data_key) == []
    assert annotations_of(resource) == {}


def test_a_listed_config_map_belongs_to_the_resource_and_keeps_what_else_is_in_it(connector: Managed) -> None:
    """It is garbage-collected with the resource."""
    config_map = {"metadata": {"name": connector.listed, "labels": {"mine": "yes"}}, "data": {"note": "keep me"}}
    connector.resources.create_config_map(config_map)

    connector.ask(Operation.LIST).done()

    found = connector.resources.config_map(connector.listed)
    assert found is not None
    assert found["data"].keys() == {"note", connector.data_key}
    assert found["metadata"]["labels"]["mine"] == "yes"
    assert [owner["uid"] for owner in found["metadata"]["ownerReferences"]] == [connector.read()["metadata"]["uid"]]


def test_offsets_of_a_stopped_connector_are_altered_and_reset(connector: Managed) -> None:
    """What is altered is listed then; after a reset there is nothing to list."""
    connector.to_state("stopped")

    connector.alter([connector.offset(7)])
    assert connector.offsets() == [connector.offset(7)]

    connector.ask(Operation.RESET).done()
    assert connector.offsets() == []


@pytest.mark.parametrize("state", ["paused", "stopped"])
def test_the_state_is_that_of_the_spec(connector: Managed, state: str) -> None:
    """A connector gets there, and back."""
    connector.to_state(state)
    connector.to_state("running")


def test_an_operation_on_offsets_changes_no_generation(connector: Managed) -> None:
    """That is why observedGeneration confirms none."""
    before = connector.read()["metadata"]["generation"]

    resource = connector.ask(Operation.LIST).done()

    assert resource["metadata"]["generation"] == before


def test_the_annotation_goes_before_the_status_is_written(connector: Managed) -> None:
    """For a moment the Warning of an earlier attempt still stands."""
    connector.ask(Operation.RESET).warned("ResetOffsets")
    with Owned(connector.strimzi).history(connector.name, kind=connector.kind) as history:
        connector.change({"state": "stopped"})
        connector.done()
        wait_until(lambda: warning_of(connector.read(), "ResetOffsets") is None, 30, "the Warning stays")

    without = [one for one in history.versions if OFFSETS not in annotations_of(one)]
    assert warning_of(without[0], "ResetOffsets") is not None


def test_a_changed_config_leaves_the_offsets_for_the_next_pass(connector: Managed) -> None:
    """If one request has configuration and annotation, the pass that writes the configuration does nothing else."""
    connect = connector.strimzi.connect
    assert connect is not None
    connector.in_state("RUNNING")
    own = {"config": {"offset.lag.max": 5, "replication.factor": 1, "offset-syncs.topic.replication.factor": 1}}
    with Owned(connector.strimzi).history(connector.name, kind=connector.kind) as history:
        connector.change(own, annotations=asking(connector.kind, Operation.LIST, connector.connector))
        wait_for(lambda: connect.config(connector.connector).get("offset.lag.max"), "5", 30, "no config is written")
        connector.done()

    asked = [one for one in history.versions if OFFSETS in annotations_of(one)]
    assert asked[-1]["status"]["observedGeneration"] == asked[-1]["metadata"]["generation"]


def test_a_connector_goes_with_its_resource_and_without_one(strimzi: Strimzi, reconciler: Reconciler) -> None:
    """On a managed cluster only connectors with a resource stay."""
    connect = strimzi.connect
    assert connect is not None
    with managed(strimzi, "KafkaConnector") as there:
        connect.create("nobody-s", connect.config(there.name) | {"name": "nobody-s"})
        reconciler.sweep()
        assert connect.connectors() == [there.name]
    assert connect.connectors() == []


def test_a_state_that_was_set_over_rest_is_set_back(connector: Managed, reconciler: Reconciler) -> None:
    """The state of the spec counts."""
    connect = connector.strimzi.connect
    assert connect is not None
    connector.in_state("RUNNING")
    connect.call("PUT", f"/connectors/{connector.connector.replace('>', '%3E')}/stop")
    reconciler.sweep()
    connect.wait_state(connector.connector, "RUNNING")


def test_a_kafka_connect_lists_its_plugins(strimzi: Strimzi) -> None:
    """Its status has the plugins of its workers, and how many there are."""
    status = strimzi.observed("KafkaConnect", strimzi.connect_name)["status"]

    classes = {plugin["class"] for plugin in status["connectorPlugins"]}
    assert "org.apache.kafka.connect.mirror.MirrorSourceConnector" in classes
    assert status["replicas"] >= 1


def test_a_mirror_maker_has_each_of_its_connectors(strimzi: Strimzi) -> None:
    """Its status lists them by name; the annotation concerns only the connector that it names."""
    with managed(strimzi, "KafkaMirrorMaker2") as flow:
        mirrors = flow.read()["spec"]["mirrors"]
        mirrors[0]["checkpointConnector"] = {"tasksMax": 1, "config": {"checkpoints.topic.replication.factor": 1}}
        flow.resources.merge(flow.kind, flow.name, {"spec": {"mirrors": mirrors}})
        checkpoint = flow.connector.replace("Source", "Checkpoint")
        resource = strimzi.in_state(flow.kind, flow.name, checkpoint, "RUNNING")

        assert [one["name"] for one in resource["status"]["connectors"]] == [checkpoint, flow.connector]
        flow.ask(Operation.LIST).done()


@OLD
def test_the_older_pause_is_understood_and_state_wins(strimzi: Strimzi) -> None:
    """Both together are warned of."""
    with managed(strimzi, "KafkaConnector", spec={"pause": True}) as old:
        old.in_state("PAUSED")
        old.to_state("stopped")
        assert "state takes precedence" in old.warned("UpdateState")["message"]


@BOTH
def test_a_release_between_serves_both_versions(strimzi: Strimzi, connector: Managed) -> None:
    """A resource that was made in one can be read in the other."""
    older = strimzi.resources.in_version("v1beta2")

    found = older.get(connector.kind, connector.name)

    assert found is not None
    assert found["metadata"]["uid"] == connector.read()["metadata"]["uid"]
    assert [one["type"] for one in conditions_of(found)] == ["Ready"]
