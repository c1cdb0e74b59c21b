"""Claims that offset mappings prove and records disprove, with a real MirrorMaker 2 and foreign records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.mappings import matching
from sandbox import Sandbox, wait_for
from tests.support.flows.failing_back import FailingBack
from tests.support.flows.failing_over import FailingOver, Flowing, rows
from tests.support.flows.groups import commit_groups

pytestmark = pytest.mark.mirror


@pytest.fixture
def flowing(sandbox: Sandbox) -> Iterator[Flowing]:
    """Somebody's record in the remote topic of partition 0, and a transaction's marker in the source, which evens out.

    So the mappings before and after both are as far apart on either side: ``9 → 9`` and ``13 → 13``, but ``11 → 12``.
    """
    flowing = Flowing.start(sandbox, overrides={"offset.lag.max": "100000"})
    flowing.produce(10)
    flowing.wait_until_replicated()
    sandbox.connect.pause(flowing.source_connector)
    sandbox.target.produce(flowing.target_topic, ["somebody's"], partition=0)
    producer = Producer(sandbox.source.client_settings() | {"transactional.id": flowing.mark})
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in ("0:10", "0:11"):
        producer.produce(flowing.topic, value, partition=0)
    producer.commit_transaction(30)
    wait_for(lambda: sandbox.source.log_bounds(flowing.topic)[0], (0, 13), 60, "no marker was written")
    flowing.produce(100)
    sandbox.connect.resume(flowing.source_connector)
    flowing.wait_until_replicated()
    yield flowing
    flowing.close()


def test_a_claim_that_its_record_disproves_closes_the_gate(
    flowing: Flowing, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Far before what is read of the logs; where the record is the same, the claim holds. It is never exact."""
    monkeypatch.setattr(matching, "MOST_OFFSETS", 0)
    groups = {f"{flowing.mark}-{name}": {TopicPartition(flowing.topic, n): 11} for n, name in enumerate(("no", "yes"))}
    commit_groups(flowing.sandbox.source, groups)
    moving = FailingOver(spark, tmp_path.as_uri(), flowing)

    def translated(name: str, compared: int) -> tuple[Any, ...]:
        directory, summary = moving.translate(groups=f"{flowing.mark}-{name}", compared=compared)
        [row] = rows(directory)
        assert (row["upstream"], row["downstream"], row["exact"], row["method"]) == (11, 11, False, "bracket")
        return summary["checked"], summary["errors"]

    assert translated("yes", 0) == (1, [])
    checked, [error] = translated("no", 20)
    assert checked == 1
    assert error == (
        "Records disprove 1 of 1 translated offsets that were checked. For example, the record of topic "
        f"{flowing.topic!r}, partition 0, offset 11 is not the record of topic {flowing.target_topic!r}, offset 11. "
        "Something else writes to the remote topic, or changes records during replication."
    )


def test_so_does_one_of_the_way_home(flowing: Flowing, spark: SparkSession, tmp_path: Path) -> None:
    """Who has read up to somebody's record would pass the one behind it at home. No mapping is exact there."""
    groups = {
        f"{flowing.mark}-{name}": {TopicPartition(flowing.target_topic, n): 11} for n, name in enumerate(("no", "yes"))
    }
    commit_groups(flowing.sandbox.target, groups)
    failing_back = FailingBack(FailingOver(spark, tmp_path.as_uri(), flowing), None)

    def translated(name: str, compared: int) -> tuple[Any, ...]:
        directory, summary = failing_back.translate(groups=f"{flowing.mark}-{name}", compared=compared)
        [row] = rows(directory)
        assert (row["upstream"], row["downstream"], row["exact"], row["method"]) == (11, 11, False, "bracket")
        return summary["checked"], summary["errors"]

    assert translated("yes", 0) == (1, [])
    checked, [error] = translated("no", 20)
    assert checked == 1
    assert error.startswith(
        "Records disprove 1 of 1 translated offsets that were checked. For example, the record of topic "
        f"{flowing.target_topic!r}, partition 0, offset 11 is not the record of topic {flowing.topic!r}, offset 11."
    )
