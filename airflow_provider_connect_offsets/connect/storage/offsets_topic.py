"""An offsets topic, in which distributed workers store the offsets of source connectors.

The last record of a key counts; keys of another shape are ignored. The bytes of each key are preserved, because workers
look up offsets by them. Sources: ``KafkaOffsetBackingStore``, ``ConnectorOffsetBackingStore``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import WriteReply
from airflow_provider_connect_offsets.connect.storage.damaged import Damaged, raise_damage
from airflow_provider_connect_offsets.exceptions import InvalidDocument, StoreDamaged
from airflow_provider_connect_offsets.kafka.topic_reader import Progress, TopicReader
from airflow_provider_connect_offsets.kafka.topic_writer import TopicWriter
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.offsets.storage import StoredOffsets, parse_key, parse_value
from airflow_provider_connect_offsets.words import quantify


class OffsetsTopic(TopicReader):
    """An offsets topic as an :class:`~.protocols.OffsetStore`.

    Write only offsets of connectors that no worker runs: a running worker overwrites them with its next flush.

    Args:
        config: Settings of librdkafka.
        topic: Name of the topic.
        transactional_ids: Ids of the connector's tasks if its workers write exactly once, see ``topic_writer``.
    """

    def __init__(self, config: Mapping[str, Any], topic: str, *, transactional_ids: Sequence[str] = ()) -> None:
        super().__init__(config, topic)
        self._writer = TopicWriter(config, topic, transactional_ids=transactional_ids)

    def read_stored(self, progress: Progress | None = None) -> StoredOffsets:
        """Return the content of the topic: the last value of each key."""
        return StoredOffsets({record.key: record.value for record in self.records(progress)})

    def connectors(self) -> list[str]:
        """Return the names of all connectors that have an offset, sorted."""
        return self.read_stored().connectors()

    def read_offsets(self, connector: str) -> Offsets:
        """Return all offsets of ``connector``; raises as :meth:`offsets_in`, and store errors."""
        return self.offsets_in(self.read_stored(), connector)

    def offsets_in(self, stored: StoredOffsets, connector: str) -> Offsets:
        """Return the offsets of ``connector`` in ``stored``; raises :class:`StoreDamaged` if one can't be read."""
        with self._explain_unreadable(connector):
            return stored.offsets_of(connector)

    def history(
        self,
        progress: Progress | None = None,
        *,
        selects: Callable[[str], bool] = lambda _name: True,
        damaged: Damaged = raise_damage,
    ) -> dict[str, Offsets]:
        """Return all records of each connector that the log still has, in its order (a tombstone as offset None).

        Args:
            progress: Shows how much is read.
            selects: Whether a connector is read.
            damaged: Called with the first error of each connector of which a record can't be read.
        """
        history: dict[str, list[tuple[int, int, Entry]]] = {}
        errors: dict[str, StoreDamaged] = {}
        for record in self.records(progress):
            key = parse_key(record.key)
            if key is None or key.connector in errors or not selects(key.connector):
                continue
            try:
                with self._explain_unreadable(key.connector):
                    entry = Entry(key.partition, parse_value(record.value))
            except StoreDamaged as error:
                errors[key.connector] = error
            else:
                history.setdefault(key.connector, []).append((record.partition, record.offset, entry))
        for name in sorted(errors):
            damaged(name, errors[name])
        return {
            name: Offsets.of(entry for _, _, entry in sorted(entries))
            for name, entries in history.items()
            if name not in errors
        }

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        """Write a record for each change (offset None: a tombstone), with the stored key and in its partition.

        Raises:
            OutcomeUnknown: Not all records were confirmed; read back.
            StoreError: Nothing was written.
        """
        return self.write_all({connector: changes})

    def write_all(self, changes: Mapping[str, Offsets]) -> WriteReply:
        """Write the changes of several connectors, reading the topic once; raises as :meth:`write_offsets`."""
        stored, partitions = self._read_latest()
        records: dict[bytes, bytes | None] = {}
        for connector, changed in changes.items():
            records |= stored.records_for(connector, changed)
        return self._write(", ".join(changes), records, partitions)

    def reset_offsets(self, connector: str) -> WriteReply:
        """Write a tombstone for every partition of ``connector``, also for offsets that can't be read."""
        stored, partitions = self._read_latest()
        return self._write(connector, stored.records_for(connector, stored.removal_of(connector)), partitions)

    @contextmanager
    def _explain_unreadable(self, connector: str) -> Iterator[None]:
        try:
            yield
        except InvalidDocument as error:
            text = f"Topic {self.topic!r} has an offset of connector {connector!r} that can't be read: {error}."
            raise StoreDamaged(text) from error

    def remove_keys(self, partitions: Mapping[bytes, Collection[int]], *, whose: str) -> None:
        """Write tombstones for keys.

        Args:
            partitions: The partitions of each key: mostly one, but a writer with another partitioner may have used
                others.
            whose: The connectors, for messages.

        Raises:
            OutcomeUnknown: Not all tombstones were confirmed; read back.
        """
        left = {key: sorted(numbers) for key, numbers in partitions.items() if numbers}
        while left:
            self._writer.write(dict.fromkeys(left), {key: numbers[0] for key, numbers in left.items()}, whose=whose)
            left = {key: numbers[1:] for key, numbers in left.items() if numbers[1:]}

    def _read_latest(self) -> tuple[StoredOffsets, dict[bytes, int]]:
        """Return the last value of each key, and its partition."""
        values: dict[bytes, bytes | None] = {}
        partitions: dict[bytes, int] = {}
        for record in self.records():
            values[record.key], partitions[record.key] = record.value, record.partition
        return StoredOffsets(values), partitions

    def _write(
        self, connector: str, records: Mapping[bytes, bytes | None], partitions: Mapping[bytes, int]
    ) -> WriteReply:
        self._writer.write(records, partitions, whose=connector)
        return WriteReply(f"{quantify(len(records), 'record')} went to topic {self.topic!r}.")
