"""The settings of a connector in a workspace: no secret, and all that rules read."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

import airflow_provider_connect_offsets
from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo, ConnectorStatus, State
from airflow_provider_connect_offsets.observe.snapshot import ObservedConnector, connector_row
from airflow_provider_connect_offsets.offsets.advice import advise, mirrored_groups
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.families import FAMILIES, ConnectorType, TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.kept_config import KEPT, READS, kept_config

PACKAGE = Path(airflow_provider_connect_offsets.__file__).parent
SECRETS = {
    "basic.auth.user.info": "me:s3cret",
    "ssl.keystore.key": "-----BEGIN s3cret",
    "connection.string": "Endpoint=sb://x;SharedKey=s3cret",
    "azblob.account.key": "s3cret",
    "connection.url": "jdbc:postgresql://me:s3cret@db/x",
    "producer.override.sasl.jaas.config": 'PlainLoginModule required password="s3cret";',
    "source.cluster.bootstrap.servers": "me:s3cret@kafka:9092",
    "transforms.pseudonym.salt": "s3cret",
    "s3cret": "a name may be one, too",
}


class Recording(dict[str, str]):
    """A configuration that records which settings were read."""

    def __init__(self) -> None:
        super().__init__()
        self.read: set[str] = set()

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
        self.read.add(name)
        return default

    def __getitem__(self, name: str) -> str:
        self.read.add(name)
        raise KeyError(name)


def test_no_secret_is_written() -> None:
    """The row has only listed settings, whatever the connector and the names of its secrets."""
    config = {**SECRETS, "connector.class": "X", "topics": "orders", "file": "sftp://me:s3cret@host/in"}
    observed = ObservedConnector(
        ConnectorInfo("c", ConnectorType.SINK, config), ConnectorStatus(State.RUNNING, ""), Offsets()
    )

    row = connector_row(observed, "k", datetime(2026, 1, 31, tzinfo=UTC))

    assert "s3cret" not in str(row)
    assert json.loads(row["config"]) == {
        "connector.class": "X",
        "file": "sftp://********@host/in",
        "source.cluster.bootstrap.servers": "********@kafka:9092",
        "topics": "orders",
    }


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("https://me:p@ss/w@host:1/x", "https://********@host:1/x"),
        ("a://u:p@h1,b://h2", "a://********@h1,b://h2"),
        ("me:p/w@kafka:9092,you:q@kafka2:9092", "********@kafka:9092,********@kafka2:9092"),
        ("${file:/secrets.properties:topic}", "${file:/secrets.properties:topic}"),
        ("(?:a|b):c.*", "(?:a|b):c.*"),
        ("me:hunter2@kafka:9092;topic=a", "********@kafka:9092;topic=a"),
        (r"orders\..*, [a-z]+", r"orders\..*, [a-z]+"),
    ],
)
def test_a_kept_value_carries_no_credentials(value: str, kept: str) -> None:
    """Credentials in addresses are masked; references and patterns stay."""
    assert kept_config({"topics": value}) == {"topics": kept}


def test_all_that_rules_read_is_kept() -> None:
    """For a setting that is not kept, a rule would use the default instead of the configured value."""
    config = Recording()
    for family in FAMILIES.values():
        family.consumed_topics(config)
        family.excluded_topics(config)
        family.offset_reset(config)
        family.partition_of(TopicPartition("t", 0), config)
        list(family.check({"cluster": "x", "filename": "x"}, {"offset": 1}, config))
    Flow.of(config)
    mirrored_groups(config)
    advise(("source", config), ("checkpoint", config))
    sources = [path.read_text() for folder in ("pipeline", "report") for path in (PACKAGE / folder).rglob("*.py")]
    named = {name for text in sources for name in re.findall(r'config(?:\.get\(|\[)"([^"]+)"', text)}
    # The value of a constant there.
    named |= {name for text in sources for name in re.findall(r'^OWN_TOPIC = "([^"]+)"', text, re.MULTILINE)}

    assert {"topics.regex", "consumer.override.max.poll.records", "offsets.storage.topic"} <= config.read | named
    assert config.read | named <= KEPT


def test_all_that_decides_about_topics_and_starts_is_compared() -> None:
    """A plan is outdated if a setting has changed since on which its partitions and positions depend."""
    for family in FAMILIES.values():
        config = Recording()
        family.consumed_topics(config)
        family.excluded_topics(config)
        family.offset_reset(config)
        family.partition_of(TopicPartition("t", 0), config)

        assert config.read <= READS.union(family.settings)


def test_a_failed_tasks_cause_shows_no_login() -> None:
    """Drivers often put the URL into the first line of their stack trace."""
    status = ConnectorStatus(State.FAILED, "w", trace="java.sql.SQLException: jdbc:x://me:s3cret@db/x refused\n\tat a")

    assert status.cause == "java.sql.SQLException: jdbc:x://********@db/x refused"
