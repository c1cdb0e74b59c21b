"""Records that a reader at a position has not read yet: whether there is any, and how old the first one is.

Offsets alone don't tell: a log that ends with transaction markers ends beyond its last record, and no reader ever gets
to that end. So the first record at or after the position is read. Sources: KIP-98, ``MirrorSourceTask``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import confluent_kafka
from confluent_kafka import Consumer, IsolationLevel
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK
from airflow_provider_connect_offsets.exceptions import StoreError
from airflow_provider_connect_offsets.kafka.logs import KafkaLogs, LogBounds
from airflow_provider_connect_offsets.kafka.spans import Isolation, place_of, reading
from airflow_provider_connect_offsets.offsets.families import TopicPartition

# So many partitions are read at a time; of each no more than its first record is wanted.
_AT_ONCE, _BYTES = 200, 65_536
_WAIT = 0.05
_SMALL = {"queued.min.messages": 1, "fetch.wait.max.ms": 50, "fetch.message.max.bytes": _BYTES}


@dataclass(frozen=True, slots=True)
class Remaining:
    """The first record that is left to read, and when it was written (milliseconds since 1970).

    ``timestamp_ms`` is None where nobody knows yet: a transaction that is still open begins there, or the record
    carries no time.
    """

    offset: int
    timestamp_ms: int | None


class RemainingRecords(KafkaLogs):
    """The logs of a cluster, and the first record after a position of each; reads a little, and joins no group."""

    def __init__(self, config: Mapping[str, Any], *, timeout: float = 15.0) -> None:
        super().__init__(config, timeout=timeout)
        self._config = dict(config)

    def first_remaining(
        self, positions: Mapping[TopicPartition, int], *, isolation: Isolation = Isolation.READ_UNCOMMITTED
    ) -> dict[TopicPartition, Remaining]:
        """Find the first record at or after each of ``positions``; a partition that is not in the answer is drained.

        A position beyond the end of its log, or before its start, is out of range: then all that the log holds is
        left. Under ``read_committed`` a transaction that is open counts as left to read, as it may be committed yet.
        Raises :class:`StoreError` for a partition that isn't there, and where it could not be read in time.
        """
        bounds = self.bounds(positions)
        starts = {where: _start(position, bounds[where]) for where, position in positions.items()}
        unread = iter([(where, start) for where, start in starts.items() if start < bounds[where].log_end])
        found: dict[TopicPartition, Remaining] = {}
        with reading(self._config, isolation, **_SMALL) as consumer:
            while part := dict(islice(unread, _AT_ONCE)):
                first = self._first_records(consumer, part)
                undecided = {} if isolation is Isolation.READ_UNCOMMITTED else self._undecided(part.keys() - first)
                found |= first | {
                    where: Remaining(offset, None)
                    for where, offset in undecided.items()
                    if offset < bounds[where].log_end
                }
        return found

    def _first_records(
        self, consumer: Consumer, starts: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, Remaining]:
        """Read the first record of each partition, as far as there is one before its end."""
        places = [confluent_kafka.TopicPartition(w.topic, w.partition, start) for w, start in starts.items()]
        consumer.assign(places)
        found: dict[TopicPartition, Remaining] = {}
        waiting, heard = set(starts), SYSTEM_CLOCK.now()
        while waiting:
            messages = consumer.consume(_AT_ONCE, _WAIT)
            if not messages and SYSTEM_CLOCK.now() - heard > self.timeout:
                raise StoreError(f"{self.servers}: nothing came from {_some(waiting)} for {self.timeout:g} s.")
            heard = SYSTEM_CLOCK.now() if messages else heard
            for message in messages:
                where, offset, is_record = place_of(self, message)
                if where in waiting:
                    waiting.discard(where)
                    consumer.pause([confluent_kafka.TopicPartition(where.topic, where.partition)])
                    if is_record:
                        written = message.timestamp()[1]
                        found[where] = Remaining(offset, written if written >= 0 else None)
        return found

    def _undecided(self, partitions: set[TopicPartition]) -> dict[TopicPartition, int]:
        """Where the records begin of which it is not known yet whether they will be committed; the end if nowhere."""
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = {confluent_kafka.TopicPartition(where.topic, where.partition): latest for where in partitions}
        if not asked:
            return {}
        answers = self.ask(
            "look for open transactions",
            lambda client: {
                place: answer.result().offset
                for place, answer in client.list_offsets(
                    asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=self.timeout
                ).items()
            },
        )
        return {TopicPartition(place.topic, place.partition): offset for place, offset in answers.items()}


def _start(position: int, log: LogBounds) -> int:
    """Where a reader at ``position`` goes on, as auto.offset.reset=earliest has it."""
    return log.log_start if position > log.log_end else max(position, log.log_start)


def _some(partitions: Sequence[TopicPartition] | set[TopicPartition]) -> str:
    first, *rest = sorted(f"topic {where.topic!r} partition {where.partition}" for where in partitions)
    return f"{first} and {len(rest)} more" if rest else first
