"""Scripted Connect workers, and the store under test on a clock that needs no time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from typing import Any

import pytest
from scripted_worker import FakeTime, Worker, handler

from airflow_provider_connect_offsets.stores.connect import ConnectRest
from airflow_provider_connect_offsets.stores.endpoint import ConnectEndpoint


@pytest.fixture
def start_worker() -> Iterator[Callable[..., Worker]]:
    """Start scripted workers; ``wrap`` may put TLS around the server's socket."""
    workers: list[Worker] = []

    def start(wrap: Callable[[socket.socket], socket.socket] | None = None, *, port: int = 0) -> Worker:
        holder: list[Worker] = []
        server = ThreadingHTTPServer(("127.0.0.1", port), handler(lambda: holder[0]))
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that hangs up is part of the tests
        if wrap is not None:
            server.socket = wrap(server.socket)
        worker = Worker(server)
        holder.append(worker)
        workers.append(worker)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return worker

    yield start
    for worker in workers:
        worker.released.set()
        worker.server.shutdown()
        worker.server.server_close()


@pytest.fixture
def worker(start_worker: Callable[..., Worker]) -> Worker:
    """One scripted worker."""
    return start_worker()


@pytest.fixture
def time() -> FakeTime:
    """A fake clock."""
    return FakeTime()


@pytest.fixture
def connect_to(time: FakeTime) -> Iterator[Callable[..., ConnectRest]]:
    """Open the store under test for some URLs, on the fake clock."""
    opened: list[ConnectRest] = []

    def connect(*urls: str, patience: float = 60.0, **endpoint: Any) -> ConnectRest:
        opened.append(ConnectRest(ConnectEndpoint(urls, **endpoint), patience=patience, clock=time.clock))
        return opened[-1]

    yield connect
    for store in opened:
        store.close()


@pytest.fixture
def closed_url() -> str:
    """A URL at which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "requests_ca_bundle", "curl_ca_bundle"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
