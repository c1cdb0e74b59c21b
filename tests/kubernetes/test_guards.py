"""A resource that others change between the moment it is read and the patch: only what counts is a conflict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.strimzi.patches import annotation_patch, state_patch
from airflow_provider_connect_offsets.connect.strimzi.resources import CustomResource
from airflow_provider_connect_offsets.exceptions import Conflict
from sandbox.kubernetes import Release
from tests.support.strimzi.managed import KINDS, Managed
from tests.support.strimzi.reconciler import Reconciler
from tests.support.strimzi.resources import MIRROR_CONNECTOR, OFFSETS, annotations_of
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.strimzi_clients import opened, plain

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.parametrize("release", [Release.V1], indirect=True, scope="session"),
]

CONDITION = {"type": "Warning", "status": "True", "reason": "ListOffsets", "message": "late"}


@pytest.fixture(params=KINDS)
def unwatched(strimzi: Strimzi, reconciler: Reconciler, request: pytest.FixtureRequest) -> Iterator[Managed]:
    """A connector that the operator does not look at."""
    with plain(strimzi, request.param) as made, strimzi.without_intervals():
        strimzi.settled()
        reconciler.away()
        yield made
        reconciler.back()


def label(made: Managed) -> None:
    made.resources.merge(made.kind, made.name, {"metadata": {"labels": {"team": "payments"}}})


def annotation(made: Managed) -> None:
    made.resources.annotate(made.kind, made.name, {"someone": "else", "of": "a->b"})


def operation(made: Managed) -> None:
    made.ask("list")


def other_flow(made: Managed) -> None:
    made.resources.annotate(made.kind, made.name, {MIRROR_CONNECTOR: "none"})


def spec(made: Managed) -> None:
    made.change({"tasksMax": 2})


def observation(made: Managed) -> None:
    resource = made.read()
    resource["status"]["observedGeneration"] += 1
    made.resources.put_status(made.kind, resource)


@pytest.mark.parametrize("meanwhile", [label, observation, annotation])
def test_what_does_not_count_may_change(
    strimzi: Strimzi, unwatched: Managed, meanwhile: Callable[[Managed], None]
) -> None:
    unwatched.resources.annotate(unwatched.kind, unwatched.name, {"the": "first"})
    with opened(strimzi, unwatched) as client:
        place = client._cluster.locate(unwatched.connector)
        meanwhile(unwatched)
        client._api.patch(place.resource, [*place.guards(), *state_patch(place, State.PAUSED)])
        place = client._cluster.locate(unwatched.connector)
        meanwhile(unwatched)
        client._api.patch(place.resource, [*place.guards(), *annotation_patch(place.resource, {"a": "b->c"})])
    assert place.requested_state is State.PAUSED
    assert annotations_of(unwatched.read())["a"] == "b->c"


@pytest.mark.parametrize("is_annotated", [False, True])
@pytest.mark.parametrize("meanwhile", [operation, other_flow, spec])
def test_what_counts_is_a_conflict(
    strimzi: Strimzi, unwatched: Managed, meanwhile: Callable[[Managed], None], *, is_annotated: bool
) -> None:
    if is_annotated:
        annotation(unwatched)
    with opened(strimzi, unwatched) as client:
        place = client._cluster.locate(unwatched.connector)
        meanwhile(unwatched)
        with pytest.raises(Conflict):
            client._api.patch(place.resource, [*place.guards(), *state_patch(place, State.PAUSED)])
        assert client._cluster.locate(unwatched.connector).requested_state is State.RUNNING


def test_a_warning_that_appears_at_the_last_moment_is_none_of_this_operation(
    strimzi: Strimzi, reconciler: Reconciler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A late pass of an earlier one has written it; the operation is requested again once it is gone."""
    with plain(strimzi) as made, opened(strimzi, made) as client:
        late, patch = [CONDITION], client._api.patch

        def patch_after_a_warning(resource: CustomResource, operations: Sequence[Mapping[str, Any]]) -> CustomResource:
            if late and any(one["op"] == "add" and OFFSETS in str(one).replace("~1", "/") for one in operations):
                strimzi.settled()
                reconciler.away()
                found = made.read()
                found["status"]["conditions"].append(late.pop())
                made.resources.put_status(made.kind, found)
                patched = patch(resource, operations)
                reconciler.back()
                return patched
            return patch(resource, operations)

        monkeypatch.setattr(client._api, "patch", patch_after_a_warning)
        assert client.read_offsets(made.connector).by_partition() == {}
        assert not late
