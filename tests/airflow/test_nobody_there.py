"""A connection that leads nowhere: the first task of a run says so at once, in one sentence and a few lines."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from airflow_provider_connect_offsets import dags
from airflow_provider_connect_offsets.exceptions import NobodyThere
from airflow_provider_connect_offsets.hooks.clients import open_connect_cluster
from airflow_provider_connect_offsets.parameters.connections import ConnectParams, Control
from tests.support.airflow.dag_runs import Ran

RunDag = Callable[..., Ran]
OURS = "airflow_provider_connect_offsets"


@pytest.fixture(params=["closed port", "unknown name"])
def nowhere(request: pytest.FixtureRequest, connection: Callable[..., None]) -> None:
    """The Connect connection leads nowhere."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    host = "127.0.0.1" if request.param == "closed port" else "no-such-host.invalid"
    connection("nowhere", schema="http", host=host, port=port)


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("dag_id", ["connector_offsets_change", "connector_offsets_fleet"])
def test_a_dry_run_fails_at_once(run_dag: RunDag, dag_id: str) -> None:
    """No task is tried again; 1,554 lines in 274 s were written for it."""
    named = {"connectors": "orders"} if dag_id.endswith("fleet") else {"connector": "orders"}

    ran = run_dag(dag_id, **named, to="earliest", dry_run=True, connect_conn_id="nowhere")

    assert ran.state == "failed"
    assert "Check host, port and scheme of the connection, and that Kafka Connect runs there." in ran.output
    _is_short(ran)


@pytest.mark.parametrize("server", ["127.0.0.1:1", "no-such-host.invalid:9092"])
@pytest.mark.parametrize(
    ("dag_id", "given"),
    [
        ("connector_offsets_change", {"connector": "orders"}),
        ("group_offsets_change", {"groups": "orders"}),
        ("mirror_reset", {"source_connector": "orders"}),
        ("mirror_failover", {"groups": "orders", "source_alias": "a", "target_alias": "b"}),
    ],
)
def test_so_does_one_without_a_broker(
    run_dag: RunDag, connection: Callable[..., None], dag_id: str, given: dict[str, str], server: str
) -> None:
    """Each connection of Kafka that the DAG takes leads nowhere."""
    connection("no_kafka", conn_type="kafka", extra={"bootstrap.servers": server})
    dag = getattr(dags, dag_id)()
    nowhere = {name: "no_kafka" for name in dag.params if name.endswith("kafka_conn_id")}

    ran = run_dag(dag_id, **given, **nowhere, dry_run=True)

    assert ran.state == "failed"
    assert f"No broker can be reached at {server}" in ran.output
    assert "Check bootstrap.servers and security.protocol." in ran.output
    _is_short(ran)


@pytest.mark.parametrize("server", ["http://127.0.0.1:1", "https://no-such-host.invalid:6443"])
def test_a_task_that_only_observes_needs_an_api_server(connection: Callable[..., None], server: str) -> None:
    """It fails and names the cause; any other task waits, as an API server may be restarting."""
    nowhere = {
        "clusters": [{"name": "here", "cluster": {"server": server}}],
        "contexts": [{"name": "here", "context": {"cluster": "here"}}],
        "current-context": "here",
    }
    connection("kubernetes_default", conn_type="kubernetes", extra={"kube_config": nowhere})
    reached = ConnectParams(control=Control.STRIMZI)

    with (
        pytest.raises(
            NobodyThere, match=r"the Kubernetes API server does not answer .*Check the Kubernetes connection"
        ),
        open_connect_cluster(reached, patient=False),
    ):
        pytest.fail("there is no API server")


def _is_short(ran: Ran) -> None:
    lines = [line for line in ran.output.splitlines() if OURS in line]
    assert len(lines) < 20
    assert "Trying again" not in ran.output
    assert "up_for_retry" not in ran.output
