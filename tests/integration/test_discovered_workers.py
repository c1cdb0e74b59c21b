"""Workers discovered by their group in Kafka, where anyone may advertise any address: who gets credentials."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.cli.opened import open_storage as open_in_shell
from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.storage.topic_storage import TopicStorage
from airflow_provider_connect_offsets.connect.storage.worker_group import WorkerGroups
from airflow_provider_connect_offsets.hooks.storage import open_storage as open_in_dag
from sandbox import Sandbox, wait_until
from tests.support.workers.scripted_worker import Reply, Worker, scripted_worker

NAME, LOGIN = "advertised", "Basic " + b64encode(b"me:s3cret").decode()


@pytest.fixture(scope="module")
def stranger() -> Iterator[Worker]:
    """A server to which the group of a Connect worker leads."""
    with scripted_worker() as worker:
        status = {"name": "c", "connector": {"state": "STOPPED", "worker_id": "w"}, "tasks": [], "type": "source"}
        worker.answers("GET /connectors/c/status", Reply(200, status))
        yield worker


@pytest.fixture(scope="module")
def brokers(sandbox: Sandbox, stranger: Worker) -> Iterator[str]:
    """Where a worker is in its group that advertises the stranger's address."""
    advertised = {"rest.advertised.host.name": "127.0.0.1", "rest.advertised.port": str(stranger.server.server_port)}
    worker = sandbox.another_cluster(NAME, advertised)
    # Its REST API answers before it has joined its group.
    with WorkerGroups(sandbox.target.client_settings()) as groups:
        wait_until(lambda: any(member.url for member in groups.members(NAME)), 60, "the worker is not in its group")
    yield sandbox.target.bootstrap
    worker.process.close()


def heard(stranger: Worker) -> list[str | None]:
    """The logins that the stranger was sent since the last call."""
    logins = [request.headers.get("Authorization") for request in stranger.requests]
    stranger.requests.clear()
    return logins


@pytest.mark.parametrize(
    ("configured", "login"),
    [("http://127.0.0.1:1", LOGIN), ("http://localhost:1", None), ("https://127.0.0.1:1", None)],
)
def test_a_login_goes_only_to_a_host_that_someone_has_configured(
    brokers: str,
    stranger: Worker,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    configured: str,
    login: str | None,
) -> None:
    """DAGs and the shell send all other hosts the request without it, as most workers need no login."""
    connection = {
        "conn_type": "kafka_connect",
        "host": configured,
        "login": "me",
        "password": "s3cret",
        "extra": {
            "exactly_once": "false",
            "offsets_topic": f"{NAME}-offset",
            "group_id": NAME,
            "storage_kafka_conn_id": "kafka_target",
        },
    }
    kafka = {"conn_type": "kafka", "extra": {"bootstrap.servers": brokers}}
    monkeypatch.setenv("AIRFLOW_CONN_FOUND", json.dumps(connection))
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_TARGET", json.dumps(kafka))
    properties = tmp_path / "worker.properties"
    properties.write_text(
        f"bootstrap.servers={brokers}\ngroup.id={NAME}\noffset.storage.topic={NAME}-offset\n"
        "listeners=http://elsewhere:1\n"
    )
    monkeypatch.setenv("CONNECT_OFFSETS_LOGIN", "me")
    monkeypatch.setenv("CONNECT_OFFSETS_PASSWORD", "s3cret")
    monkeypatch.setenv("CONNECT_OFFSETS_URLS", f"http://elsewhere, {configured}")

    opened = open_in_dag("found")
    assert isinstance(opened.offsets, TopicStorage)
    assert opened.offsets.where.exactly_once is False
    assert opened.control.status("c").state is State.STOPPED
    assert heard(stranger) == [login]
    assert open_in_shell(properties, None).control.status("c").state is State.STOPPED
    assert heard(stranger) == [login]
