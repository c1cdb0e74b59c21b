"""Clients of a Kafka cluster, opened from a ``kafka`` connection of the apache-kafka provider."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from airflow.providers.apache.kafka.hooks.base import KafkaBaseHook
from airflow.providers.common.compat.sdk import AirflowOptionalProviderFeatureException
from airflow.sdk.log import mask_secret

from airflow_provider_connect_offsets.connect.rest.endpoint import is_unencrypted, without_secrets
from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.hooks.connections import connection_of, extra_of
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster

log = logging.getLogger(__name__)
DEFAULT_CONN_ID = "kafka_default"
_EXAMPLE = """--conn-type kafka --conn-extra '{"bootstrap.servers": "kafka.example.com:9092"}'"""
_SECRET_WORDS = ("password", "secret", "jaas", "token", "key.pem", "oauthbearer.config")


def kafka_config(conn_id: str = DEFAULT_CONN_ID) -> dict[str, Any]:
    """Return the librdkafka settings of a ``kafka`` connection, with the callbacks of its provider (OAuth, MSK IAM).

    Raises:
        InvalidInput: The connection is missing, names no brokers, or its provider refuses it.
    """
    connection = connection_of(conn_id, conn_type=KafkaBaseHook.conn_type, example=_EXAMPLE)
    extra = extra_of(connection)
    _mask(extra)
    if not extra.get("bootstrap.servers"):
        raise InvalidInput(f"Airflow connection {conn_id!r} has no brokers. Set bootstrap.servers in its extra.")
    try:
        config: dict[str, Any] = _Settings(kafka_config_id=conn_id).get_conn  # type: ignore[no-untyped-call]
    except (ValueError, AirflowOptionalProviderFeatureException) as error:
        raise InvalidInput(f"Airflow connection {conn_id!r} can't be used: {error}") from error
    for where, remedy in _unencrypted(config):
        log.warning("Airflow connection %r sends its credentials unencrypted to %s. Use %s.", conn_id, where, remedy)
    return config


def _unencrypted(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield where a password, a secret or a token itself goes without TLS, and what prevents that.

    A SCRAM mechanism sends none of them. With OAUTHBEARER the client's secret goes to the token endpoint.
    """
    protocol = str(config.get("security.protocol", "")).upper()
    mechanism = str(config.get("sasl.mechanism") or config.get("sasl.mechanisms") or "").upper()
    if protocol == "SASL_PLAINTEXT" and mechanism in {"PLAIN", "OAUTHBEARER"}:
        yield config["bootstrap.servers"], "security.protocol=SASL_SSL, or a SCRAM mechanism"
    tokens = str(config.get("sasl.oauthbearer.token.endpoint.url", ""))
    if mechanism == "OAUTHBEARER" and is_unencrypted(tokens):
        yield without_secrets(tokens), "https in sasl.oauthbearer.token.endpoint.url"


def kafka_cluster(conn_id: str = DEFAULT_CONN_ID, *, patient: bool = True) -> KafkaCluster:
    """Open the client of a ``kafka`` connection's cluster.

    Args:
        conn_id: The connection.
        patient: Whether requests wait for brokers even if none is at any address; a task that changes nothing need not.

    Raises:
        InvalidInput: As ``kafka_config``.
        NobodyThere: Not ``patient``, and no broker can be reached. Other store errors: see ``Brokers.greet``.
    """
    cluster = KafkaCluster(kafka_config(conn_id))
    if not patient:
        cluster.greet()
    return cluster


def offsets_topic(conn_id: str, topic: str) -> OffsetsTopic:
    """Open the offsets topic of a Connect cluster that uses this Kafka cluster; raises as ``kafka_config`` does."""
    return OffsetsTopic(kafka_config(conn_id), topic)


class _Settings(KafkaBaseHook):
    """The provider's hook, which returns the settings themselves instead of a client."""

    def _get_client(self, config: dict[str, Any]) -> dict[str, Any]:
        # The form stores empty fields too, which librdkafka would read as settings.
        return {name: value for name, value in config.items() if value is not None and value != ""}


def _mask(extra: dict[str, Any]) -> None:
    """Mask secrets in logs; Airflow itself masks by the names of fields, and does not know ``sasl.jaas.config``."""
    for name, value in extra.items():
        if isinstance(value, str) and any(word in name.lower() for word in _SECRET_WORDS):
            mask_secret(value)
