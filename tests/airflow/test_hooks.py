"""Connections become clients: every field, every mistake, and no secret in a log."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

import pytest

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
from airflow_provider_connect_offsets.connect.rest.endpoint import BasicAuth, BearerToken, ConnectEndpoint, OAuthClient
from airflow_provider_connect_offsets.exceptions import InvalidInput, InvalidRequest
from airflow_provider_connect_offsets.hooks import connect_endpoint
from airflow_provider_connect_offsets.hooks import kafka as kafka_hook
from airflow_provider_connect_offsets.hooks.connections import connection_of, flag_of
from airflow_provider_connect_offsets.hooks.failover import make_flow
from airflow_provider_connect_offsets.hooks.kafka import kafka_cluster, kafka_config
from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook
from airflow_provider_connect_offsets.hooks.storage import open_storage
from airflow_provider_connect_offsets.offsets.families import ConnectorType
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.parameters.failover import FailoverParams

SetConnection = Callable[..., None]


@pytest.fixture
def masked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the secrets that Airflow masks."""
    secrets: list[str] = []
    monkeypatch.setattr(connect_endpoint, "mask_secret", secrets.append)
    monkeypatch.setattr(kafka_hook, "mask_secret", secrets.append)
    return secrets


def _endpoint() -> ConnectEndpoint:
    return KafkaConnectHook().endpoint()


@pytest.mark.parametrize(
    ("fields", "urls"),
    [
        ({"host": "c"}, ("http://c:8083",)),
        ({"host": "c", "port": 80}, ("http://c:80",)),
        ({"host": "c", "schema": "https", "port": 443}, ("https://c:443",)),
        ({"host": "a, b:1 ,https://c:2"}, ("http://a:8083", "http://b:1", "https://c:2")),
        ({"host": "a,b", "port": 9}, ("http://a:9", "http://b:9")),
        ({"host": "https://gateway/connect", "port": 443}, ("https://gateway:443/connect",)),
        ({"host": "[::1],[::2]:1"}, ("http://[::1]:8083", "http://[::2]:1")),
    ],
)
def test_workers(connection: SetConnection, fields: dict[str, Any], urls: tuple[str, ...]) -> None:
    """Each worker without a scheme or port of its own has those of the connection."""
    connection(**fields)

    assert _endpoint().urls == urls


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({"host": "a,https://b:2", "login": "me", "password": "s3cret"}, "http://a:8083"),
        ({"host": "a", "extra": {"token": "s3cret"}}, "http://a:8083"),
        ({"host": "a", "extra": {"headers": {"X-Key": "s3cret"}}}, "http://a:8083"),
        (
            {
                "host": "https://a",
                "login": "me",
                "password": "s3cret",
                "extra": {"oauth_token_url": "http://idp/token"},
            },
            "http://idp/token",
        ),
        ({"host": "a"}, ""),
        ({"host": "a", "schema": "https", "login": "me", "password": "s3cret"}, ""),
        ({"host": "127.0.0.1,localhost,[::1]", "login": "me", "password": "s3cret"}, ""),
    ],
)
def test_secrets_that_are_sent_unencrypted(
    connection: SetConnection, caplog: pytest.LogCaptureFixture, fields: dict[str, Any], sent: str
) -> None:
    """A warning names the connection and the address; not on the same machine, as in a sidecar."""
    connection(**fields)

    _endpoint()

    told = "Airflow connection 'kafka_connect_default' sends credentials or headers unencrypted to {}. Use https."
    assert caplog.messages == ([told.format(sent)] if sent else [])


@pytest.mark.parametrize(
    ("protocol", "mechanism", "tokens", "sent"),
    [
        ("SASL_PLAINTEXT", "PLAIN", "", ["k:9092"]),
        ("sasl_plaintext", "OAUTHBEARER", "https://idp/token", ["k:9092"]),
        ("SASL_SSL", "OAUTHBEARER", "http://me:s3cret@idp/token", ["http://idp/token"]),
        ("SASL_PLAINTEXT", "OAUTHBEARER", "http://idp/token", ["k:9092", "http://idp/token"]),
        ("SASL_SSL", "OAUTHBEARER", "http://localhost:8080/token", []),
        ("SASL_SSL", "OAUTHBEARER", "http://[idp/token", []),
        ("SASL_PLAINTEXT", "SCRAM-SHA-512", "", []),
        ("SASL_SSL", "PLAIN", "", []),
    ],
)
def test_kafkas_secrets_that_are_sent_unencrypted(
    connection: SetConnection,
    caplog: pytest.LogCaptureFixture,
    protocol: str,
    mechanism: str,
    tokens: str,
    sent: list[str],
) -> None:
    """A mechanism that sends a password or a token needs TLS, and so does the endpoint that gets a client's secret."""
    extra = {"bootstrap.servers": "k:9092", "security.protocol": protocol, "sasl.mechanism": mechanism}
    connection("kafka_default", conn_type="kafka", extra={**extra, "sasl.oauthbearer.token.endpoint.url": tokens})

    kafka_config()

    warned = [re.search(r"sends its credentials unencrypted to (\S+)\. Use ", text) for text in caplog.messages]
    assert [one and one[1] for one in warned] == sent


def test_a_connection_given_as_a_uri(connection: SetConnection) -> None:
    """All fields of its extra are strings; numbers and headers are parsed."""
    connection(uri="kafka-connect://me:pw@a:1/https?connect_timeout=2&headers=%7B%22X-A%22%3A+%22b%22%7D")

    endpoint = _endpoint()

    assert endpoint.urls == ("https://a:1",)
    assert endpoint.auth == BasicAuth("me", "pw")
    assert (endpoint.connect_timeout, endpoint.headers) == (2.0, {"X-A": "b"})


@pytest.mark.parametrize(
    ("fields", "auth"),
    [
        ({}, None),
        ({"login": "me", "password": "pw"}, BasicAuth("me", "pw")),
        ({"login": "me"}, BasicAuth("me", "")),
        ({"extra": {"token": "t"}}, BearerToken("t")),
        (
            {"login": "id", "password": "s", "extra": {"oauth_token_url": "https://idp/token", "oauth_scope": "x"}},
            OAuthClient("https://idp/token", "id", "s", "x"),
        ),
    ],
)
def test_credentials(connection: SetConnection, fields: dict[str, Any], auth: object) -> None:
    """A connection has no credentials, basic authentication, a token, or OAuth client credentials."""
    connection(host="c", **fields)

    assert _endpoint().auth == auth


def test_all_fields_of_the_extra(connection: SetConnection) -> None:
    """TLS files, headers and timeouts are used; fields that the form left empty count as missing."""
    extra = {"ca": "/ca", "client_cert": "/c", "client_key": "/k", "headers": {"X-A": "b"}, "connect_timeout": 1}
    connection(host="c", extra={**extra, "read_timeout": 200, "token": "", "oauth_scope": None})

    assert _endpoint() == ConnectEndpoint(
        ("http://c:8083",),
        ca="/ca",
        client_cert="/c",
        client_key="/k",
        headers={"X-A": "b"},
        connect_timeout=1,
        read_timeout=200,
        change_timeout=200,
    )


def test_the_timeout_of_a_change_exceeds_the_workers(connection: SetConnection) -> None:
    """A short read timeout is for reading; the answer to a change may take the worker's own limit of 90 s."""
    connection(host="c", extra={"read_timeout": 5})

    assert _endpoint().read_timeout == 5
    assert _endpoint().change_timeout > 90


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {"extra": {"verify": False, "Token": "s3cret"}},
            "unknown fields: Token, verify.*Known fields: answer_limit, ca, ",
        ),
        ({"host": ""}, "has no host"),
        ({"host": "me:s3cret@c"}, "Leave login and password out"),
        ({"schema": "ftp"}, "must look like"),
        ({"extra": {"token": "s3cret"}, "login": "me"}, "a token and another way"),
        ({"extra": {"oauth_token_url": "https://idp"}}, "client id as login"),
        ({"extra": {"oauth_token_url": "idp"}, "login": "a", "password": "s3cret"}, "OAuth token URL"),
        ({"extra": {"oauth_scope": "x"}}, "no oauth_token_url"),
        ({"password": "s3cret"}, "a password, but no login"),
        ({"extra": {"client_key": "/k"}}, "client_cert"),
        ({"extra": {"connect_timeout": "soon"}}, "connect_timeout must be a number of seconds"),
        ({"extra": {"connect_timeout": True}}, "connect_timeout must be a number of seconds"),
        ({"extra": {"read_timeout": "inf"}}, "read_timeout must be a number of seconds"),
        ({"extra": {"read_timeout": -1}}, "Timeouts"),
        ({"extra": {"headers": ["s3cret"]}}, "headers must be a JSON object"),
        ({"extra": {"headers": "s3cret"}}, "headers must be a JSON object"),
        ({"extra": {"headers": {"X-A": 1}}}, "'X-A'"),
        ({"extra": {"ca": 1}}, "ca must be a string"),
        ({"extra": "no json s3cret"}, "must be a JSON object"),
        ({"extra": "[]"}, "must be a JSON object"),
    ],
)
def test_mistakes_are_named(connection: SetConnection, fields: dict[str, Any], text: str) -> None:
    """Every mistake names the connection and the field, says what is wrong, and shows no secret."""
    connection(**{"host": "c", **fields})

    with pytest.raises(InvalidInput, match=text) as caught:
        _endpoint()

    assert "'kafka_connect_default'" in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "flag"), [(True, True), ("true", True), ("True", True), (False, False), ("false", False), (None, False)]
)
def test_a_flag_may_be_a_text(connection: SetConnection, *, value: object, flag: bool) -> None:
    """A connection given as a URI, and the form's own JSON, have strings; the string "false" is not true."""
    connection(extra={"offsets_topic": "o", "exactly_once": value})

    assert flag_of(connection_of("kafka_connect_default", conn_type=None, example=""), "exactly_once") is flag


def test_an_invalid_flag_is_named(connection: SetConnection) -> None:
    """Before anything is opened."""
    connection(extra={"offsets_topic": "o", "group_id": "g", "exactly_once": "maybe"})

    with pytest.raises(InvalidInput, match=r"'kafka_connect_default': exactly_once: 'maybe' is neither true nor false"):
        open_storage("kafka_connect_default")


@pytest.mark.parametrize("storage", [{"offsets_topic": "o", "group_id": "g"}, {"offsets_file": "/o"}])
def test_a_misspelt_field_of_a_storage_is_named(connection: SetConnection, storage: dict[str, str]) -> None:
    """Left out, exactly_once would let a change overwrite what a worker has not committed yet."""
    connection(extra={**storage, "exactly_onec": True})

    with pytest.raises(InvalidInput, match="'kafka_connect_default': Its extra has unknown fields: exactly_onec"):
        open_storage("kafka_connect_default")


@pytest.mark.parametrize(
    ("name", "given", "configured"),
    [
        ("source_alias", "north", "a"),
        ("target_alias", "south", "b"),
        ("replication_policy", "identity", "default"),
        ("separator", "_", "."),
        ("syncs_on", "target", "source"),
    ],
)
def test_a_flow_is_described_once(name: str, given: str, configured: str) -> None:
    """What a Param says otherwise than the connector is refused, and nothing is ignored."""
    config = {"source.cluster.alias": "a", "target.cluster.alias": "b"}
    mirror = ConnectorInfo("mirror", ConnectorType.SOURCE, config)

    with pytest.raises(InvalidRequest, match=f"{name} is '{given}', but 'mirror' is configured with '{configured}'"):
        make_flow(FailoverParams.parse(**{name: given}), mirror)

    assert make_flow(FailoverParams.parse(**{name: configured}), mirror) == Flow.of(config)


def test_a_missing_connection_says_how_to_add_it() -> None:
    """The error is one sentence with the command that adds it."""
    with pytest.raises(InvalidInput, match="airflow connections add nowhere --conn-type kafka_connect") as caught:
        KafkaConnectHook("nowhere").get_conn()

    assert "There is no Airflow connection 'nowhere'" in str(caught.value)


def test_a_connection_of_another_type_is_refused(connection: SetConnection) -> None:
    """An http connection would be misread."""
    connection(conn_type="http", host="c")

    with pytest.raises(InvalidInput, match="is of type 'http', but 'kafka_connect' is needed"):
        _endpoint()


def test_secrets_are_masked(connection: SetConnection, masked: list[str]) -> None:
    """Tokens, passwords and values of headers are passed to Airflow's masker, usable or not."""
    connection(host="c", login="me", password="pass-word", extra={"headers": {"X-Key": "head-er"}})
    _endpoint()
    assert masked == ["pass-word", "head-er"]

    masked.clear()
    connection(host="c", extra={"headers": "unusable-text", "token": "tok-en"})
    with pytest.raises(InvalidInput):
        _endpoint()
    assert masked == ["tok-en", "unusable-text"]


def test_the_settings_of_a_kafka_connection(connection: SetConnection, masked: list[str]) -> None:
    """Librdkafka's settings come from the extra, through the provider's own hook; secrets are masked by any name."""
    extra = {
        "bootstrap.servers": "k:1",
        "sasl.password": "pass-word",
        "sasl.oauthbearer.config": "jaas-like",
        "a": None,
    }
    connection("kafka_default", conn_type="kafka", extra=extra)

    assert kafka_config() == {key: value for key, value in extra.items() if value}
    assert masked == ["pass-word", "jaas-like"]


def test_clients_of_kafka(connection: SetConnection) -> None:
    """Logs and groups are those of the brokers that the connection names."""
    connection("k", conn_type="kafka", extra={"bootstrap.servers": "127.0.0.1:1"})

    with kafka_cluster("k") as cluster:
        assert (cluster.servers, cluster.groups.servers) == ("127.0.0.1:1", "127.0.0.1:1")


AT_MSK = {
    "bootstrap.servers": "b-1.demo.abcde1.c2.kafka.us-east-1.amazonaws.com:9098",
    "security.protocol": "SASL_SSL",
    "sasl.mechanisms": "OAUTHBEARER",
}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"conn_type": "kafka", "extra": {}}, "has no brokers. Set bootstrap.servers"),
        ({"conn_type": "kafka", "extra": "x"}, "must be a JSON object"),
        ({"conn_type": "http", "host": "k"}, "is of type 'http', but 'kafka' is needed"),
        ({"conn_type": "kafka", "extra": {"bootstrap.servers": "k:1", "oauth_cb": "os.system"}}, "oauth_cb"),
        ({"conn_type": "kafka", "extra": AT_MSK}, "install the 'msk' extra"),
    ],
)
def test_mistakes_in_a_kafka_connection_are_named(
    connection: SetConnection, caplog: pytest.LogCaptureFixture, fields: dict[str, Any], text: str
) -> None:
    """The connection and what is wrong with it."""
    caplog.set_level(logging.ERROR)
    connection("kafka_default", **fields)

    with pytest.raises(InvalidInput, match=text) as caught:
        kafka_config()

    assert "'kafka_default'" in str(caught.value)


def test_a_missing_kafka_connection_says_how_to_add_it() -> None:
    """The error is one sentence with the command that adds it."""
    with pytest.raises(InvalidInput, match="airflow connections add nowhere --conn-type kafka"):
        kafka_cluster("nowhere")
