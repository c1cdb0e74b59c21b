"""Java's key stores, made by its keytool and read here."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from airflow_provider_connect_offsets.connect.storage.java.key_stores import KeyStore
from airflow_provider_connect_offsets.exceptions import InvalidInput
from sandbox.java import java
from tests.support.programs.authority import PASSWORD, Certified, keytool

SETTING = "worker.properties: ssl.keystore.location"


@pytest.fixture(scope="module")
def root() -> Certified:
    """An authority."""
    return Certified.root("root")


@pytest.fixture(scope="module")
def own(root: Certified) -> Certified:
    """A certificate with an intermediate one before the root."""
    between = root.issue("between", authority=True)
    return between.issue("own", between=(between.certificate,))


@pytest.mark.parametrize("kind", ["PKCS12", "JKS", "JCEKS"])
def test_every_type_is_read(tmp_path: Path, root: Certified, own: Certified, kind: str) -> None:
    """Stores of each type give the key with its chain, and all trusted certificates."""
    path = root.trusted_in(own.store(tmp_path / "store.jks", kind), kind)
    store = KeyStore(SETTING, path, PASSWORD)

    certificate, key = store.own_certificate()

    assert certificate.startswith(own.chain_pem)
    assert key == own.key_pem()
    assert sorted(blocks(store.trusted_certificates())) == sorted(blocks(root.pem + own.pem))


def test_a_key_may_have_a_password_of_its_own(tmp_path: Path, root: Certified, own: Certified) -> None:
    """The store may also have a certificate, which has no password."""
    path = root.trusted_in(own.store(tmp_path / "store", "JCEKS", key_password="the key's"), "JCEKS")

    assert KeyStore(SETTING, path, PASSWORD, "the key's").own_certificate()[1] == own.key_pem()
    with pytest.raises(InvalidInput, match=r"can't open .*store with the given passwords"):
        KeyStore(SETTING, path, PASSWORD, "not the key's").own_certificate()


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_a_wrong_password_is_reported(tmp_path: Path, root: Certified, kind: str) -> None:
    """The message does not show it."""
    path = root.trusted_in(tmp_path / "store", kind)

    with pytest.raises(InvalidInput, match=r"worker\.properties: ssl\.keystore\.location: .*store") as caught:
        KeyStore(SETTING, path, "wr0ng").trusted_certificates()

    assert "wr0ng" not in str(caught.value)
    assert PASSWORD not in repr(KeyStore(SETTING, path, PASSWORD, PASSWORD))


def test_a_trust_store_of_javas_own_needs_no_password(tmp_path: Path, root: Certified) -> None:
    """Without a password Java and keytool skip the integrity check."""
    path = root.trusted_in(tmp_path / "store", "JKS")

    assert KeyStore(SETTING, path).trusted_certificates() == root.pem


def test_a_trust_store_without_any_password_is_read(tmp_path: Path, root: Certified) -> None:
    """Java 18 and later write such stores, and read them with any password."""
    open_to_all = ("-J-Dkeystore.pkcs12.macAlgorithm=NONE", "-J-Dkeystore.pkcs12.certProtectionAlgorithm=NONE")
    path = root.trusted_in(tmp_path / "store", "PKCS12", *open_to_all)

    assert [KeyStore(SETTING, path, password).trusted_certificates() for password in (None, "changeit")] == [
        root.pem
    ] * 2


def test_the_authorities_that_java_trusts_are_taken_by_librdkafka() -> None:
    """All of the JDK's own trust store, which many worker files name."""
    path = java().resolve().parents[1] / "lib" / "security" / "cacerts"

    trusted = KeyStore(SETTING, path, "changeit").trusted_certificates()

    assert trusted.count("-----BEGIN") > 50
    assert AdminClient({"security.protocol": "SSL", "ssl.ca.pem": trusted, "log_level": 0}) is not None


def test_a_store_of_an_old_java_is_read(tmp_path: Path, own: Certified) -> None:
    """PKCS12 with the ciphers of Java 8, whether or not OpenSSL still supports them."""
    path, old = own.store(tmp_path / "new.p12"), tmp_path / "old.p12"
    keytool(
        "-importkeystore -J-Dkeystore.pkcs12.legacy -srcstoretype PKCS12 -deststoretype PKCS12 -noprompt",
        *("-srckeystore", str(path), "-srcstorepass", PASSWORD, "-destkeystore", str(old), "-deststorepass", PASSWORD),
    )

    assert KeyStore(SETTING, old, PASSWORD).own_certificate() == (own.chain_pem, own.key_pem())


def test_what_is_no_store_is_reported(tmp_path: Path, root: Certified) -> None:
    """A PEM file without its type, another file, a missing file and a store without the needed entry are named."""
    pem, other = tmp_path / "store.pem", tmp_path / "other"
    pem.write_text(root.pem)
    other.write_text("something else")
    trust = root.trusted_in(tmp_path / "trust")
    for path, reason in {
        pem: r"is a PEM file\. Set .*ssl\.keystore\.type to PEM",
        other: r"ssl\.keystore\.password is wrong, or the file isn't a PKCS12, JKS or JCEKS store",
        tmp_path / "none": "can't be read: No such file",
        trust: "has no private key",
    }.items():
        with pytest.raises(InvalidInput, match=reason):
            KeyStore(SETTING, path, PASSWORD).own_certificate()


def test_without_keytool_the_command_is_named(tmp_path: Path, root: Certified, monkeypatch: pytest.MonkeyPatch) -> None:
    """That command makes a store that is read here, given the passwords it asks for."""
    path = root.trusted_in(tmp_path / "trust store.jks", "JKS")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(tmp_path))
        with pytest.raises(InvalidInput, match="there is no keytool") as caught:
            KeyStore(SETTING, path, PASSWORD).trusted_certificates()

    command = re.sub(r".* (keytool -importkeystore .*)", rf"{java().parent}/\1", str(caught.value))
    answers = f"{PASSWORD}\n" * 3
    subprocess.run(["/bin/sh", "-c", command], input=answers, text=True, check=True, capture_output=True)
    assert KeyStore(SETTING, path.with_suffix(".p12"), PASSWORD).trusted_certificates() == root.pem


def test_passwords_are_in_no_process_list(tmp_path: Path, own: Certified, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands have none, and their temporary directory is removed."""
    commands: list[list[str]] = []
    run = subprocess.run

    def heard(command: list[str], **options: object) -> object:
        commands.append(command)
        return run(command, **options)  # type: ignore[call-overload]

    path = own.store(tmp_path / "store", "JKS", key_password="the key's")
    monkeypatch.setattr(subprocess, "run", heard)

    KeyStore(SETTING, path, PASSWORD, "the key's").own_certificate()

    assert len(commands) == 2
    assert not any(secret in word for command in commands for word in command for secret in (PASSWORD, "the key's"))
    made = Path(commands[1][commands[1].index("-destkeystore") + 1])
    assert not made.parent.exists()


def blocks(pem: str) -> list[str]:
    """The certificates of a PEM string."""
    return re.findall(r"-----BEGIN.*?END[^\n]*\n", pem, re.DOTALL)
