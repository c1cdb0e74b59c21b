"""A deferred wait for a resource of Strimzi goes on when the API server closes the connection under its watch."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from airflow_provider_connect_offsets.connect.strimzi.resources import CustomResource, ResourceKind
from airflow_provider_connect_offsets.hooks.strimzi import await_change

_METADATA = {"name": "orders", "namespace": "kafka", "uid": "u", "resourceVersion": "7"}
ORDERS = CustomResource(ResourceKind.CONNECTOR, {"apiVersion": "kafka.strimzi.io/v1", "metadata": _METADATA})
# An answer that begins, and never ends as it says.
CUT_OFF = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"


@contextmanager
def _closing(answer: bytes) -> Iterator[int]:
    """A server that reads one request, sends ``answer``, and closes the connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join(10)


@pytest.mark.parametrize("answer", [b"", CUT_OFF], ids=["nothing", "a part of an answer"])
def test_a_watch_that_breaks_off_is_a_reason_to_read_again(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trigger does not end with an error."""
    with _closing(answer) as port:
        kubeconfig = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        connection = {"conn_type": "kubernetes", "extra": {"kube_config": json.dumps(kubeconfig)}}
        monkeypatch.setenv("AIRFLOW_CONN_KUBERNETES_CLOSING", json.dumps(connection))
        assert asyncio.run(await_change("kubernetes_closing", ORDERS, seconds=1))
