"""Maps the ``ssl.`` settings of Java's clients to librdkafka's. Source: ``DefaultSslEngineFactory``."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_connect_offsets.connect.storage.java.settings import Settings

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.connect.storage.java.key_stores import KeyStore

_STORES = ("JKS", "PKCS12", "JCEKS")
_NARROWING = (
    "ssl.cipher.suites",
    "ssl.enabled.protocols",
    "ssl.protocol",
    "ssl.provider",
    "ssl.keymanager.algorithm",
    "ssl.trustmanager.algorithm",
    "ssl.secure.random.implementation",
)
_BLOCK = re.compile(r"-+BEGIN\s+([A-Z0-9 ]*?(?:CERTIFICATE|PRIVATE\s+KEY))\s*-+([a-zA-Z0-9/+=\s]*)-+END\s+[^-]*-+")


def tls_settings(java: Settings) -> tuple[dict[str, str], list[str]]:
    """Return librdkafka's settings, and sentences about Java's settings that are missing or not mapped.

    Raises:
        InvalidInput: A store can't be read, settings contradict each other, or a Java class makes the connections
            (``ssl.engine.factory.class``).
    """
    if java.get_nonempty("ssl.engine.factory.class"):
        raise java.refusal(
            "ssl.engine.factory.class names a Java class for TLS connections, which librdkafka can't run. Use a copy "
            "of the file with ssl.truststore and ssl.keystore settings instead."
        )
    notes = [
        f"{name} is not mapped to librdkafka: client and broker negotiate what both support."
        for name in _NARROWING
        if java.get_nonempty(name)
    ]
    trust = _trust(java)
    if not trust:
        notes.append(
            "ssl.truststore is not set: Java would trust its own certificate authorities, but librdkafka trusts the "
            "system's."
        )
    return {"ssl.endpoint.identification.algorithm": _identification(java), **trust, **_own_settings(java)}, notes


def _identification(java: Settings) -> str:
    algorithm = java.get("ssl.endpoint.identification.algorithm")
    if algorithm is None or algorithm.lower() == "https":
        return "https"
    if algorithm == "":
        return "none"
    raise java.refusal(
        f"ssl.endpoint.identification.algorithm is {algorithm!r}, but only https (checks host names) and an empty "
        "value (does not check them) can be mapped to librdkafka."
    )


def _trust(java: Settings) -> dict[str, str]:
    inline, kind = java.get_nonempty("ssl.truststore.certificates"), _kind(java, "ssl.truststore")
    path = java.get_nonempty("ssl.truststore.location")
    if inline is not None:
        _refuse_location(java, "ssl.truststore.certificates", "ssl.truststore")
        return {"ssl.ca.pem": _certificates(java, "ssl.truststore.certificates", inline)}
    if path is None:
        return {}
    if kind == "PEM":
        _refuse_password(java, "ssl.truststore.password")
        return {"ssl.ca.pem": _certificates(java, "ssl.truststore.location", _text(java, "ssl.truststore.location"))}
    setting = f"{java.source}: ssl.truststore.location"
    return {"ssl.ca.pem": _store(setting, path, java.get("ssl.truststore.password")).trusted_certificates()}


def _own_settings(java: Settings) -> dict[str, str]:
    inline, chain = java.get_nonempty("ssl.keystore.key"), java.get_nonempty("ssl.keystore.certificate.chain")
    path, kind = java.get_nonempty("ssl.keystore.location"), _kind(java, "ssl.keystore")
    if inline is not None or chain is not None:
        _refuse_location(java, "ssl.keystore.key", "ssl.keystore")
        if inline is None or chain is None:
            raise java.refusal("ssl.keystore.key and ssl.keystore.certificate.chain are both needed.")
        return {
            "ssl.certificate.pem": _certificates(java, "ssl.keystore.certificate.chain", chain),
            **_key(java, "ssl.keystore.key", inline),
        }
    if path is None:
        return {}
    if kind == "PEM":
        _refuse_password(java, "ssl.keystore.password")
        text = _text(java, "ssl.keystore.location")
        return {
            "ssl.certificate.pem": _certificates(java, "ssl.keystore.location", text),
            **_key(java, "ssl.keystore.location", text),
        }
    password = java.require("ssl.keystore.password", "but Java needs it to open ssl.keystore.location")
    setting = f"{java.source}: ssl.keystore.location"
    certificate, key = _store(setting, path, password, java.get_nonempty("ssl.key.password")).own_certificate()
    return {"ssl.certificate.pem": certificate, "ssl.key.pem": key}


def _store(setting: str, path: str, password: str | None, key_password: str | None = None) -> KeyStore:
    # This import takes half of a small export's start-up time, and most workers have no store.
    from airflow_provider_connect_offsets.connect.storage.java.key_stores import KeyStore  # noqa: PLC0415

    return KeyStore(setting, Path(path), password, key_password)


def _kind(java: Settings, store: str) -> str:
    """Return the type of a store, of which only PEM matters: the content reveals the others."""
    kind = java.get_nonempty(f"{store}.type") or "JKS"
    if kind.upper() not in (*_STORES, "PEM"):
        raise java.refusal(
            f"{store}.type is {kind}, but only PEM, PKCS12, JKS and JCEKS can be mapped to librdkafka. Convert the "
            f"store to PKCS12 with keytool -importkeystore, and use a copy of the file with the new store."
        )
    return kind.upper()


def _refuse_location(java: Settings, setting: str, store: str) -> None:
    if _kind(java, store) != "PEM":
        raise java.refusal(f"{setting} needs {store}.type=PEM.")
    if java.get_nonempty(f"{store}.location"):
        raise java.refusal(f"{setting} and {store}.location exclude each other. Keep one of them.")
    _refuse_password(java, f"{store}.password")


def _refuse_password(java: Settings, setting: str) -> None:
    if java.get(setting) is not None:
        raise java.refusal(f"{setting} can't be set for the type PEM. The password of a key is ssl.key.password.")


def _text(java: Settings, setting: str) -> str:
    path = Path(java.require(setting, "and a store of type PEM is needed"))
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise java.refusal(
            f"{setting}: {path} can't be read: {error.strerror}. A relative path starts at the working directory."
        ) from error


def _certificates(java: Settings, setting: str, text: str) -> str:
    certificates = "".join(block for label, block in _blocks(text) if label.endswith("CERTIFICATE"))
    if not certificates:
        raise java.refusal(f"{setting} has no certificate in PEM (-----BEGIN CERTIFICATE-----).")
    return certificates


def _key(java: Settings, setting: str, text: str) -> dict[str, str]:
    keys = [(label, block) for label, block in _blocks(text) if label.endswith("PRIVATE KEY")]
    if len(keys) != 1:
        raise java.refusal(f"{setting} must have exactly one private key in PEM, but has {len(keys)}.")
    label, block = keys[0]
    if label != "ENCRYPTED PRIVATE KEY":
        return {"ssl.key.pem": block}
    password = java.require("ssl.key.password", f"but the private key of {setting} is encrypted")
    return {"ssl.key.pem": block, "ssl.key.password": password}


def _blocks(text: str) -> list[tuple[str, str]]:
    """Return the blocks of a PEM text in OpenSSL's layout; Java also accepts blocks on a single line."""
    return [(" ".join(label.split()), _block(" ".join(label.split()), body)) for label, body in _BLOCK.findall(text)]


def _block(label: str, body: str) -> str:
    lines = "\n".join(textwrap.wrap("".join(body.split()), 64))
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"
