"""Connect refuses a configuration that a resource requests: what the client says, and what it leaves behind."""

from __future__ import annotations

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.connect.strimzi.with_rest import StrimziWithRest
from airflow_provider_connect_offsets.exceptions import Rejected
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.operations.stages import settings_stages
from airflow_provider_connect_offsets.operations.stages.settings_stages import RunOneByOne
from airflow_provider_connect_offsets.saga import Undoing
from sandbox.kubernetes import Release
from tests.support.strimzi.managed import Managed
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.strimzi_clients import opened, plain, reach

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.parametrize("release", [Release.V1], indirect=True, scope="session"),
]
REFUSED = {"errors.tolerance": "perhaps"}
REASON = "returned 400 (Bad Request): Connector configuration is invalid"


@pytest.mark.parametrize("state", [State.RUNNING, State.STOPPED])
def test_a_refused_configuration_is_named_and_the_prior_one_restored(strimzi: Strimzi, state: State) -> None:
    """The error has Connect's reason. With that configuration the operator would not even stop the connector."""
    with plain(strimzi) as made, opened(strimzi) as client:
        name = made.connector
        reach(client, name, state)
        before = made.read()["spec"]
        with pytest.raises(Rejected) as raised:
            client.update_config(name, {**client.info(name).config, **REFUSED, "tasks.max": "3"})
        said = str(raised.value)
        assert f"Strimzi could not apply the resource of connector '{name}' to Kafka Connect" in said
        assert REASON in said
        assert "Invalid value perhaps for configuration errors.tolerance" in said
        assert f"KafkaConnector '{name}' in namespace 'kafka' has its prior configuration again." in said
        assert said.endswith("Correct the configuration, then try again.")
        assert made.read()["spec"] == before
        assert client.status(name).state is state
        reach(client, name, State.STOPPED)


def test_what_someone_else_has_configured_meanwhile_stays(strimzi: Strimzi, monkeypatch: pytest.MonkeyPatch) -> None:
    with plain(strimzi) as made, opened(strimzi) as client:
        name = made.connector
        config = {**client.info(name).config, **REFUSED}
        status = client.status

        def changed_by_others(connector: str) -> object:
            try:
                return status(connector)
            except Rejected:
                monkeypatch.undo()
                _configure(made, {"errors.tolerance": "none"})
                raise

        monkeypatch.setattr(client, "status", changed_by_others)
        with pytest.raises(Rejected, match=rf"has changed KafkaConnector '{name}' .* meanwhile, so its prior"):
            client.update_config(name, config)
        assert made.read()["spec"]["config"]["errors.tolerance"] == "none"


def test_a_new_configuration_leaves_all_other_settings_as_they_were_written(strimzi: Strimzi) -> None:
    """A number stays a number: a tool that compares the resource with git finds no other difference."""
    with plain(strimzi) as made, opened(strimzi) as client:
        before = made.read()["spec"]
        config = client.info(made.connector).config
        client.update_config(made.connector, {**config, "errors.tolerance": "all"})
        assert made.read()["spec"] == {**before, "config": {**before["config"], "errors.tolerance": "all"}}


@pytest.mark.parametrize("initial_state", [State.RUNNING, State.STOPPED])
def test_a_connector_with_a_refused_configuration_is_not_created(strimzi: Strimzi, initial_state: State) -> None:
    """Whether it is refused at once, or after the connector was created STOPPED with clients that reach no Kafka."""
    with plain(strimzi) as made, opened(strimzi) as client:
        name = f"{made.name}-copy"
        config = {**client.info(made.connector).config, "name": name, **REFUSED}
        with pytest.raises(Rejected, match=r"^Nothing was created: Strimzi could not .* resource was deleted again"):
            client.create(name, config, initial_state=initial_state)
        assert strimzi.resources.get("KafkaConnector", name) is None


def test_a_refused_run_with_one_record_a_poll_is_undone_after_a_kill(
    strimzi: Strimzi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process died when the resource had the refused settings, with which the operator does not stop the sink."""
    monkeypatch.setattr(settings_stages, "one_by_one", lambda topic: {**REFUSED, "unknown.setting": topic})
    with plain(strimzi) as made, opened(strimzi) as resources:
        assert strimzi.connect is not None
        before = made.read()["spec"]
        with ConnectRest(ConnectEndpoint((strimzi.connect.url,)), timeout=30) as rest:
            both = StrimziWithRest(resources, rest)
            stage = RunOneByOne(made.connector, Clients(rest, both, timeout=30), "reports")
            captured = stage.capture({})
            _configure(made, {**REFUSED, "unknown.setting": "reports"})
            made.not_ready()
            stage.undo(captured, Undoing(returned=False, error=None, keep=lambda *_: ""))
            assert both.status(made.connector).is_stopped
        assert made.read()["spec"]["config"] == before["config"]


def _configure(made: Managed, settings: dict[str, str]) -> None:
    made.change({"config": {**made.read()["spec"]["config"], **settings}})
