"""Connectors of the same name in two Connect clusters, as in a failback: one run leases both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.exceptions import Overlap
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.operations.connector import stopped
from airflow_provider_connect_offsets.operations.registry import settle_of
from airflow_provider_connect_offsets.saga.lease import Owner
from sandbox import Sandbox
from sandbox.connect import Connect
from sandbox.connectors import file_source_config

STATES = {"here": State.RUNNING, "there": State.PAUSED}
NAME = "mirror"
OTHER = Owner.here(run="dag/other", task="apply")


@pytest.fixture(scope="module")
def clusters(sandbox: Sandbox) -> Iterator[dict[str, Connect]]:
    """Two Connect clusters, each with a connector of that name; the one runs, the other is PAUSED."""
    other = sandbox.another_cluster(f"other-{uuid4().hex[:8]}")
    made: dict[str, Connect] = {"here": sandbox.connect, "there": other}
    for cluster, connect in made.items():
        config = file_source_config(f"{NAME}-{cluster}", sandbox.data / f"{NAME}-{cluster}.txt")
        connect.create(NAME, config, initial_state=STATES[cluster].value)
        connect.wait_state(NAME, STATES[cluster].value)
    yield made
    for connect in made.values():
        connect.delete(NAME)
    other.process.close()


@pytest.fixture
def members(clusters: dict[str, Connect], tmp_path: Path) -> Iterator[list[stopped.Member]]:
    with (
        ConnectRest(ConnectEndpoint((clusters["here"].url,))) as here,
        ConnectRest(ConnectEndpoint((clusters["there"].url,))) as there,
    ):
        workspace = tmp_path.as_uri()
        yield [
            (Clients(connect, connect, timeout=60, cluster=cluster, workspace=workspace), NAME)
            for cluster, connect in (("here", here), ("there", there))
        ]


def states(clusters: dict[str, Connect]) -> dict[str, str]:
    return {cluster: connect.status(NAME)["connector"]["state"] for cluster, connect in clusters.items()}


def test_each_gets_its_own_state_back(clusters: dict[str, Connect], members: list[stopped.Member]) -> None:
    """States are restored in order, at the end of the run."""
    owner = Owner.here(run="dag/run", task="begin")

    assert stopped.stop_for_run(members, owner, seconds=60) == [(NAME, State.RUNNING), (NAME, State.PAUSED)]
    assert states(clusters) == {"here": "STOPPED", "there": "STOPPED"}
    stopped.resume(members, owner, seconds=0)

    assert states(clusters) == STATES


def test_each_gets_its_own_state_back_by_a_teardown(
    clusters: dict[str, Connect], members: list[stopped.Member]
) -> None:
    """Where the run ended before its time; it says which is which."""
    stopped.stop_for_run(members, Owner.here(run="dag/dead", task="begin"), seconds=60)

    sentence = stopped.restore(members, Owner.here(run="dag/dead", task="release"))

    assert states(clusters) == STATES
    assert sentence is not None
    assert (
        f"{NAME!r} (workers on Kafka cluster 'here') is RUNNING again, "
        f"{NAME!r} (workers on Kafka cluster 'there') is PAUSED again" in sentence
    )


def test_what_was_left_is_settled_only_where_it_began(clusters: dict[str, Connect], tmp_path: Path) -> None:
    """Both clusters use one Kafka cluster, so their connectors of one name share a journal, and each other's lease."""
    dead, workspace = Owner.here(run="dag/dead", task="begin"), tmp_path.as_uri()
    with (
        ConnectRest(ConnectEndpoint((clusters["here"].url,))) as here,
        ConnectRest(ConnectEndpoint((clusters["there"].url,))) as there,
    ):
        first, second = (
            Clients(connect, connect, timeout=60, cluster="k", workspace=workspace) for connect in (here, there)
        )
        stopped.stop_for_run([(first, NAME)], dead, seconds=0)

        named = f"by run 'dag/dead' .* on the Connect cluster at .*{clusters['here'].url}.* This is another Connect"
        with pytest.raises(Overlap, match=named):
            settle_of(second, NAME, OTHER)
        with pytest.raises(Overlap, match=named):
            stopped.stop_for_run([(second, NAME)], OTHER, seconds=0)

        assert states(clusters) == {**STATES, "here": "STOPPED"}
        left = settle_of(first, NAME, OTHER)
    assert left is not None
    assert states(clusters) == STATES


def test_one_worker_in_common_is_enough(clusters: dict[str, Connect], tmp_path: Path) -> None:
    """A cluster may be reached by other addresses than those by which a change began."""
    dead, workspace = Owner.here(run="dag/dead", task="begin"), tmp_path.as_uri()
    url = clusters["here"].url
    with (
        ConnectRest(ConnectEndpoint((url,))) as here,
        ConnectRest(ConnectEndpoint((url.replace("127.0.0.1", "localhost"),))) as by_name,
    ):
        first, second = (
            Clients(connect, connect, timeout=60, cluster="k", workspace=workspace) for connect in (here, by_name)
        )
        stopped.stop_for_run([(first, NAME)], dead, seconds=0)

        assert settle_of(second, NAME, OTHER) is not None

    assert states(clusters) == STATES
