"""Log ends of many partitions, compared with a call for each partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import tenacity
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]
from rows import Row
from timing import timed

from airflow_provider_connect_offsets.clock import make_attempts
from airflow_provider_connect_offsets.exceptions import StoreError
from airflow_provider_connect_offsets.kafka.logs import KafkaLogs
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from sandbox import Broker, Sandbox

SIZES, OF_A_TOPIC = (1_000, 10_000), 1_000


def rows(runs: int, scale: float) -> Iterator[Row]:
    """Return a row for each number of partitions; both ways read log start and log end offsets."""
    with Sandbox() as sandbox:
        for size in SIZES:
            where = _created(sandbox.target, max(1, round(size * scale)))
            with KafkaLogs(sandbox.target.client_settings()) as logs, _consumer(sandbox.target) as consumer:
                at_once, one_by_one = partial(logs.bounds, where), partial(_one_by_one, consumer, where)
                make_attempts(tenacity.retry_if_exception_type(StoreError), timeout=60)(
                    at_once
                )  # until each has a leader
                one_by_one()  # so that both are connected
                floor = partial(_listed, AdminClient(sandbox.target.client_settings()), where)
                ours, theirs, least = timed(runs, at_once, one_by_one, floor)
            shows = f"confluent-kafka's list_offsets of the same partitions alone: {min(least):.3g} s"
            yield Row(f"log ends of {len(where):,} partitions", ours, "a call for each", theirs, 1 / 50, shows)


def _created(broker: Broker, partitions: int) -> list[TopicPartition]:
    """Create so many partitions, in topics of at most ``OF_A_TOPIC``."""
    where = [TopicPartition(f"ends-{partitions}-{one // OF_A_TOPIC}", one % OF_A_TOPIC) for one in range(partitions)]
    for topic, count in Counter(one.topic for one in where).items():
        broker.create_topic(topic, partitions=count)
    return where


@contextmanager
def _consumer(broker: Broker) -> Iterator[Consumer]:
    consumer = Consumer({**broker.client_settings(), "group.id": "floor"})
    yield consumer
    consumer.close()


def _listed(client: AdminClient, partitions: list[TopicPartition]) -> None:
    """Read the same by the client that ours calls, without its checks and values."""
    where = [KafkaPartition(one.topic, one.partition) for one in partitions]
    for spec in (OffsetSpec.earliest(), OffsetSpec.latest()):  # type: ignore[no-untyped-call]
        for future in client.list_offsets(dict.fromkeys(where, spec)).values():
            future.result()


def _one_by_one(consumer: Consumer, partitions: list[TopicPartition]) -> None:
    for one in partitions:
        consumer.get_watermark_offsets(KafkaPartition(one.topic, one.partition), timeout=10)
