"""The client of Strimzi's resources against a real API server and a real worker, with the rights of our Role only."""

from __future__ import annotations

import pytest

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK
from airflow_provider_connect_offsets.connect.protocols import ConnectorStatus, State
from airflow_provider_connect_offsets.exceptions import NotReconciled
from airflow_provider_connect_offsets.offsets.families import ConnectorType
from tests.support.strimzi.managed import KINDS, managed
from tests.support.strimzi.resources import annotations_of
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.strimzi_clients import at, opened, plain, reach

pytestmark = pytest.mark.kubernetes


@pytest.mark.parametrize("kind", KINDS)
def test_offsets_are_altered_listed_and_reset_and_nothing_is_left(strimzi: Strimzi, kind: str) -> None:
    with plain(strimzi, kind) as made:
        before = made.read()
        with opened(strimzi, made) as client:
            name = made.connector
            client.require_offset_changes()
            assert client.status(name).state is State.RUNNING
            assert client.info(name).type is ConnectorType.SOURCE
            assert client.info(name).config["source.cluster.alias"] == made.source
            reach(client, name, State.STOPPED)
            client.write_offsets(name, at(made, 41))
            assert client.read_offsets(name) == at(made, 41)
            client.write_offsets(name, at(made, 41).removals())
            assert client.read_offsets(name).by_partition() == {}
            client.write_offsets(name, at(made, 7))
            client.reset_offsets(name)
            assert client.read_offsets(name).by_partition() == {}
            reach(client, name, State.RUNNING)
        after = made.read()
        assert after["spec"] == before["spec"]
        assert annotations_of(after) == annotations_of(before)
        assert strimzi.resources.config_map(f"{made.name}-connect-offsets") is None


@pytest.mark.parametrize("kind", KINDS)
def test_before_a_stop_the_resource_names_its_config_maps(strimzi: Strimzi, kind: str) -> None:
    """While the connector is down, the operator needs no pass for them."""
    with plain(strimzi, kind) as made:
        before = made.read()["spec"]
        with opened(strimzi, made) as client:
            client.prepare(made.connector)
            client.stop(made.connector)
            stopped = made.read()
            client.await_status(made.connector, lambda one: one.is_stopped, timeout=30, clock=SYSTEM_CLOCK)
            client.read_offsets(made.connector)
            client.write_offsets(made.connector, at(made, 41))
            assert made.read()["spec"] == stopped["spec"]
            assert made.read()["metadata"]["generation"] == stopped["metadata"]["generation"]
            reach(client, made.connector, State.RUNNING)
        assert made.read()["spec"] == before


def test_a_mere_stop_names_no_config_maps(strimzi: Strimzi) -> None:
    with plain(strimzi) as made, opened(strimzi, made) as client:
        client.stop(made.connector)
        assert set(made.read()["spec"]) == {"class", "tasksMax", "config", "state"}


def test_config_maps_that_the_user_named_are_used_and_their_other_keys_stay(strimzi: Strimzi) -> None:
    with managed(strimzi, "KafkaConnector") as made:
        made.offer("theirs", key="notes.txt")
        with opened(strimzi, made) as client:
            reach(client, made.connector, State.STOPPED)
            client.write_offsets(made.connector, at(made, 41))
            assert client.read_offsets(made.connector) == at(made, 41)
        assert strimzi.offsets_in(made.listed, made.data_key) == [made.offset(41)]
        named = strimzi.resources.config_map(made.new)
        assert named is not None
        assert named["data"] == {"notes.txt": "theirs"}
        assert made.read()["spec"]["listOffsets"]["toConfigMap"]["name"] == made.listed


def test_a_named_config_map_that_was_not_there_keeps_no_offsets(strimzi: Strimzi) -> None:
    with managed(strimzi, "KafkaConnector") as made:
        with opened(strimzi, made) as client:
            reach(client, made.connector, State.STOPPED)
            client.write_offsets(made.connector, at(made, 41))
        named = strimzi.resources.config_map(made.new)
        assert named is not None
        assert not named.get("data")


@pytest.mark.parametrize("state", [State.PAUSED, State.STOPPED, State.RUNNING])
def test_a_state_that_was_set_is_set_again(strimzi: Strimzi, state: State) -> None:
    with plain(strimzi) as made:
        made.to_state(state.value.lower())
        before = made.read()["spec"]
        with opened(strimzi, made) as client:
            reach(client, made.connector, State.STOPPED)
            reach(client, made.connector, state)
        assert made.read()["spec"] == before


def test_a_connector_is_created_configured_and_deleted(strimzi: Strimzi) -> None:
    with plain(strimzi) as made, opened(strimzi) as client:
        name = f"{made.name}-copy"
        config = dict(client.info(made.connector).config) | {"name": name, "source.cluster.alias": "another"}
        created = client.create(name, config, initial_state=State.STOPPED)
        assert created.config == config
        assert client.await_status(name, lambda one: one.is_stopped, timeout=30, clock=SYSTEM_CLOCK).is_stopped
        assert name in client.connectors()
        assert client.overview()[name].status.state is State.STOPPED
        changed = client.update_config(name, {**config, "refresh.topics.interval.seconds": "77"})
        assert changed.config["refresh.topics.interval.seconds"] == "77"
        client.delete(name)
        assert name not in client.connectors()


def test_a_new_connector_that_does_not_stop_never_gets_its_configuration(
    strimzi: Strimzi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would begin to work, without its offsets; it is deleted instead."""
    with plain(strimzi) as made, opened(strimzi) as client:
        name = f"{made.name}-copy"
        config = dict(client.info(made.connector).config) | {"name": name}
        running = ConnectorStatus(State.RUNNING, "worker")
        configured: list[str] = []
        monkeypatch.setattr(client, "await_status", lambda *_, **__: running)
        monkeypatch.setattr(client._operations, "patch", lambda name, _: configured.append(name))
        with pytest.raises(
            NotReconciled, match=rf"Connector '{name}' is RUNNING, not STOPPED, 30 s after its creation"
        ):
            client.create(name, config, initial_state=State.STOPPED)
        assert configured == []
        assert strimzi.resources.get("KafkaConnector", name) is None
