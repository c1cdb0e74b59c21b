"""Airflow's ``kafka`` connections reach secured brokers: each way with its negative case, on a real broker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.exceptions import AccessDenied, Unreachable
from airflow_provider_connect_offsets.hooks.kafka import kafka_cluster
from sandbox.broker import Broker, Secured
from sandbox.tether import PROCESSES
from tests.support.programs.authority import PASSWORD, Certified
from tests.support.programs.token_server import CLIENT, ISSUER, SECRET, TokenServer

MODULES = "org.apache.kafka.common.security"
OAUTH = f"{MODULES}.oauthbearer"
AUDIENCE = "kafka"


@dataclass(frozen=True)
class Site:
    """A broker with secured listeners and a topic with one record, and the certificates and keys around it."""

    broker: Broker
    home: Path
    root: Certified
    other: Certified
    keys: TokenServer

    def file(self, name: str, text: str) -> str:
        """Write a file, and return its path."""
        path = self.home / name
        path.write_text(text)
        return str(path)

    def settings(self, listener: str, protocol: str, **more: str) -> dict[str, str]:
        """The extra of a connection that trusts the broker's authority."""
        return {
            "bootstrap.servers": self.broker.secured_listeners[listener],
            "security.protocol": protocol,
            "ssl.ca.location": self.file("root.pem", self.root.pem),
            **{name.replace("_", "."): value for name, value in more.items()},
        }

    def oauth(self, url: str, *, secret: str) -> dict[str, str]:
        """The extra of a connection that gets its tokens at ``url``."""
        settings = {"client.id": CLIENT, "client.secret": secret, "token.endpoint.url": f"{url}/token"}
        return {
            **self.settings("TOKENS", "SASL_SSL"),
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            **{f"sasl.oauthbearer.{name}": value for name, value in settings.items()},
        }


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One broker for all."""
    home = tmp_path_factory.mktemp("site")
    root, keys = Certified.root("root"), TokenServer(AUDIENCE)
    published = home / "keys.json"
    published.write_text(keys.published())
    of_login, of_tokens = "listener.name.login", "listener.name.tokens"
    settings = {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(root.issue("broker").store(home / "broker.p12")),
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(root.trusted_in(home / "brokers-trust.p12")),
        "ssl.truststore.password": PASSWORD,
        "listener.name.mutual.ssl.client.auth": "required",
        f"{of_login}.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        f"{of_login}.plain.sasl.jaas.config": f'{MODULES}.plain.PlainLoginModule required user_me="right";',
        f"{of_login}.scram-sha-512.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
        f"{of_tokens}.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{of_tokens}.oauthbearer.sasl.jaas.config": f"{OAUTH}.OAuthBearerLoginModule required;",
        f"{of_tokens}.oauthbearer.sasl.server.callback.handler.class": f"{OAUTH}.OAuthBearerValidatorCallbackHandler",
        "sasl.oauthbearer.jwks.endpoint.url": published.as_uri(),
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.expected.issuer": ISSUER,
    }
    secured = Secured(
        listeners={"PLAIN_TLS": "SSL", "MUTUAL": "SSL", "LOGIN": "SASL_SSL", "TOKENS": "SASL_SSL"},
        settings=settings,
        scram=["SCRAM-SHA-512=[name=me,password=right]"],
        options=[
            f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={published.as_uri()}",
            f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.files={published}",
        ],
    )
    broker = Broker("secured", home / PROCESSES / "broker", secured=secured)
    try:
        broker.process.start()
        broker.create_topic("orders")
        broker.produce("orders", ["first"])
        yield Site(broker, home, root, Certified.root("other"), keys)
    finally:
        broker.process.close()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, str]], list[bytes | None]]:
    """Read the topic by a ``kafka`` connection with this extra, as tasks do."""

    def read_topic(extra: Mapping[str, str]) -> list[bytes | None]:
        monkeypatch.setenv("AIRFLOW_CONN_SECURED", json.dumps({"conn_type": "kafka", "extra": dict(extra)}))
        with kafka_cluster("secured", patient=False) as cluster:
            return [record.value for record in cluster.records("orders")]

    return read_topic


Read = Callable[[Mapping[str, str]], list[bytes | None]]


def test_tls(site: Site, read: Read) -> None:
    """With the authority of the broker's certificate, and with no other."""
    extra = site.settings("PLAIN_TLS", "SSL")

    assert read(extra) == [b"first"]
    with pytest.raises(Unreachable, match=r"(?i)certificate.*verif"):
        read({**extra, "ssl.ca.location": site.file("other.pem", site.other.pem)})


def test_mutual_tls(site: Site, read: Read) -> None:
    """With a certificate of the authority that the broker trusts; not without, and not with a stranger's."""
    extra = site.settings("MUTUAL", "SSL")
    client, stranger = site.root.issue("client"), site.other.issue("client")

    def own(name: str, one: Certified) -> dict[str, str]:
        certificate, key = site.file(f"{name}.pem", one.pem), site.file(f"{name}.key", one.key_pem())
        return {"ssl.certificate.location": certificate, "ssl.key.location": key}

    assert read({**extra, **own("client", client)}) == [b"first"]
    for given in ({}, own("stranger", stranger)):
        with pytest.raises(Unreachable):
            read({**extra, **given})


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_password(site: Site, read: Read, mechanism: str) -> None:
    """The right one; a wrong one is reported as such, and not shown."""
    login = {"sasl.mechanism": mechanism, "sasl.username": "me", "sasl.password": "right"}
    extra = {**site.settings("LOGIN", "SASL_SSL"), **login}

    assert read(extra) == [b"first"]
    with pytest.raises(AccessDenied, match="refuses these credentials") as caught:
        read({**extra, "sasl.password": "not-right"})
    assert "not-right" not in str(caught.value)


def test_tokens(site: Site, read: Read) -> None:
    """Signed with a key that the broker knows, and for it; not with another key, nor for another audience."""
    with site.keys.tokens() as url:
        assert read(site.oauth(url, secret=SECRET)) == [b"first"]
    for given in ({"by": site.keys.other}, {"audience": "another"}):
        with site.keys.tokens(**given) as url, pytest.raises(AccessDenied, match="refuses these credentials"):
            read(site.oauth(url, secret=SECRET))


def test_no_token(site: Site, read: Read) -> None:
    """The secret is wrong, or nobody is at the token endpoint: the error says so, without the secret."""
    with site.keys.tokens() as url, pytest.raises((AccessDenied, Unreachable), match=r"(?i)token|oauth|oidc") as caught:
        read(site.oauth(url, secret="not-right"))
    assert "not-right" not in str(caught.value)
    with pytest.raises((AccessDenied, Unreachable), match=r"(?i)token|oauth|oidc"):
        read(site.oauth(url, secret=SECRET))
