"""``connect-offsets --export``, compared with a bare librdkafka consumer that reads the same topic to its end.

Both run in turn as whole processes, on an offsets topic of 25 partitions.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from rows import Row
from timing import measured

from sandbox import Broker, Sandbox

PARTITIONS, RECORDS, FEWER, MANY = 25, 113_000, 5_000, 1_000_000
# Default settings, except that the consumer reports the end of a partition.
OPEN = """
import json, sys
from confluent_kafka import Consumer, TopicPartition
bootstrap, topic, partitions = sys.argv[1], sys.argv[2], int(sys.argv[3])
own = {"bootstrap.servers": bootstrap, "group.id": "floor", "enable.auto.commit": False, "enable.partition.eof": True}
consumer = Consumer({**own, "auto.offset.reset": "earliest"})
consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
"""
READ = f"""{OPEN}
while partitions:
    partitions -= sum(message.error() is not None for message in consumer.consume(10_000, 0.1))
consumer.close()
"""
# The least that an export does with a record: parse its JSON, keep the last one of each key, and write it.
PARSE = f"""{OPEN}
last = {{}}
while partitions:
    for message in consumer.consume(10_000, 0.1):
        if message.error() is not None:
            partitions -= 1
        else:
            last[message.key()] = json.loads(message.key()), json.loads(message.value())
consumer.close()
for (connector, partition), offset in last.values():
    print(json.dumps({{"connector": connector, "partition": partition, "offset": offset}}))
"""


def rows(runs: int, scale: float) -> Iterator[Row]:
    """Return a row for each topic."""
    few, many = round(RECORDS * scale), round(MANY * scale)
    with Sandbox() as sandbox:
        for records, distinct in ((few, few), (few, max(1, round(FEWER * scale))), (many, many)):
            topic = _filled(sandbox.target, records, distinct=distinct)
            pairs = [
                (_floor(READ, sandbox, topic), _export(sandbox, topic), _floor(PARSE, sandbox, topic))
                for _ in range(runs)
            ]
            theirs, ours, parsing = zip(*pairs, strict=True)
            yield Row(
                f"export of {records:,} records of {distinct:,} source partitions",
                [seconds for seconds, _megabytes in ours],
                "a bare librdkafka consumer",
                theirs,
                goal=1.5,
                shows=f"{max(megabytes for _seconds, megabytes in ours):,.0f} MB at most; a consumer that parses each "
                f"record and writes it as JSON: {min(parsing):.3g} s",
            )


def _filled(broker: Broker, count: int, *, distinct: int) -> str:
    topic = f"offsets-{count}-{distinct}"
    broker.create_topic(topic, partitions=PARTITIONS, config={"cleanup.policy": "compact"})
    broker.produce(topic, _values(count), keys=_keys(count, distinct))
    return topic


def _keys(count: int, distinct: int) -> Iterator[str]:
    for number in range(count):
        connector, partition, topic = number % distinct % 50, number % distinct // 50 % 100, number % distinct // 5_000
        where = {"cluster": "primary", "partition": partition, "topic": f"orders-and-deliveries-{topic}"}
        yield json.dumps([f"mirror-{connector:02d}", where], separators=(",", ":"))


def _values(count: int) -> Iterator[str]:
    return (f'{{"offset":{number}}}' for number in range(count))


def _floor(program: str, sandbox: Sandbox, topic: str) -> float:
    return measured(sys.executable, "-c", program, sandbox.target.bootstrap, topic, str(PARTITIONS))[0]


def _export(sandbox: Sandbox, topic: str) -> tuple[float, float]:
    config = Path(sandbox.data, f"{topic}.properties")
    config.write_text(
        f"bootstrap.servers={sandbox.target.bootstrap}\ngroup.id=none\noffset.storage.topic={topic}\n"
        "config.storage.topic=connect-configs\n"
    )
    return measured(sys.executable, "-m", "airflow_provider_connect_offsets.cli", "--export", "--config", str(config))
