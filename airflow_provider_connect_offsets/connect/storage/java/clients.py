"""The settings by which a Java client reaches Kafka, as those of librdkafka."""

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
    """Settings of librdkafka, and what of Java's could not be mapped (sentences)."""

    settings: Mapping[str, str] = field(repr=False)
    notes: tuple[str, ...] = ()


def client_settings(java: Settings) -> ClientSettings:
    """Map ``bootstrap.servers`` and what concerns security; everything else of ``java`` is not looked at.

    ``client.id`` is not taken over: a broker's logs and quotas shall tell this from the worker. Raises
    :class:`InvalidInput`, which names file and setting, where a setting is missing, contradicts another or needs a
    class of Java.
    """
    servers = ",".join(_SCHEME.sub("", server) for server in java.listed("bootstrap.servers"))
    if not servers:
        raise java.refusal("bootstrap.servers is not set, so there is no Kafka to ask. Name its brokers.")
    protocol = (java.given("security.protocol") or "PLAINTEXT").upper()  # in any case: SecurityProtocol.forName
    if protocol not in _PROTOCOLS:
        raise java.refusal(f"security.protocol is {protocol!r}; Kafka knows {', '.join(_PROTOCOLS)}.")
    if protocol != "PLAINTEXT" and java.given("security.providers"):
        raise java.refusal(
            "security.providers names classes of Java that librdkafka can't run. Use a copy of the file without it, if "
            "the brokers can be reached without them."
        )
    settings, notes = {"bootstrap.servers": servers, "security.protocol": protocol}, []
    for part in ([tls_settings] if "SSL" in protocol else []) + ([sasl_settings] if "SASL" in protocol else []):
        mapped, left_out = part(java)
        settings |= mapped
        notes += left_out
    return ClientSettings(settings, tuple(notes))
