"""A worker behind a gateway that verifies the signed tokens of an OAuth 2 token endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.exceptions import AccessDenied
from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook
from sandbox import Sandbox, wait_for, wait_until
from sandbox.connectors import file_source_config
from sandbox.process import ServerProcess
from tests.support.programs.authority import Certified
from tests.support.programs.token_gateway import start_token_gateway
from tests.support.programs.token_server import CLIENT, SECRET, TokenServer

pytestmark = pytest.mark.jobs
Connected = Callable[..., AbstractContextManager[ConnectRest]]


@pytest.fixture(scope="module")
def keys() -> TokenServer:
    """Keys of the tokens."""
    return TokenServer("connect")


@pytest.fixture(scope="module")
def root() -> Certified:
    """The authority of the gateway's certificate."""
    return Certified.root("root")


@pytest.fixture(scope="module")
def gateway(
    sandbox: Sandbox, root: Certified, keys: TokenServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """The gateway in front of the sandbox's worker."""
    process = start_token_gateway(tmp_path_factory.mktemp("gateway"), root.issue("gateway"), sandbox.connect.url, keys)
    yield process
    process.close()


@pytest.fixture
def connected(gateway: ServerProcess, root: Certified, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Connected:
    """Open the client of a ``kafka_connect`` connection with this extra, and a login unless that has a token."""
    ca = tmp_path / "root.pem"
    ca.write_text(root.pem)

    @contextmanager
    def open_client(extra: Mapping[str, str], *, secret: str = SECRET) -> Iterator[ConnectRest]:
        host = f"https://127.0.0.1:{gateway.ports[0]}/connect"
        login = {} if "token" in extra else {"login": CLIENT, "password": secret}
        connection = {"conn_type": "kafka_connect", "host": host, **login, "extra": {"ca": str(ca), **extra}}
        monkeypatch.setenv("AIRFLOW_CONN_GATEWAY", json.dumps(connection))
        with ConnectRest(KafkaConnectHook("gateway").endpoint(), timeout=5) as connect:
            yield connect

    return open_client


def test_signed_tokens(keys: TokenServer, connected: Connected, tmp_path: Path) -> None:
    """A connector is created, stopped and deleted, also one whose name has to be quoted."""
    (tmp_path / "lines").write_text("one\n")
    name = f"orders ü?-{uuid4().hex[:6]}"
    with keys.tokens() as url, connected({"oauth_token_url": f"{url}/token"}) as connect:
        connect.create(name, file_source_config("tokens", tmp_path / "lines"))
        connect.stop(name)
        wait_for(lambda: connect.status(name).state, State.STOPPED, 30, "it is not stopped")
        connect.delete(name)
        assert name not in connect.connectors()


@pytest.mark.parametrize("wrong", ["key", "audience", "expired"])
def test_tokens_that_the_gateway_refuses(wrong: str, keys: TokenServer, connected: Connected) -> None:
    """Signed with another key, for another audience, or expired: fetched ones, and one of the connection itself."""
    ways: dict[str, dict[str, Any]] = {
        "key": {"by": keys.other},
        "audience": {"audience": "another"},
        "expired": {"lifetime": timedelta(minutes=-5)},
    }
    given, own = ways[wrong], keys.token(**ways[wrong])
    with keys.tokens(**given) as url:
        for extra in ({"oauth_token_url": f"{url}/token"}, {"token": own}):
            with connected(extra) as connect, pytest.raises(AccessDenied, match=r"\(40[13]\)") as caught:
                connect.connectors()
            assert SECRET not in str(caught.value)
            assert own not in str(caught.value)


def test_a_token_of_the_connection(keys: TokenServer, connected: Connected) -> None:
    """It is sent with each call."""
    with connected({"token": keys.token()}) as connect:
        assert connect.version().version


def test_a_token_that_expires_earlier_than_was_said(keys: TokenServer, connected: Connected) -> None:
    """The gateway refuses it; a new one is fetched, and the call is repeated."""
    soon = timedelta(seconds=2)
    with keys.tokens(lifetime=soon) as url, connected({"oauth_token_url": f"{url}/token"}) as connect:
        first = len(keys.issued) + 1

        def is_renewed() -> bool:
            connect.connectors()
            return len(keys.issued) > first

        wait_until(is_renewed, 60, "the token does not expire")


def test_no_token(connected: Connected) -> None:
    """The gateway wants one; a login and a password are none."""
    with connected({}) as connect, pytest.raises(AccessDenied, match="401"):
        connect.connectors()


def test_another_secret(keys: TokenServer, connected: Connected) -> None:
    """The token endpoint gives no token."""
    with (
        keys.tokens() as url,
        connected({"oauth_token_url": f"{url}/token"}, secret="not-that") as connect,
        pytest.raises(AccessDenied, match=r"gives client 'me' no token .*invalid_client") as caught,
    ):
        connect.connectors()
    assert "not-that" not in str(caught.value)
