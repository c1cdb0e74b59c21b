"""Airflow's connections reach secured workers and brokers: each way with its negative cases, on real servers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.exceptions import AccessDenied, StoreError, Unreachable
from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook
from sandbox import ConnectWorker, Sandbox
from tests.support.programs.authority import PASSWORD, Certified

_EXTENSION = "org.apache.kafka.connect.rest.basic.auth.extension"


@dataclass(frozen=True)
class Site:
    """Workers of several Connect clusters with TLS, and the certificates around them; files are in ``home``."""

    home: Path
    root: Certified
    other: Certified
    client: Certified

    def file(self, name: str, text: str) -> str:
        """Write a PEM file, and return its path."""
        path = self.home / name
        path.write_text(text)
        return str(path)

    @property
    def ca(self) -> str:
        """The authority that has issued the workers' certificates."""
        return self.file("root.pem", self.root.pem)

    def listener(self, name: str, certified: Certified, **more: str) -> dict[str, str]:
        """The properties of a worker's https listener."""
        store = certified.store(self.home / f"{name}.p12")
        settings = {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(store),
            "ssl.keystore.password": PASSWORD,
            "ssl.key.password": PASSWORD,
            **more,
        }
        return {f"listeners.https.{setting}": value for setting, value in settings.items()}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """An authority, another one, and a client's certificate."""
    root = Certified.root("root")
    return Site(tmp_path_factory.mktemp("site"), root, Certified.root("other"), root.issue("client"))


@pytest.fixture(scope="module")
def start(sandbox: Sandbox) -> Iterator[Callable[..., ConnectWorker]]:
    """Start workers in Connect clusters of their own, until the end of the module."""
    started: list[ConnectWorker] = []

    def start_worker(name: str, properties: Mapping[str, str], **security: Any) -> ConnectWorker:
        started.append(sandbox.another_cluster(name, properties, **security))
        return started[-1]

    yield start_worker
    for worker in started:
        worker.process.close()


@pytest.fixture(scope="module")
def tls(site: Site, start: Callable[..., ConnectWorker]) -> ConnectWorker:
    """A worker with a certificate."""
    return start("over-tls", site.listener("worker", site.root.issue("worker")))


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """List the connectors of the Connect cluster that a ``kafka_connect`` connection leads to."""

    def list_connectors(port: int, host: str = "127.0.0.1", schema: str = "https", **fields: Any) -> list[str]:
        connection = {"conn_type": "kafka_connect", "schema": schema, "host": host, "port": port, **fields}
        monkeypatch.setenv("AIRFLOW_CONN_SECURED", json.dumps(connection))
        with ConnectRest(KafkaConnectHook("secured").endpoint(), timeout=5) as connect:
            return connect.connectors()

    return list_connectors


def test_tls(site: Site, tls: ConnectWorker, listed: Callable[..., list[str]]) -> None:
    """With the authority of the worker's certificate."""
    assert listed(tls.https_port, extra={"ca": site.ca}) == []


def test_another_authority_is_refused(site: Site, tls: ConnectWorker, listed: Callable[..., list[str]]) -> None:
    """Another one, and those that come with Python."""
    other = site.file("other.pem", site.other.pem)
    for extra in ({"ca": other}, {}):
        with pytest.raises(Unreachable, match=r"its certificate is not trusted: .*; check ca"):
            listed(tls.https_port, extra=extra)


def test_the_certificate_of_another_host_is_refused(
    site: Site, tls: ConnectWorker, listed: Callable[..., list[str]]
) -> None:
    """It is for the address, and not for the name."""
    with pytest.raises(Unreachable, match="localhost"):
        listed(tls.https_port, host="localhost", extra={"ca": site.ca})


def test_an_expired_certificate_is_refused(
    site: Site, start: Callable[..., ConnectWorker], listed: Callable[..., list[str]]
) -> None:
    """And the error says so."""
    expired = start("expired", site.listener("expired", site.root.issue("worker", expired=True)))

    with pytest.raises(Unreachable, match="certificate has expired"):
        listed(expired.https_port, extra={"ca": site.ca})


def test_mutual_tls(site: Site, start: Callable[..., ConnectWorker], listed: Callable[..., list[str]]) -> None:
    """With the client's certificate and key; without, or with one of another authority, the worker hangs up."""
    trust = site.root.trusted_in(site.home / "workers-trust.p12")
    settings = {
        "ssl.client.auth": "required",
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(trust),
        "ssl.truststore.password": PASSWORD,
    }
    worker = start("mutual", site.listener("mutual", site.root.issue("worker"), **settings))
    client = {"client_cert": site.file("client.pem", site.client.pem)}
    client |= {"client_key": site.file("client.key", site.client.key_pem())}
    stranger = site.other.issue("client")
    strange = {"client_cert": site.file("stranger.pem", stranger.pem + stranger.key_pem())}

    assert listed(worker.https_port, extra={"ca": site.ca, **client}) == []
    for extra in ({}, strange):
        with pytest.raises(StoreError):
            listed(worker.https_port, extra={"ca": site.ca, **extra})


def test_a_password_that_the_worker_asks_for(
    site: Site, start: Callable[..., ConnectWorker], listed: Callable[..., list[str]]
) -> None:
    """Kafka's own extension for basic authentication; the connection's login is sent over TLS."""
    passwords = site.file("passwords.properties", "me=right\n")
    login = f'KafkaConnect {{ {_EXTENSION}.PropertyFileLoginModule required file="{passwords}"; }};'
    properties = {
        "rest.extension.classes": f"{_EXTENSION}.BasicAuthSecurityRestExtension",
        **site.listener("login", site.root.issue("worker")),
    }
    options = [f"-Djava.security.auth.login.config={site.file('login.conf', login)}"]
    worker = start("login", properties, login="me:right", options=options)
    extra = {"ca": site.ca}

    assert listed(worker.https_port, extra=extra, login="me", password="right") == []
    for given in ({}, {"login": "me", "password": "not-right"}):
        with pytest.raises(AccessDenied) as caught:
            listed(worker.https_port, extra=extra, **given)
        assert "not-right" not in str(caught.value)
