"""The age of the records at a position, and when the brokers will delete them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from airflow_provider_connect_offsets.kafka.logs import KafkaLogs, Retention
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.schemas import LOG_BOUNDS, VERDICTS
from sandbox import Sandbox
from tests.support.flows.flows import Changer, SinkFlow

HOUR = 3_600_000


def test_records_by_their_age(sandbox: Sandbox) -> None:
    """The topic's own settings count, or the brokers' defaults (here: no limit), for any timestamp type."""
    mark, now = uuid4().hex[:8], round(time.time() * 1000)
    own = {"retention.ms": str(HOUR)}
    topics = {
        "own": own,
        "default": {},
        "unlimited": {"retention.ms": "-1"},
        "compacted": {**own, "cleanup.policy": "compact"},
        "both": {**own, "cleanup.policy": "compact,delete"},
        "appended": {**own, "message.timestamp.type": "LogAppendTime"},
    }
    for name, config in topics.items():
        sandbox.target.create_topic(f"{name}-{mark}", config=config)
        # The youngest is in the same segment, so that the broker deletes none of them meanwhile.
        times = (now - 2 * HOUR, now - HOUR // 2, now + HOUR // 6)
        sandbox.target.produce(f"{name}-{mark}", ["a", "b", "c"], keys=["a", "b", "c"], timestamps=times)
    places = {name: TopicPartition(f"{name}-{mark}", 0) for name in topics}

    with KafkaLogs({"bootstrap.servers": sandbox.target.bootstrap}) as logs:
        bounds = logs.bounds(places.values())
        found = logs.retention(bounds, now=datetime.fromtimestamp(now / 1000, UTC), soon=timedelta(hours=1))

    assert {name: found[where] for name, where in places.items()} == {
        "own": Retention("delete", HOUR, expired_offset=1, expiring_offset=2),
        "default": Retention("delete", -1),
        "unlimited": Retention("delete", -1),
        "compacted": Retention("compact", HOUR),
        "both": Retention("compact,delete", HOUR, expired_offset=1, expiring_offset=2),
        "appended": Retention("delete", HOUR, expired_offset=0, expiring_offset=0),
    }


def test_a_plan_warns_of_records_that_will_be_deleted(sink: SinkFlow, target_changer: Changer) -> None:
    """The approver reads it before anything is stopped; the log end is no record, and is not warned of."""
    _keep_for(sink, HOUR // 2)

    run, summary = target_changer.plan(sink.name, "offset", "10")
    _run, at_the_end = target_changer.plan(sink.name, "offset", str(sink.end()))

    expiring = [row for row in read_dataset(run.verdicts, VERDICTS) if row["rule"] == "expiring"]
    assert [(row["severity"], row["partition"]) for row in expiring] == [
        ("warning", f'{{"kafka_partition":0,"kafka_topic":"{sink.topic}"}}')
    ]
    assert f"position 10 will be older than retention.ms={HOUR // 2} within an hour" in expiring[0]["message"]
    assert summary["errors"] == []
    assert "expiring" not in str(at_the_end)
    kept = [row for row in read_dataset(run.log_bounds, LOG_BOUNDS) if row["retention_ms"] is not None]
    assert [row["topic"] for row in kept] == [sink.topic], "the settings of other topics are none of its business"


def _keep_for(sink: SinkFlow, milliseconds: int) -> None:
    sink.sandbox.target.set_topic_config(sink.topic, "retention.ms", str(milliseconds))
