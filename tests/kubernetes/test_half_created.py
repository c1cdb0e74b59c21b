"""The creation of a connector by its resource is broken between its two steps: held, and with its own configuration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.connect.protocols import HELD, State
from airflow_provider_connect_offsets.connect.strimzi import client as strimzi_client
from airflow_provider_connect_offsets.connect.strimzi.client import ConnectStrimzi
from airflow_provider_connect_offsets.connect.strimzi.operation import OffsetOperations
from airflow_provider_connect_offsets.connect.strimzi.patches import held_config
from airflow_provider_connect_offsets.exceptions import NotApplied
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.operations.existence.create_delete import create
from airflow_provider_connect_offsets.operations.existence.new_connector import NewConnector
from airflow_provider_connect_offsets.operations.registry import journal_of, make_registry
from airflow_provider_connect_offsets.operations.stages.existence_stages import CreateConnector
from airflow_provider_connect_offsets.saga import Executor, Explanation, Found, Journal, Owner, SagaState, settle
from airflow_provider_connect_offsets.workspace.layout import journal_root
from sandbox import wait_until
from sandbox.kubernetes import Release
from tests.support.strimzi.managed import Managed
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.strimzi_clients import at, opened, plain

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.parametrize("release", [Release.V1], indirect=True, scope="session"),
]
MINE, OTHER = Owner.here(run="dag/1", task="create"), Owner.here(run="dag/2", task="create")


def test_a_kill_between_the_steps_leaves_a_held_connector_that_the_next_run_creates_anew(
    strimzi: Strimzi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """STOPPED, with clients that reach no Kafka, it has done nothing. It is PARTIAL, so it is undone."""
    with plain(strimzi) as made:
        journal = _journal(tmp_path, made)
        new = _new(made)
        _killed_between(strimzi, new, tmp_path, monkeypatch)
        left = journal.read_left()
        assert left is not None
        assert strimzi.read("KafkaConnector", new.name)["spec"]["state"] == "stopped"
        with opened(strimzi) as client:
            clients = _clients(client, tmp_path)
            assert client.info(new.name).is_held
            stage = CreateConnector(new.name, clients, new.config)
            assert stage.find(left[0].stages[0].captured).found is Found.PARTIAL
            assert create(new, clients, OTHER) == 1
            assert HELD not in client.info(new.name).config.values()
            assert client.read_offsets(new.name) == new.offsets
        strimzi.delete("KafkaConnector", new.name)


def test_the_undo_after_a_kill_deletes_the_held_connector(
    strimzi: Strimzi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a teardown does, if the run does not come back."""
    with plain(strimzi) as made:
        journal, new = _journal(tmp_path, made), _new(made)
        _killed_between(strimzi, new, tmp_path, monkeypatch)
        with opened(strimzi) as client:
            undone = settle(journal, MINE, make_registry(_clients(client, tmp_path)), run=MINE.run)
            assert undone is not None
            assert undone.record.state is SagaState.UNDONE
            assert new.name not in client.connectors()
        connect = strimzi.connect
        assert connect is not None
        wait_until(lambda: new.name not in connect.connectors(), 60, "the operator did not delete the connector")


def test_a_configuration_that_is_refused_after_the_first_step_leaves_nothing(
    strimzi: Strimzi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error has Connect's reason, and the saga is undone."""

    def accepted(config: dict[str, str]) -> dict[str, str]:
        return {name: value for name, value in held_config(config).items() if name != "errors.tolerance"}

    monkeypatch.setattr(strimzi_client, "held_config", accepted)
    with plain(strimzi) as made, opened(strimzi) as client:
        journal, new = _journal(tmp_path, made), _new(made, {"errors.tolerance": "perhaps"})
        with pytest.raises(NotApplied, match=r"was not created: .* Invalid value perhaps .* Nothing is left of"):
            create(new, _clients(client, tmp_path), MINE)
        assert journal.read_left() is None
        assert strimzi.resources.get("KafkaConnector", new.name) is None


def _killed_between(strimzi: Strimzi, new: NewConnector, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process leaves that dies when the connector is STOPPED and held: no undo, and no other write."""
    with opened(strimzi) as client:
        clients = _clients(client, folder)
        with journal_of(clients, new.name).claim(MINE) as entry, monkeypatch.context() as patched:
            stage = CreateConnector(new.name, clients, new.config)
            entry.begin(MINE, operation="the creation", key="create", stages=[stage])
            Executor(entry, [stage], Explanation()).announce(stage)
            patched.setattr(OffsetOperations, "patch", _dies)
            with pytest.raises(KeyboardInterrupt):
                stage.do(entry.record.stages[0].captured)


def _dies(*_arguments: object) -> None:
    raise KeyboardInterrupt


def _clients(client: ConnectStrimzi, folder: Path) -> Clients:
    known = Clients(client, client, cluster="strimzi", workspace=folder.as_uri())
    return replace(known, origin=Origin.STRIMZI, timeout=30)


def _journal(folder: Path, made: Managed) -> Journal:
    return Journal(journal_root(folder.as_uri()), cluster="strimzi", resource=f"{made.name}-copy")


def _new(made: Managed, others: dict[str, str] | None = None) -> NewConnector:
    with opened(made.strimzi) as client:
        config = dict(client.info(made.connector).config)
    name = f"{made.name}-copy"
    return NewConnector(name, {**config, **(others or {}), "name": name}, at(made, 41), State.STOPPED)
