"""Maps the connection settings of a Java client to those of librdkafka."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_connect_offsets.connect.storage.java.sasl import sasl_settings
from airflow_provider_connect_offsets.connect.storage.java.settings import Settings
from airflow_provider_connect_offsets.connect.storage.java.tls import tls_settings

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_SCHEME = re.compile(r"^[0-9a-zA-Z\-%._]*://")


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Settings of librdkafka, and sentences about Java's settings that could not be mapped."""

    settings: Mapping[str, str] = field(repr=False)
    notes: tuple[str, ...] = ()


def client_settings(java: Settings) -> ClientSettings:
    """Map ``bootstrap.servers`` and the security settings; all others are ignored.

    ``client.id`` is not used, so that logs and quotas of brokers distinguish this client from the worker.

    Raises:
        InvalidInput: A setting is missing, contradicts another or needs a Java class; the message names file and
            setting.
    """
    servers = ",".join(_SCHEME.sub("", server) for server in java.get_list("bootstrap.servers"))
    if not servers:
        raise java.refusal("bootstrap.servers is not set. Set it to the brokers of the Kafka cluster.")
    protocol = (
        java.get_nonempty("security.protocol") or "PLAINTEXT"
    ).upper()  # ignoring case, as SecurityProtocol.forName
    if protocol not in _PROTOCOLS:
        raise java.refusal(f"security.protocol is {protocol!r}, but must be one of {', '.join(_PROTOCOLS)}.")
    if protocol != "PLAINTEXT" and java.get_nonempty("security.providers"):
        raise java.refusal(
            "security.providers names Java classes, which librdkafka can't run. If the brokers can be reached without "
            "these classes, use a copy of the file without security.providers."
        )
    settings, notes = {"bootstrap.servers": servers, "security.protocol": protocol}, []
    for part in ([tls_settings] if "SSL" in protocol else []) + ([sasl_settings] if "SASL" in protocol else []):
        mapped, left_out = part(java)
        settings |= mapped
        notes += left_out
    return ClientSettings(settings, tuple(notes))
