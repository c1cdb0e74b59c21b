"""The topic in which distributed workers keep the offsets of source connectors.

The last record of a key counts; keys of another shape are passed over. The bytes of each key are kept, by which alone a
worker finds an offset. Sources: ``KafkaOffsetBackingStore``, ``ConnectorOffsetBackingStore``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import WriteReply
from airflow_provider_connect_offsets.exceptions import InvalidDocument, StoreDamaged
from airflow_provider_connect_offsets.kafka.topic_reader import Progress, TopicReader
from airflow_provider_connect_offsets.kafka.topic_writer import TopicWriter
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.offsets.storage import StoredOffsets, parse_key, parse_value


class OffsetsTopic(TopicReader):
    """An offsets topic as an :class:`~.stores.protocols.OffsetStore`; ``config`` holds librdkafka's settings.

    Writing to it is for connectors that no worker runs: a worker overwrites what it holds itself with its next flush.
    ``transactional_ids``: of the connector's tasks, where its workers write exactly once (see ``topic_writer``).
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        topic: str,
        *,
        timeout: float = 15.0,
        transactional_ids: Sequence[str] = (),
    ) -> None:
        super().__init__(config, topic, timeout=timeout)
        self._writer = TopicWriter(config, topic, transactional_ids=transactional_ids)

    def stored(self, progress: Progress | None = None) -> StoredOffsets:
        """Read what the topic holds: the last value of each key."""
        return StoredOffsets({record.key: record.value for record in self.records(progress)})

    def connectors(self) -> list[str]:
        """Names of all connectors that have an offset, sorted."""
        return self.stored().connectors()

    def read_offsets(self, connector: str) -> Offsets:
        """Read all offsets of ``connector``; none where the topic holds none of it."""
        return self.offsets_in(self.stored(), connector)

    def offsets_in(self, stored: StoredOffsets, connector: str) -> Offsets:
        """The offsets of ``connector`` in what was read; raises :class:`StoreDamaged` for one that can't be read."""
        with self._readable(connector):
            return stored.offsets_of(connector)

    def history(self, progress: Progress | None = None) -> dict[str, Offsets]:
        """Read every pair of every connector that the log still holds, in its order (a tombstone as offset None)."""
        found: dict[str, list[tuple[int, int, Entry]]] = {}
        for record in self.records(progress):
            key = parse_key(record.key)
            if key is not None:
                with self._readable(key.connector):
                    entry = Entry(key.partition, parse_value(record.value))
                found.setdefault(key.connector, []).append((record.partition, record.offset, entry))
        return {name: Offsets.of(entry for _, _, entry in sorted(entries)) for name, entries in found.items()}

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        """Write a record for each change (offset None: a tombstone), under the key that stands there, where it stands.

        Raises :class:`OutcomeUnknown` where not all were confirmed: read back.
        """
        return self.write_all({connector: changes})

    def write_all(self, changes: Mapping[str, Offsets]) -> WriteReply:
        """Write the changes of several connectors, with one look at what stands there; raises as ``write_offsets``."""
        stored, places = self._latest()
        pairs: dict[bytes, bytes | None] = {}
        for connector, wanted in changes.items():
            pairs |= stored.records_for(connector, wanted)
        return self._write(", ".join(changes), pairs, places)

    def reset_offsets(self, connector: str) -> WriteReply:
        """Write a tombstone for every partition of ``connector``, also where its offset can't be read."""
        stored, places = self._latest()
        return self._write(connector, stored.records_for(connector, stored.removal_of(connector)), places)

    @contextmanager
    def _readable(self, connector: str) -> Iterator[None]:
        try:
            yield
        except InvalidDocument as error:
            text = f"Topic {self.topic!r} holds an offset of {connector!r} that can't be read: {error}."
            raise StoreDamaged(text) from error

    def remove_keys(self, places: Mapping[bytes, Collection[int]], *, whose: str) -> None:
        """Write a tombstone for each key, in each of the partitions in which it stands; ``whose`` is for messages.

        Mostly that is one; a writer with another partitioner may have put a key where no worker would.
        Raises :class:`OutcomeUnknown` where not all were confirmed: read back.
        """
        left = {key: sorted(numbers) for key, numbers in places.items() if numbers}
        while left:
            self._writer.write(dict.fromkeys(left), {key: numbers[0] for key, numbers in left.items()}, whose=whose)
            left = {key: numbers[1:] for key, numbers in left.items() if numbers[1:]}

    def _latest(self) -> tuple[StoredOffsets, dict[bytes, int]]:
        """The last value of each key, and the partition in which it stands."""
        values: dict[bytes, bytes | None] = {}
        places: dict[bytes, int] = {}
        for record in self.records():
            values[record.key], places[record.key] = record.value, record.partition
        return StoredOffsets(values), places

    def _write(self, connector: str, pairs: Mapping[bytes, bytes | None], places: Mapping[bytes, int]) -> WriteReply:
        self._writer.write(pairs, places, whose=connector)
        return WriteReply(f"{len(pairs)} records were written to topic {self.topic!r}.")
