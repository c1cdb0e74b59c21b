"""Settings of a copy that would take the original's secrets to another address."""

from __future__ import annotations

import pytest

from airflow_provider_connect_offsets.offsets.redirected import find_redirecting, show_setting

MIRROR = {
    "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "source.cluster.bootstrap.servers": "eu:9092",
    "source.cluster.sasl.jaas.config": 'PlainLoginModule required password="hunter2";',
    "topics": "orders",
}
JDBC = {"connection.url": "jdbc:postgresql://db/orders", "connection.password": "${file:/secrets:db}", "mode": "bulk"}


@pytest.mark.parametrize(
    ("config", "name", "value"),
    [
        (MIRROR, "source.cluster.bootstrap.servers", "attacker:9092"),
        (MIRROR, "target.cluster.bootstrap.servers", "attacker:9092"),
        (MIRROR, "source.cluster.security.protocol", "PLAINTEXT"),
        (MIRROR, "source.cluster.ssl.endpoint.identification.algorithm", ""),
        (MIRROR, "value.converter.schema.registry.url", "http://attacker"),
        (JDBC, "connection.url", "jdbc:postgresql://attacker/orders"),
        (JDBC, "database.hostname", "attacker"),
        (JDBC, "anything", "attacker.example:5432"),
        (JDBC, "s3.region", "elsewhere"),
        ({"hdfs": "user:hunter2@namenode"}, "fs.endpoint", "attacker"),
    ],
)
def test_a_secret_goes_to_no_other_address(config: dict[str, str], name: str, value: str) -> None:
    """It does not matter how the class names its address and its secret."""
    found = find_redirecting(config, {name: value})

    assert found is not None
    assert (found[0], found[1] in config) == (name, True)


@pytest.mark.parametrize(
    ("config", "overrides"),
    [
        (MIRROR, {"topics": "orders,invoices", "tasks.max": "4", "transforms": None}),
        (MIRROR, {"source.cluster.bootstrap.servers": "eu:9092"}),
        (
            MIRROR,
            {**dict.fromkeys(["source.cluster.sasl.jaas.config"], "${file:/us:jaas}"), "a.url": "us"},
        ),
        ({"file": "/in.txt", "topic": "lines"}, {"bootstrap.servers": "other:9092"}),
    ],
)
def test_other_settings_may_change(config: dict[str, str], overrides: dict[str, str | None]) -> None:
    """So may an address if nothing secret is inherited."""
    assert find_redirecting(config, overrides) is None


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("topics", "orders", "topics=orders"),
        ("transforms", None, "transforms unset"),
        ("connection.password", "hunter2", "connection.password=********"),
        ("connection.password", "${file:/secrets:db}", "connection.password=${file:/secrets:db}"),
        ("connection.url", "https://me:hunter2@db/orders", "connection.url=https://********@db/orders"),
        (
            "connection.url",
            "jdbc:postgresql://db/orders?user=me&password=hunter2",
            "connection.url=jdbc:postgresql://db/orders?user=me&password=********",
        ),
    ],
)
def test_a_person_sees_values_without_secrets(name: str, value: str | None, text: str) -> None:
    """A reference to a config provider is none."""
    assert show_setting(name, value) == text
