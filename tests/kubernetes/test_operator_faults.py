"""Faults under way: of the operator, of the resource, of the ConfigMap, of the API server, of this process."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.strimzi.kubernetes_api import KubernetesApi
from airflow_provider_connect_offsets.connect.strimzi.operation import Marker, OffsetOperation, OffsetOperations
from airflow_provider_connect_offsets.connect.strimzi.resources import REQUESTED_BY, CustomResource
from airflow_provider_connect_offsets.exceptions import NotReconciled, OutcomeUnknown
from sandbox.kubernetes import Release
from tests.support.strimzi.reconciler import Killed, Reconciler
from tests.support.strimzi.resources import OFFSETS, annotations_of
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.strimzi_clients import at, opened, plain, reach

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.parametrize("release", [Release.V1], indirect=True, scope="session"),
]


def test_an_operator_that_is_away_is_named_and_nothing_is_left_to_it(strimzi: Strimzi, reconciler: Reconciler) -> None:
    """Before anything was requested of it."""
    with plain(strimzi) as made, opened(strimzi, made, timeout=2) as client:
        reconciler.away()
        try:
            with pytest.raises(
                NotReconciled, match=r"did not act on KafkaConnector .* in 2 s, so no offset operation was requested"
            ):
                client.read_offsets(made.connector)
            assert OFFSETS not in annotations_of(made.read())
            client.stop(made.connector)
            with pytest.raises(
                NotReconciled, match=r"has not acted on KafkaConnector .* in 2 s\. Is the operator running\?"
            ):
                client.status(made.connector)
        finally:
            reconciler.back()
        made.in_state("STOPPED")


def test_an_operator_that_dies_in_an_operation_leaves_the_outcome_unknown(
    strimzi: Strimzi, reconciler: Reconciler
) -> None:
    """The request is withdrawn, so that it is not carried out at some later time."""
    with plain(strimzi) as made, opened(strimzi, made, timeout=3) as client:
        reach(client, made.connector, State.STOPPED)

        def die(_name: str, _operation: object) -> None:
            raise Killed

        with (
            reconciler.before_operation(die),
            pytest.raises(OutcomeUnknown, match=r"did not alter the offsets of connector .* in 3 s .* was withdrawn"),
        ):
            client.write_offsets(made.connector, at(made, 41))
        assert OFFSETS not in annotations_of(made.read())
        reconciler.back()
        assert client.read_offsets(made.connector).by_partition() == {}


def test_an_operator_that_comes_back_carries_on(strimzi: Strimzi, reconciler: Reconciler) -> None:
    """The client waits on its watch meanwhile."""
    with plain(strimzi) as made, opened(strimzi, made) as client:
        reach(client, made.connector, State.STOPPED)
        reconciler.away()
        back = threading.Timer(1.5, reconciler.back)
        back.start()
        client.write_offsets(made.connector, at(made, 41))
        back.join()
        assert client.read_offsets(made.connector) == at(made, 41)


def test_a_config_map_that_is_deleted_under_way_is_written_again(strimzi: Strimzi, reconciler: Reconciler) -> None:
    """It has the offsets of an alteration, and is deleted before the operator reads it."""
    with plain(strimzi) as made, opened(strimzi, made) as client:
        reach(client, made.connector, State.STOPPED)
        deleted: list[str] = []

        def delete(_name: str, operation: object) -> None:
            if str(operation) == "alter" and not deleted:
                deleted.append(f"{made.name}-connect-offsets-new")
                strimzi.resources.delete_config_map(deleted[0])

        with reconciler.before_operation(delete):
            client.write_offsets(made.connector, at(made, 41))
        assert deleted
        assert client.read_offsets(made.connector) == at(made, 41)


def test_a_list_without_its_config_map_is_no_empty_list(strimzi: Strimzi, reconciler: Reconciler) -> None:
    """Someone removes the annotation by hand, so that it looks done, and nothing was listed: it is listed again."""
    with plain(strimzi) as made, opened(strimzi, made) as client:
        reach(client, made.connector, State.STOPPED)
        client.write_offsets(made.connector, at(made, 41))
        removed: list[str] = []

        def remove(_name: str, _operation: object) -> None:
            if not removed:
                removed.append(OFFSETS)
                strimzi.resources.annotate(made.kind, made.name, {OFFSETS: None})

        with reconciler.before_operation(remove):
            assert client.read_offsets(made.connector) == at(made, 41)
        assert removed


def test_what_a_killed_process_has_left_is_withdrawn(strimzi: Strimzi) -> None:
    """Its alteration fails again and again, as the connector runs; the next client goes on after its timeout."""
    with plain(strimzi) as made:
        made.change({"alterOffsets": {"fromConfigMap": {"name": made.new}}})
        marker = Marker("a-dead-client", OffsetOperation.ALTER, made.connector)
        left = {OFFSETS: "alter", REQUESTED_BY: json.dumps(marker.as_json())}
        strimzi.resources.annotate(made.kind, made.name, left)
        made.warned("AlterOffsets")
        with opened(strimzi, made, timeout=2) as client:
            assert client.read_offsets(made.connector).by_partition() == {}
        assert REQUESTED_BY not in annotations_of(made.read())
        made.change({"alterOffsets": None})


def test_what_was_added_is_removed_also_if_someone_writes_at_that_moment(
    strimzi: Strimzi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the operator does after each change of a state."""
    patch = KubernetesApi.patch

    def written_before(
        api: KubernetesApi, resource: CustomResource, operations: Sequence[Mapping[str, Any]]
    ) -> CustomResource:
        monkeypatch.undo()
        strimzi.resources.annotate("KafkaConnector", resource.name, {"example.com/touched": "yes"})
        return patch(api, resource, operations)

    with plain(strimzi) as made:
        before = made.read()["spec"]
        with opened(strimzi, made) as client:
            client.read_offsets(made.connector)
            assert made.read()["spec"] != before
            monkeypatch.setattr(KubernetesApi, "patch", written_before)
        assert made.read()["spec"] == before


def test_a_client_that_was_interrupted_withdraws_its_own_request_first(
    strimzi: Strimzi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a task does that is stopped by hand: its undo uses the same client, and does not wait for itself."""
    with plain(strimzi) as made, opened(strimzi, made) as client:
        with monkeypatch.context() as patch:
            patch.setattr(OffsetOperations, "_await", _interrupted)
            with pytest.raises(KeyboardInterrupt):
                client.write_offsets(made.connector, at(made, 41))
        made.warned("AlterOffsets")  # as it runs; the operator would try for ever
        began = time.monotonic()
        assert client.read_offsets(made.connector).by_partition() == {}
        assert time.monotonic() - began < 20  # of the 30 for which it waits for others


def _interrupted(*_arguments: object) -> None:
    raise KeyboardInterrupt
