"""A worker's properties file: kind of worker, where it stores offsets, and its REST API."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import javaproperties
import pytest

from airflow_provider_connect_offsets.connect.storage.java.worker_config import (
    WorkerConfig,
    read_worker_config,
)
from airflow_provider_connect_offsets.exceptions import InvalidInput

Read = Callable[[dict[str, str]], WorkerConfig]
DISTRIBUTED = {
    "bootstrap.servers": "a:1",
    "group.id": "connect",
    "offset.storage.topic": "connect-offsets",
    "config.storage.topic": "connect-configs",
}
STANDALONE = {"bootstrap.servers": "a:1", "offset.storage.file.filename": "/var/connect.offsets"}
JSON = "org.apache.kafka.connect.json.JsonConverter"


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write a file and read it."""

    def write_and_read(settings: dict[str, str]) -> WorkerConfig:
        path = tmp_path / "worker.properties"
        path.write_text(javaproperties.dumps(settings), encoding="latin-1")
        return read_worker_config(path)

    return write_and_read


def test_a_distributed_worker(read: Read, tmp_path: Path) -> None:
    """It has a group and a topic; a file in its settings is not used."""
    worker = read({**DISTRIBUTED, **STANDALONE, "exactly.once.source.support": "ENABLED"})

    assert (worker.path, worker.offsets_file) == (tmp_path / "worker.properties", None)
    assert (worker.offsets_topic, worker.config_topic) == ("connect-offsets", "connect-configs")
    assert (worker.group_id, worker.offsets_file, worker.exactly_once) == ("connect", None, True)
    assert not read({**DISTRIBUTED, "exactly.once.source.support": "preparing"}).exactly_once


def test_a_standalone_worker(read: Read) -> None:
    """It has a file; a group alone does not make it distributed."""
    worker = read({**STANDALONE, "group.id": "connect"})

    assert worker.offsets_file == Path("/var/connect.offsets")
    assert (worker.offsets_topic, worker.config_topic, worker.group_id) == ("", "", "")
    assert worker.client().settings["bootstrap.servers"] == "a:1"


def test_another_file_is_refused(read: Read) -> None:
    """With the settings of each kind of worker, and which of them the file has."""
    with pytest.raises(InvalidInput, match=r"Of these settings, this file has group\.id\."):
        read({"group.id": "connect", "bootstrap.servers": "a:1"})
    with pytest.raises(InvalidInput, match=r"A distributed worker has group\.id and .*, this file has none\."):
        read({})


def test_a_flow_is_for_mirror_maker(tmp_path: Path) -> None:
    """For other files it is an error."""
    path = tmp_path / "worker.properties"
    path.write_text(javaproperties.dumps(DISTRIBUTED))

    with pytest.raises(InvalidInput, match=r"not a file of MirrorMaker 2 .* no flow 'a->b'"):
        read_worker_config(path, flow="a->b")


@pytest.mark.parametrize("part", ["internal.key.converter", "internal.value.converter"])
def test_internal_converters_of_old_workers(read: Read, part: str) -> None:
    """Plain JSON is accepted, however it is configured; all else is refused."""
    for fine in ({part: JSON, f"{part}.schemas.enable": "False"}, {f"{part}.schemas.enable": "false"}):
        assert read({**DISTRIBUTED, **fine}).offsets_topic == "connect-offsets"
        assert read({**STANDALONE, **fine}).offsets_file
    for bad in (
        {part: JSON},
        {part: JSON, f"{part}.schemas.enable": "true"},
        {f"{part}.schemas.enable": "true"},
        {part: "io.confluent.connect.avro.AvroConverter", f"{part}.schemas.enable": "false"},
    ):
        with pytest.raises(InvalidInput, match=f"With {part}, a worker older than Kafka 3.0"):
            read({**DISTRIBUTED, **bad})


@pytest.mark.parametrize(
    ("settings", "urls"),
    [
        ({}, ("http://127.0.0.1:8083",)),
        ({"listeners": ""}, ("http://127.0.0.1:8083",)),
        ({"rest.host.name": "h", "rest.port": "1"}, ("http://h:1",)),
        ({"listeners": "http://:1"}, ("http://127.0.0.1:1",)),
        ({"listeners": "HTTP://0.0.0.0:1, https://h:2"}, ("http://127.0.0.1:1", "https://h:2")),
        ({"listeners": "https://h:2,http://h:1"}, ("http://h:1", "https://h:2")),
        ({"listeners": "https://[::]:2,https://[fe80::1]:3"}, ("https://127.0.0.1:2", "https://[fe80::1]:3")),
        ({"listeners": "http://h:0"}, ()),
        (
            {"listeners": "http://h:1,https://h:2", "rest.advertised.listener": "HTTPS"},
            ("https://h:2", "http://h:1"),
        ),
        (
            {"rest.advertised.host.name": "connect.example.com", "rest.advertised.port": "80"},
            ("http://connect.example.com:80", "http://127.0.0.1:8083"),
        ),
    ],
)
def test_where_it_answers(read: Read, settings: dict[str, str], urls: tuple[str, ...]) -> None:
    """The advertised URL comes first; a wildcard address is this machine; a random port is unknown."""
    assert read({**DISTRIBUTED, **settings}).listeners == urls


@pytest.mark.parametrize("settings", [{"listeners": "h:1"}, {"listeners": "ftp://h:1"}, {"rest.advertised.port": "x"}])
def test_listeners_that_cannot_be_read(read: Read, settings: dict[str, str]) -> None:
    """Connect would not start."""
    with pytest.raises(InvalidInput, match=next(iter(settings))):
        read({**DISTRIBUTED, **settings})


def test_a_connectors_producer_has_no_security_of_the_workers_top_level(read: Read) -> None:
    """The connector's settings override the worker's producer settings."""
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required username=me password='${env:SECRET}';"
    worker = read(
        {
            **DISTRIBUTED,
            "config.providers": "env",
            "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
            "security.protocol": "SSL",
            "producer.security.protocol": "SASL_PLAINTEXT",
            "producer.sasl.mechanism": "PLAIN",
        }
    )

    assert worker.client().settings["security.protocol"] == "SSL"
    with pytest.raises(InvalidInput, match=r"\(producer of a connector\): sasl\.jaas\.config is not set"):
        worker.override({})
    with pytest.raises(InvalidInput, match="environment variable SECRET is not set"):
        worker.override({"sasl.jaas.config": login})
    assert worker.override({"bootstrap.servers": "b:2", "security.protocol": "PLAINTEXT"}).settings == {
        "bootstrap.servers": "b:2",
        "security.protocol": "PLAINTEXT",
    }
    assert worker.override({"security.protocol": "PLAINTEXT"}).settings["bootstrap.servers"] == "a:1"


@pytest.fixture
def secured(read: Read) -> WorkerConfig:
    """A worker whose producers log in over TLS."""
    return read(
        {
            **DISTRIBUTED,
            "config.providers": "env",
            "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
            "producer.security.protocol": "SASL_SSL ",  # as Kafka takes it too
            "producer.sasl.mechanism": "PLAIN",
            "producer.sasl.jaas.config": PLAIN.format("s3cret"),
        }
    )


PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required username=me password='{}';"


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"bootstrap.servers": "evil:9092"}, "evil"),
        ({"bootstrap.servers": "A:9,SASL_SSL://[::1]:9092"}, r"\[::1\]"),
        ({"bootstrap.servers": "evil:1", "sasl.jaas.config": PLAIN.format("${env:HOME}")}, "evil"),
        ({"bootstrap.servers": "${env:HOME}"}, r"\$\{env:home\}"),
        ({"sasl.oauthbearer.token.endpoint.url": "https://evil/token"}, "evil"),
        ({"security.protocol": "SASL_PLAINTEXT"}, "not sent without TLS"),
    ],
)
def test_a_login_follows_no_connector_to_strangers(secured: WorkerConfig, settings: dict[str, str], named: str) -> None:
    """Write access to a connector's configuration in Kafka gives no access to the worker's passwords."""
    with pytest.raises(InvalidInput, match=named) as caught:
        secured.override(settings)

    assert "s3cret" not in str(caught.value)


def test_a_login_goes_to_hosts_that_someone_has_named(secured: WorkerConfig) -> None:
    """Those in the file and in CONNECT_OFFSETS_BROKERS; a connector's own login is sent where it says."""
    own = {"bootstrap.servers": "evil:1", "sasl.jaas.config": PLAIN.format("its own")}

    assert secured.override({"bootstrap.servers": "A:9"}).settings["sasl.password"] == "s3cret"
    assert secured.override({"bootstrap.servers": "b:9"}, trusted=["b"]).settings["sasl.password"] == "s3cret"
    assert secured.override(own).settings["sasl.password"] == "its own"
    bare = secured.override({"bootstrap.servers": "evil:1", "security.protocol": "SSL"})
    assert "sasl.password" not in bare.settings


def test_nothing_of_a_password_shows(read: Read) -> None:
    """Not even a password in the file shows; an unresolved reference prevents only what needs it."""
    worker = read(
        {
            **DISTRIBUTED,
            "config.providers": "v",
            "config.providers.v.class": "com.example.Vault",
            "ssl.key.password": "s3cret",
            "connector.password": "${v:a:b}",
            "security.protocol": "${v:a:protocol}",
        }
    )

    assert "s3cret" not in repr(worker)
    assert "s3cret" not in repr(worker._settings)
    with pytest.raises(InvalidInput, match=r"security\.protocol refers to \$\{v:a:protocol\}"):
        worker.client()
