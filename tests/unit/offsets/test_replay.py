"""A clone shares nothing with its original; a request names one interval that has passed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.families import FAMILIES
from airflow_provider_connect_offsets.offsets.replay import (
    Range,
    ReplayAction,
    ReplayPlan,
    ReplayRow,
    clone_config,
    refuse_unbounded,
)
from airflow_provider_connect_offsets.offsets.requests.replay import ReplayRequest

NOW = datetime(2026, 5, 3, tzinfo=UTC)
GIVEN: dict[str, Any] = {
    "connector": "orders",
    "run": "dag/run",
    "begins": "2026-05-01T00:00:00+00:00",
    "ends": "2026-05-02T00:00:00+00:00",
    "now": NOW,
}


def test_a_sinks_clone_has_a_group_of_its_own_and_reads_these_topics_only() -> None:
    """All other settings are the original's, secrets too."""
    config = {
        "name": "orders",
        "connector.class": "FileStreamSink",
        "topics.regex": "orders.*",
        "consumer.override.group.id": "orders-readers",
        "connection.password": "secret",
    }

    assert clone_config(config, FAMILIES["sink"], ["orders.b", "orders.a"]) == {
        "connector.class": "FileStreamSink",
        "topics": "orders.a,orders.b",
        "connection.password": "secret",
    }


def test_a_mirrors_clone_writes_records_only() -> None:
    """It writes no offset syncs, settings or ACLs; a dot in a topic's name matches no other character."""
    config = {"name": "m", "topics": ".*", "offset-syncs.topic.location": "target", "sync.topic.acls.enabled": "true"}

    assert clone_config(config, FAMILIES["mirror_source"], ["orders.a"]) == {
        "topics": "orders[.]a",
        "emit.offset-syncs.enabled": "false",
        "heartbeats.replication.enabled": "false",
        "refresh.topics.enabled": "false",
        "source.consumer.auto.offset.reset": "earliest",
        "sync.topic.acls.enabled": "false",
        "sync.topic.configs.enabled": "false",
    }


@pytest.mark.parametrize(
    ("family", "config", "said"),
    [
        (
            "generic_source",
            {"connector.class": "io.debezium.MySql"},
            "is a io.debezium.MySql, and only the connector itself knows",
        ),
        ("mirror_checkpoint", {"connector.class": "MirrorCheckpoint"}, "is a MirrorCheckpoint"),
        ("mirror_source", {"topic.filter.class": "com.acme.Mine"}, "topic.filter.class=com.acme.Mine"),
    ],
)
def test_what_no_interval_bounds_is_refused_by_its_class(family: str, config: dict[str, str], said: str) -> None:
    """Only sinks and MirrorSources read logs from and to an offset."""
    with pytest.raises(InvalidRequest, match=said):
        refuse_unbounded("orders", FAMILIES[family], config)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"connector": ""}, "connector: '' names no connector"),
        ({"ends": GIVEN["begins"]}, "is empty"),
        ({"ends": "2026-05-04T00:00:00+00:00"}, "ends at 2026-05-04T00:00:00.*, which is in the future"),
        ({"begins": "2026-05-01"}, "begins: '2026-05-01' has no time zone"),
        ({"begins": "yesterday"}, "begins: 'yesterday' is not an ISO 8601 time"),
        ({"replay_limit": "1 hour"}, "replay_limit: '1 hour' is not an ISO 8601 duration"),
        ({"replay_limit": "PT0S"}, "leaves no time"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(given: dict[str, str], said: str) -> None:
    """Before anything is read."""
    with pytest.raises(InvalidRequest, match=said):
        ReplayRequest.parse(**{**GIVEN, **given})


def test_a_clones_name_is_that_of_its_run_and_interval() -> None:
    """Each attempt has the same name; another run, or another interval, has a different name."""
    requests = [GIVEN, GIVEN, {**GIVEN, "run": "dag/other"}, {**GIVEN, "begins": "2026-04-30T00:00:00+00:00"}]
    first, again, *others = [ReplayRequest.parse(**given).clone for given in requests]

    assert first == again
    assert first.startswith("orders-replay-")
    assert len({first, *others}) == 3


def test_what_is_delivered_is_counted_in_the_range_and_after_it() -> None:
    """Records before the range are not counted."""
    one = Range("orders", 0, 10, 20)

    assert [(one.count_delivered(at), one.count_beyond(at)) for at in (5, 10, 15, 20, 23)] == [
        (0, 0),
        (0, 0),
        (5, 0),
        (10, 0),
        (10, 3),
    ]


def test_a_plan_gives_the_starts_of_what_the_clone_reads() -> None:
    """A MirrorSource stores the record before; no offset is stored for position 0."""
    row = ReplayRow("m", "m-replay", "mirror_source", '{"partition":0}', "orders", 0, 0, 5, ReplayAction.REPLAY, "")
    at_end = replace(row, partition='{"partition":1}', kafka_partition=1, begins=7, ends=7, action=ReplayAction.AT_END)
    out = replace(row, topic="others", action=ReplayAction.LEAVE_OUT)
    plan = ReplayPlan.of(ReplayRequest.parse(**GIVEN), [out, at_end, row], observed_at=NOW)

    assert plan.topics() == ["orders"]
    assert plan.ranges() == (Range("orders", 0, 0, 5), Range("orders", 1, 7, 7))
    assert plan.starts().by_partition() == {'{"partition":1}': '{"offset":6}'}
