"""A worker behind nginx, which wants a login and has the worker's API below a path."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.exceptions import AccessDenied, NotReady, Rejected, Unreachable
from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook
from sandbox import Sandbox, wait_for
from sandbox.connectors import file_source_config
from sandbox.process import ServerProcess
from tests.support.programs.authority import Certified
from tests.support.programs.gateway import LARGEST, LOGIN, PASSWORD, start_gateway

pytestmark = pytest.mark.jobs
Connected = Callable[..., AbstractContextManager[ConnectRest]]


@pytest.fixture(scope="module")
def root() -> Certified:
    """The authority of the gateway's certificate."""
    return Certified.root("root")


@pytest.fixture(scope="module")
def gateway(sandbox: Sandbox, root: Certified, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """The gateway in front of the sandbox's worker."""
    home = tmp_path_factory.mktemp("gateway")
    process = start_gateway(home, root.issue("gateway"), sandbox.connect.url)
    yield process
    process.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file that source connectors read."""
    lines = tmp_path / "lines"
    lines.write_text("one\n")
    return lines


@pytest.fixture
def connected(root: Certified, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Connected:
    """Open the client of a ``kafka_connect`` connection to a gateway."""
    ca = tmp_path / "root.pem"
    ca.write_text(root.pem)

    @contextmanager
    def open_client(gateway: ServerProcess, path: str = "/connect", **fields: Any) -> Iterator[ConnectRest]:
        host = f"https://127.0.0.1:{gateway.ports[0]}{path}"
        connection = {"conn_type": "kafka_connect", "host": host, "login": LOGIN, "password": PASSWORD, **fields}
        monkeypatch.setenv("AIRFLOW_CONN_GATEWAY", json.dumps({**connection, "extra": {"ca": str(ca)}}))
        with ConnectRest(KafkaConnectHook("gateway").endpoint(), timeout=5) as connect:
            yield connect

    return open_client


@pytest.mark.parametrize("name", ["orders", "a b ü?#&+"])
def test_all_of_the_api_is_below_the_path(name: str, gateway: ServerProcess, connected: Connected, file: Path) -> None:
    """Also for names that have to be quoted in a URL."""
    name = f"{name}-{uuid4().hex[:6]}"
    with connected(gateway) as connect:
        connect.create(name, file_source_config("gateway", file))
        assert name in connect.connectors()
        connect.stop(name)
        wait_for(lambda: connect.status(name).state, State.STOPPED, 30, "it is not stopped")
        connect.delete(name)
        assert name not in connect.connectors()


def test_the_answer_on_another_connector_is_refused(
    sandbox: Sandbox, gateway: ServerProcess, connected: Connected, file: Path
) -> None:
    """The gateway decodes ``%3B``, and the worker ignores what follows a semicolon in a path."""
    orders = f"orders-{uuid4().hex[:6]}"
    for name in (orders, f"{orders};other"):
        sandbox.connect.create(name, file_source_config("gateway", file))

    with connected(gateway) as connect:
        for read in (connect.status, connect.info):
            with pytest.raises(Rejected, match=f"for connector '{orders};other' is about connector '{orders}'"):
                read(f"{orders};other")

    for name in (orders, f"{orders};other"):
        sandbox.connect.delete(name)


def test_what_a_gateway_refuses(gateway: ServerProcess, connected: Connected, file: Path) -> None:
    """Another path, another password, and a body that is too large; nothing is created."""
    with connected(gateway, path="/other") as connect, pytest.raises(NotReady, match="It is not a Connect worker"):
        connect.connectors()
    with connected(gateway, password="wrong") as connect, pytest.raises(AccessDenied, match="Check login and password"):
        connect.connectors()
    with connected(gateway) as connect:
        with pytest.raises(Rejected, match="413"):
            connect.create("large", file_source_config("gateway", file) | {"description": "x" * LARGEST})
        assert "large" not in connect.connectors()


def test_a_gateway_without_its_worker(root: Certified, connected: Connected, tmp_path: Path) -> None:
    """It is called again, as the worker may be restarting."""
    process = start_gateway(tmp_path, root.issue("gateway"), "http://127.0.0.1:1")
    try:
        with connected(process) as connect, pytest.raises(Unreachable, match="502"):
            connect.connectors()
    finally:
        process.close()
