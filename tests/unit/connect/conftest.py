"""Scripted Connect workers, and the client under test on a fake clock."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from tests.support.workers.scripted_worker import FakeTime, Worker, scripted_worker


@pytest.fixture
def start_worker() -> Iterator[Callable[..., Worker]]:
    """Start scripted workers; ``wrap`` may put TLS around the server's socket."""
    with ExitStack() as workers:

        def start(wrap: Callable[[socket.socket], socket.socket] | None = None, *, port: int = 0) -> Worker:
            return workers.enter_context(scripted_worker(wrap, port=port))

        yield start


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
    """Open the client under test for some URLs, on the fake clock."""
    opened: list[ConnectRest] = []

    def connect(*urls: str, timeout: float = 60.0, patient: bool = True, **endpoint: Any) -> ConnectRest:
        known = ConnectEndpoint(urls, **endpoint)
        opened.append(ConnectRest(known, timeout=timeout, clock=time.clock, patient=patient))
        return opened[-1]

    yield connect
    for store in opened:
        store.close()


@pytest.fixture
def closed_url() -> str:
    """A URL at which no process listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "requests_ca_bundle", "curl_ca_bundle"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
