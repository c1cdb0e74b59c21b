"""A resource that others change between the moment it is read and the patch: only what counts is a conflict."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.strimzi.patches import requesting
from airflow_provider_connect_offsets.exceptions import Conflict
from sandbox.kubernetes import Release
from tests.support.strimzi.managed import KINDS, Managed
from tests.support.strimzi.reconciler import Reconciler
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.strimzi_clients import opened, plain

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.parametrize("release", [Release.V1], indirect=True, scope="session"),
]
CONDITION = {"type": "Warning", "status": "True", "reason": "AlterOffsets", "message": "late"}


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
    made.resources.annotate(made.kind, made.name, {"someone": "else"})


def spec(made: Managed) -> None:
    made.change({"tasksMax": 2})


def warning(made: Managed) -> None:
    resource = made.read()
    resource["status"]["conditions"].append(CONDITION)
    made.resources.put_status(made.kind, resource)


def observation(made: Managed) -> None:
    resource = made.read()
    resource["status"]["observedGeneration"] += 1
    made.resources.put_status(made.kind, resource)


@pytest.mark.parametrize("meanwhile", [label, observation])
def test_what_does_not_count_may_change(
    strimzi: Strimzi, unwatched: Managed, meanwhile: Callable[[Managed], None]
) -> None:
    with opened(strimzi, unwatched) as client:
        place = client._cluster.locate(unwatched.connector)
        meanwhile(unwatched)
        client._api.patch(place.resource, [*place.guards(), *requesting(place, State.PAUSED)])
        place = client._cluster.locate(unwatched.connector)
        meanwhile(unwatched)
        annotated = client._api.annotate(place.resource, {"a": "1"})
    assert place.requested is State.PAUSED
    assert annotated.annotations == {**place.resource.annotations, "a": "1"}


@pytest.mark.parametrize("meanwhile", [annotation, spec, warning])
def test_what_counts_is_a_conflict(strimzi: Strimzi, unwatched: Managed, meanwhile: Callable[[Managed], None]) -> None:
    with opened(strimzi, unwatched) as client:
        place = client._cluster.locate(unwatched.connector)
        meanwhile(unwatched)
        with pytest.raises(Conflict):
            client._api.patch(place.resource, [*place.guards(), *requesting(place, State.PAUSED)])
        with pytest.raises(Conflict):
            client._api.annotate(place.resource, {"a": "1"})
        assert client._cluster.locate(unwatched.connector).requested is State.RUNNING


def test_annotations_are_set_where_there_were_some_or_none(strimzi: Strimzi, unwatched: Managed) -> None:
    with opened(strimzi, unwatched) as client:
        first = client._cluster.locate(unwatched.connector).resource
        both = client._api.annotate(first, {"a": "1", "b": "2"})
        one = client._api.annotate(both, {"a": None, "absent": None})
        none = client._api.annotate(one, {"b": None})
    assert [dict(each.annotations) for each in (first, both, one, none)] == [{}, {"a": "1", "b": "2"}, {"b": "2"}, {}]
