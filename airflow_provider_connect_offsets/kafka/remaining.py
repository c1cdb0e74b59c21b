"""The first record at or after a position, which a reader at that position has not read yet.

Offsets alone do not reveal it: a log that ends with transaction markers ends after its last record, and no reader
reaches that end. So the record is read. Sources: KIP-98, ``MirrorSourceTask``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import islice

import confluent_kafka
from confluent_kafka import Consumer, IsolationLevel
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from airflow_provider_connect_offsets.kafka.logs import KafkaLogs, LogBounds
from airflow_provider_connect_offsets.kafka.spans import Isolation, consume, open_consumer, position_of
from airflow_provider_connect_offsets.offsets.families import TopicPartition

# Number of partitions read at the same time; only the first record of each is needed.
_AT_ONCE, _BYTES = 200, 65_536
_SMALL = {"queued.min.messages": 1, "fetch.wait.max.ms": 50, "fetch.message.max.bytes": _BYTES}


@dataclass(frozen=True, slots=True)
class Remaining:
    """The first record that remains to be read.

    Attributes:
        offset: Its offset.
        timestamp_ms: When it was written (milliseconds since 1970); None if an open transaction begins there, or the
            record has no timestamp.
    """

    offset: int
    timestamp_ms: int | None


class RemainingRecords(KafkaLogs):
    """Client of the logs of a cluster that also reads the first record after a position; it joins no group."""

    def first_remaining(
        self, positions: Mapping[TopicPartition, int], *, isolation: Isolation = Isolation.READ_UNCOMMITTED
    ) -> dict[TopicPartition, Remaining]:
        """Return the first record at or after each position.

        Args:
            positions: Position of each partition. If it is outside the log, the whole log remains.
            isolation: Which records a reader is given; for ``read_committed`` an open transaction remains too, because
                it may be committed.

        Returns:
            The first remaining record of each partition; a drained partition is missing.

        Raises:
            StoreError: A partition does not exist, or can't be read in time.
        """
        bounds = self.bounds(positions)
        starts = {where: _start(position, bounds[where]) for where, position in positions.items()}
        unread = iter([(where, start) for where, start in starts.items() if start < bounds[where].log_end])
        remaining: dict[TopicPartition, Remaining] = {}
        with open_consumer(self._config, isolation, **_SMALL) as consumer:
            while part := dict(islice(unread, _AT_ONCE)):
                first = self._first_records(consumer, part)
                undecided = {} if isolation is Isolation.READ_UNCOMMITTED else self.stable_ends(part.keys() - first)
                remaining |= first | {
                    where: Remaining(offset, None)
                    for where, offset in undecided.items()
                    if offset < bounds[where].log_end
                }
        return remaining

    def _first_records(
        self, consumer: Consumer, starts: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, Remaining]:
        """Read the first record of each partition that has one before its end."""
        consumer.assign([confluent_kafka.TopicPartition(one.topic, one.partition, at) for one, at in starts.items()])
        records: dict[TopicPartition, Remaining] = {}
        waiting = set(starts)
        for messages in consume(self, consumer, waiting, at_once=_AT_ONCE):
            for message in messages:
                where, offset, is_record = position_of(self, message)
                if where in waiting:
                    waiting.discard(where)
                    consumer.pause([confluent_kafka.TopicPartition(where.topic, where.partition)])
                    if is_record:
                        written = message.timestamp()[1]
                        records[where] = Remaining(offset, written if written >= 0 else None)
        return records

    def stable_ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the start of the first open transaction of each partition; its log end offset if there is none."""
        if not partitions:
            return {}
        spec: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        latest = dict.fromkeys(partitions, spec)

        def ends(client: AdminClient) -> dict[TopicPartition, int]:
            answers = self.request_offsets(client, latest, IsolationLevel.READ_COMMITTED)
            return {where: answer.result().offset for where, answer in answers.items()}

        return self.ask("look for open transactions", ends)


def _start(position: int, log: LogBounds) -> int:
    """Return where a reader at ``position`` continues with auto.offset.reset=earliest."""
    return log.log_start if position > log.log_end else max(position, log.log_start)
