"""A worker's properties open its secured Kafka: TLS, client certificates and passwords, on a real broker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import javaproperties
import pytest

from airflow_provider_connect_offsets.connect.storage.java.worker_config import WorkerConfig, read_worker_config
from airflow_provider_connect_offsets.exceptions import AccessDenied, InvalidInput, Unreachable
from airflow_provider_connect_offsets.kafka.brokers import Brokers
from sandbox.broker import Broker, Secured
from sandbox.tether import PROCESSES
from tests.support.programs.authority import PASSWORD, Certified

MODULES = "org.apache.kafka.common.security"
PLAIN = f'{MODULES}.plain.PlainLoginModule required username="me" password="{{}}";'
SCRAM = f"{MODULES}.scram.ScramLoginModule required username=me password='{{}}';"


@dataclass(frozen=True)
class Site:
    """A broker with two secured listeners, and the certificates around it."""

    broker: Broker
    home: Path
    root: Certified
    other: Certified
    client: Certified

    def worker(self, name: str, listener: str, settings: Mapping[str, str]) -> WorkerConfig:
        path = self.home / f"{name}.properties"
        own = {
            "group.id": "connect",
            "offset.storage.topic": "connect-offsets",
            "bootstrap.servers": self.broker.secured_listeners[listener],
        }
        with path.open("w", encoding="latin-1") as file:
            javaproperties.dump({**own, **settings}, file)
        return read_worker_config(path)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One broker for all."""
    home = tmp_path_factory.mktemp("site")
    root, other = Certified.root("root"), Certified.root("other")
    between = root.issue("between", authority=True)
    client = between.issue("client", between=(between.certificate,))
    store = root.issue("broker").store(home / "broker.p12")
    settings = {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(root.trusted_in(home / "brokers-trust.p12")),
        "ssl.truststore.password": PASSWORD,
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.login.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.login.plain.sasl.jaas.config": f'{MODULES}.plain.PlainLoginModule required user_me="right";',
        "listener.name.login.scram-sha-512.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
    }
    secured = Secured(
        listeners={"LOGIN": "SASL_SSL", "MUTUAL": "SSL"},
        settings=settings,
        scram=["SCRAM-SHA-512=[name=me,password=right]"],
    )
    broker = Broker("secured", home / PROCESSES / "broker", secured=secured)
    try:
        broker.process.start()
        yield Site(broker, home, root, other, client)
    finally:
        broker.process.close()


def topics(worker: WorkerConfig) -> object:
    """The answer to a client with the worker's settings."""
    with Brokers(worker.client().settings, timeout=2) as brokers:
        return brokers.ask("list the topics", lambda client: client.list_topics(timeout=2).topics)


def scram(password: str, store: Path | None) -> dict[str, str]:
    """Java's settings for SCRAM, with a trust store of Java's own type or none."""
    trust = {} if store is None else {"ssl.truststore.location": str(store), "ssl.truststore.password": PASSWORD}
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": SCRAM.format(password),
        **trust,
    }


def test_scram_with_a_jks_trust_store(site: Site) -> None:
    """The store has more than one authority; the broker's comes second."""
    store = site.root.trusted_in(site.other.trusted_in(site.home / "trust.jks", "JKS"), "JKS")

    assert topics(site.worker("scram", "LOGIN", scram("right", store))) == {}


def test_a_wrong_password_is_reported(site: Site) -> None:
    """As what it is, without the password itself."""
    store = site.root.trusted_in(site.home / "trust-of-wrong.p12")

    with pytest.raises(AccessDenied, match="refuses these credentials") as caught:
        topics(site.worker("wrong", "LOGIN", scram("not-right", store)))

    assert "not-right" not in str(caught.value)


def test_an_unknown_authority_is_reported(site: Site) -> None:
    """Whether there is no trust store, or one with another authority; one that can't be found is reported before."""
    other = site.other.trusted_in(site.home / "others-trust.p12")
    for name, store in (("none", None), ("other", other)):
        with pytest.raises(Unreachable, match=r"(?i)certificate.*verif"):
            topics(site.worker(name, "LOGIN", scram("right", store)))

    with pytest.raises(InvalidInput, match=r"ssl\.truststore\.location: .*absent\.jks can't be read: No such file"):
        topics(site.worker("absent", "LOGIN", scram("right", site.home / "absent.jks")))


def test_a_plain_password_with_pem_in_a_file(site: Site) -> None:
    """The trust store is a PEM file."""
    store = site.home / "trust.pem"
    store.write_text(site.other.pem + "some words between\n" + site.root.pem)
    settings = {
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": PLAIN.format("right"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(store),
    }

    assert topics(site.worker("plain", "LOGIN", settings)) == {}


def mutual(site: Site, home: Path, kind: str, **more: str) -> dict[str, str]:
    """Java's settings for a client certificate, whose authority the broker knows only by its root."""
    trust = site.root.trusted_in(home / "trust", kind)
    store = site.client.store(home / "client", kind, key_password=more.get("ssl.key.password"))
    return {
        "security.protocol": "SSL",
        "ssl.truststore.type": kind,
        "ssl.truststore.location": str(trust),
        "ssl.truststore.password": PASSWORD,
        "ssl.keystore.type": kind,
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": PASSWORD,
        **more,
    }


def test_a_client_certificate_of_pkcs12(site: Site, tmp_path: Path) -> None:
    """A PKCS12 store has the certificate and its chain up to the root."""
    assert topics(site.worker("pkcs12", "MUTUAL", mutual(site, tmp_path, "PKCS12"))) == {}


def test_a_client_certificate_of_jks_with_a_password_of_its_key(site: Site, tmp_path: Path) -> None:
    """The key's password is another than the store's."""
    assert (
        topics(site.worker("jks", "MUTUAL", mutual(site, tmp_path, "JKS", **{"ssl.key.password": "the key's"}))) == {}
    )


def test_a_client_without_certificate_is_refused(site: Site, tmp_path: Path) -> None:
    """The broker requires a certificate."""
    settings = {name: value for name, value in mutual(site, tmp_path, "PKCS12").items() if "keystore" not in name}

    with pytest.raises(Unreachable, match="no answer from Kafka"):
        topics(site.worker("without", "MUTUAL", settings))


@pytest.mark.parametrize("one_line", [False, True])
def test_a_client_certificate_inline(site: Site, *, one_line: bool) -> None:
    """Certificates and an encrypted key may be PEM in the settings, on several lines or on one."""
    shape = (lambda pem: " ".join(pem.split("\n"))) if one_line else str
    settings = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": shape(site.root.pem),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": shape(site.client.chain_pem),
        "ssl.keystore.key": shape(site.client.key_pem("of the key")),
        "ssl.key.password": "of the key",
    }

    assert topics(site.worker(f"inline-{one_line}", "MUTUAL", settings)) == {}
