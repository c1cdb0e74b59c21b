"""Each right of the table in docs/security.md is needed for what the table says, and no other right is needed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.kafka.brokers import AclOperation
from sandbox import Broker, Sandbox
from tests.support.airflow.dag_runs import Ran
from tests.support.airflow.planted import planted_connection
from tests.support.airflow.rights import LISTENER, PASSWORD, SECURED, USER, Right, granted
from tests.support.airflow.rights_of_dags import NEEDS, Needs, each_right, table

RunDag = Callable[..., Ran]
RunWith = Callable[[Needs, Callable[[Right], AclOperation | None]], Ran]
# What rights include (Java class ``AclEntry``): it is left to the user, as Kafka would refuse it first.
INCLUDED = {
    AclOperation.READ: AclOperation.DESCRIBE,
    AclOperation.DELETE: AclOperation.DESCRIBE,
    AclOperation.ALTER_CONFIGS: AclOperation.DESCRIBE_CONFIGS,
}
PAGE = Path(__file__).parents[2] / "docs" / "security.md"


def test_the_page_has_the_table() -> None:
    """Line by line. To write it anew: python -m tests.support.airflow.rights_of_dags."""
    assert table() in PAGE.read_text()


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """Its brokers have ACLs; its worker does not log in, and may do everything."""
    with Sandbox(secured=SECURED) as running:
        yield running


@pytest.fixture
def connections(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow's connections to Kafka log in."""
    for name, value in sandbox.to_connections().items():
        monkeypatch.setenv(name, planted_connection(value))
    for name, broker in (("DEFAULT", sandbox.target), ("SOURCE", sandbox.source), ("TARGET", sandbox.target)):
        connection = {"conn_type": "kafka", "extra": _login(broker)}
        monkeypatch.setenv(f"AIRFLOW_CONN_KAFKA_{name}", json.dumps(connection))


@pytest.fixture
def run_with(sandbox: Sandbox, run_dag: RunDag, workspace: str, monkeypatch: pytest.MonkeyPatch) -> RunWith:
    """Run the DAG once, on a scene of its own, with the rights that a function leaves of those in the table."""

    def run(needs: Needs, left: Callable[[Right], AclOperation | None]) -> Ran:
        scene = needs.start(sandbox, workspace)
        params = dict(scene.params)
        if scene.worker:
            host, _, port = scene.worker.removeprefix("http://").partition(":")
            connection = {"conn_type": "kafka_connect", "schema": "http", "host": host, "port": int(port)}
            monkeypatch.setenv("AIRFLOW_CONN_OF_SCENE", json.dumps(connection))
            params["connect_conn_id"] = "of_scene"
        rights: Mapping[Right, tuple[str, ...]] = {
            replace(right, operation=operation): scene.names[right.whose]
            for right in needs.rights
            if (operation := left(right)) is not None
        }
        try:
            if scene.after:
                [before] = (one for one in NEEDS if one.dag_id == scene.after)
                with granted(sandbox, {right: scene.names[right.whose] for right in before.rights}):
                    ran = run_dag(before.dag_id, **params)
                assert ran.state == "success"
                params = {"run_uri": f"{ran.directory.uri}/final"}
            with granted(sandbox, rights):
                return run_dag(needs.dag_id, **params)
        finally:
            scene.close()

    return run


@pytest.mark.jobs
@pytest.mark.parametrize("needs", NEEDS, ids=str)
def test_the_rights_suffice(run_with: RunWith, needs: Needs) -> None:
    """The run succeeds with the rights of the table, and no others, and Kafka refuses nothing that it asks for."""
    ran = run_with(needs, lambda right: right.operation)

    assert ran.state == "success"
    assert "does not allow it" not in ran.output


@pytest.mark.jobs
@pytest.mark.parametrize(("needs", "taken"), each_right(), ids=str)
def test_each_is_needed(run_with: RunWith, needs: Needs, taken: Right) -> None:
    """Without it, the task of the table fails, or the run warns; in both cases the right is named."""
    ran = run_with(needs, lambda right: INCLUDED.get(taken.operation) if right == taken else right.operation)

    failed = [task.rpartition(".")[2] for task, state in ran.tasks.items() if state == "failed"]
    subject = {"TOPIC": "the topic", "GROUP": "the consumer group"}[taken.kind.name]
    assert f"needs an ACL that allows {taken.operation} on {subject}" in ran.output
    assert failed[:1] == ([taken.task] if taken.task else [])


def _login(broker: Broker) -> dict[str, str]:
    return {
        "bootstrap.servers": broker.secured_listeners[LISTENER],
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": USER,
        "sasl.password": PASSWORD,
    }
