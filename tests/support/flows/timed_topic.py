"""A topic whose records have known times."""

from __future__ import annotations

from uuid import uuid4

from sandbox import Broker

SECOND = 1000
START = 1_700_000_000_000  # milliseconds; the first record


def timed_topic(broker: Broker) -> str:
    """Create a topic of two partitions: ten records, a second apart, in partition 0, none in 1."""
    name = f"t-{uuid4().hex[:8]}"
    broker.create_topic(name, partitions=2)
    values = [str(number) for number in range(10)]
    broker.produce(name, values, partition=0, timestamps=[START + n * SECOND for n in range(10)])
    return name
