"""Airflow's button that tests a connection to Kafka Connect."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from airflow.sdk import Connection

from airflow_provider_connect_offsets.connect.storage.offsets_file import write_mappings
from airflow_provider_connect_offsets.hooks import kafka_connect as hook_module
from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook

SetConnection = Callable[..., None]


class _Connect(BaseHTTPRequestHandler):
    """Answers the requests of ``test_connection``."""

    def do_GET(self) -> None:
        root = {"version": "4.3.1", "commit": "abc", "kafka_cluster_id": "K1"}
        body = json.dumps(root if self.path == "/" else ["a", "b"]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    """Port of a worker that answers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Connect)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def test_testing_a_connection_that_works(connection: SetConnection, port: int) -> None:
    """The text has the worker's version, its Kafka cluster, and the number of connectors."""
    connection(host="127.0.0.1", port=port)

    works, text = KafkaConnectHook().test_connection()

    assert works
    assert text == "Kafka Connect 4.3.1 on Kafka cluster K1; connectors: 2."


def test_airflow_itself_can_test_the_connection(port: int) -> None:
    """The button in the UI finds the hook by the connection's type."""
    connection = Connection(conn_id="tested", conn_type="kafka_connect", host="127.0.0.1", port=port)

    assert connection.test_connection() == (True, "Kafka Connect 4.3.1 on Kafka cluster K1; connectors: 2.")


def test_testing_a_connection_that_does_not_work(connection: SetConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is the readable error, without a traceback."""
    monkeypatch.setattr(hook_module, "_TEST_TIMEOUT", 0.0)
    connection(host="127.0.0.1", port=1, login="me", password="s3cret")

    works, text = KafkaConnectHook().test_connection()

    assert not works
    assert "http://127.0.0.1:1 does not answer (connection refused)" in text
    assert "s3cret" not in text
    assert KafkaConnectHook("nowhere").test_connection()[1].startswith("There is no Airflow connection 'nowhere'")


def test_testing_a_connection_to_a_storage(connection: SetConnection, tmp_path: Path) -> None:
    """Without a host it counts stored connectors and running workers; a missing field is named."""
    stored = tmp_path / "connect.offsets"
    write_mappings(stored, {b'["lines",{"filename":"a"}]': b'{"position":8}'})

    connection(extra={"offsets_file": str(stored)})
    assert KafkaConnectHook().test_connection() == (
        True,
        "Connectors with offsets in the file: 1; running workers: 0.",
    )

    connection(extra={"offsets_topic": "connect-offsets"})
    works, text = KafkaConnectHook().test_connection()
    assert (works, "has an offsets_topic, but no group_id" in text) == (False, True)
