"""All source offsets of a Connect cluster, in the workers' offsets topic and in connectors' own topics.

A connector with ``offsets.storage.topic`` stores its offsets there, and the workers' topic has a second copy. Workers
write tombstones to the second copy, then all changes to the connector's topic, then values to the second copy; so does
this module. Sources: ``ConnectorOffsetBackingStore``, KIP-618.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import WriteReply
from airflow_provider_connect_offsets.connect.storage.config_topic import ConfiguredConnector, read_connectors
from airflow_provider_connect_offsets.connect.storage.damaged import Damaged, raise_damage, read_unless_damaged
from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.kafka.topic_reader import Progress, TopicReader
from airflow_provider_connect_offsets.kafka.topic_writer import task_transactional_ids
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.storage import StoredOffsets

Settings = Mapping[str, Any]

_PRODUCERS_CLUSTER = "producer.override.bootstrap.servers"


@dataclass(frozen=True, slots=True)
class WorkerTopics:
    """The topics of the workers of a Connect cluster.

    Attributes:
        client: Settings of librdkafka for their Kafka cluster.
        offsets_topic: Their offsets topic.
        config_topic: Their config topic; empty if unknown, and then all connectors are taken to use ``offsets_topic``.
        group_id: Their group.
        exactly_once: Whether ``exactly.once.source.support`` is enabled.
        client_of: Returns settings of librdkafka for a connector's own offsets topic, given its configuration; None if
            all are in the workers' Kafka cluster.
    """

    client: Settings = field(repr=False)
    offsets_topic: str
    config_topic: str = ""
    group_id: str = ""
    exactly_once: bool = False
    client_of: Callable[[Mapping[str, str]], Settings] | None = field(default=None, repr=False)

    def cluster_id(self) -> str:
        """Return the id of their Kafka cluster, which Connect's REST API returns too; raises store errors."""
        with TopicReader(self.client, self.offsets_topic) as topic:
            return topic.cluster_id()

    def connectors(self) -> dict[str, ConfiguredConnector]:
        """Return the existing connectors by name; empty if the config topic is unknown. Raises store errors."""
        return read_connectors(self.client, self.config_topic) if self.config_topic else {}


class TopicStorage:
    """The offsets of all source connectors of a Connect cluster as an :class:`~.protocols.OffsetStore`.

    Use it for connectors that no worker runs: deleted or STOPPED connectors, or all connectors while the workers are
    down.

    Attributes:
        where: The workers' topics.
        passed_over: Number of keys in the workers' topic that belonged to no connector when all was last read.
    """

    def __init__(self, where: WorkerTopics) -> None:
        self.where = where
        self.passed_over = 0

    @property
    def name(self) -> str:
        """The workers' offsets topic in messages."""
        return f"topic {self.where.offsets_topic!r}"

    @property
    def resource(self) -> str:
        """The workers' offsets topic in journals."""
        return f"offsets topic {self.where.offsets_topic}"

    def cluster(self) -> str:
        """Return the Connect cluster's name in journals: the id of its Kafka cluster. Raises store errors."""
        return self.where.cluster_id()

    def connectors(self) -> list[str]:
        """Return the names of all connectors that have an offset, sorted."""
        own = self._own_topics()
        shared = set(self._shared_topic().read_stored().connectors()) - own.keys()
        return sorted(shared | {name for name, topic in own.items() if name in topic.connectors()})

    def read_all(
        self,
        progress: Progress | None = None,
        *,
        names: Collection[str] | None = None,
        damaged: Damaged = raise_damage,
    ) -> Iterator[tuple[str, Offsets]]:
        """Yield all connectors with their offsets, sorted; only those in ``names`` if it is given.

        ``damaged`` is called with the error of each connector whose offsets can't be read: it raises, or leaves it out.
        """
        own = self._own_topics()
        stored = self._shared_topic().read_stored(progress)
        find = self._finder(own, stored)
        for name in sorted({*stored.connectors(), *own}):
            if names is None or name in names:
                yield from read_unless_damaged(name, find, damaged)
        if names is None:
            self.passed_over = stored.count_passed_over()

    def history(
        self,
        progress: Progress | None = None,
        *,
        names: Collection[str] | None = None,
        damaged: Damaged = raise_damage,
    ) -> Iterator[tuple[str, Offsets]]:
        """Yield connectors with all their records in the logs, even overwritten records; like :meth:`read_all`."""
        own = {name: topic for name, topic in self._own_topics().items() if names is None or name in names}
        history = self._shared_topic().history(
            progress, selects=lambda name: name not in own and (names is None or name in names), damaged=damaged
        )
        for name, topic in own.items():
            history |= topic.history(selects=name.__eq__, damaged=damaged)
        yield from sorted(history.items(), key=lambda one: one[0])

    def read_offsets(self, connector: str) -> Offsets:
        """Return all offsets of ``connector``."""
        return self.topic_of(connector).read_offsets(connector)

    def make_finder(self) -> Callable[[str], Offsets]:
        """Read the workers' topics once, and return a function that finds the offsets of a connector in what was read.

        It raises as :meth:`OffsetsTopic.read_offsets` does. A connector's own topic is read by each call for it.
        """
        return self._finder(self._own_topics(), self._shared_topic().read_stored())

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        """Overwrite the listed partitions (offset None removes); others stay. Does not read back."""
        return self.write_all({connector: changes})

    def write_all(self, changes: Mapping[str, Offsets]) -> WriteReply:
        """Write the changes of several connectors; together where they share the workers' topic and no task is fenced.

        Raises as :meth:`OffsetsTopic.write_all` does; read back all changes then.
        """
        known = self.where.connectors()
        single = {name: known[name] for name in changes if name in known and self._is_written_alone(known[name])}
        replies = [self._write_alone(one, changes[name]) for name, one in sorted(single.items())]
        shared = {name: changed for name, changed in changes.items() if name not in single}
        if shared:
            replies.append(self._shared_topic().write_all(shared))
        return WriteReply(" ".join(reply.message for reply in replies))

    def _write_alone(self, connector: ConfiguredConnector, changes: Offsets) -> WriteReply:
        primary = self._topic_of(connector)
        if not self._has_own_topic(connector):
            return primary.write_offsets(connector.name, changes)
        second = self._shared_topic()
        second.write_offsets(connector.name, Offsets.of(entry for entry in changes if entry.offset is None))
        reply = primary.write_offsets(connector.name, changes)
        second.write_offsets(connector.name, Offsets.of(entry for entry in changes if entry.offset is not None))
        return reply

    def reset_offsets(self, connector: str) -> WriteReply:
        """Remove all offsets of ``connector``, also those in the second copy."""
        primary = self.topic_of(connector)
        if primary.topic != self.where.offsets_topic:
            self._shared_topic().reset_offsets(connector)
        return primary.reset_offsets(connector)

    def copy_to_own_topic(self, connector: str) -> WriteReply:
        """Copy offsets of a connector that only the workers' topic has to the connector's own topic.

        Connect itself does not, although documented: a connector that gets its own topic starts without offsets.
        """
        primary = self.topic_of(connector)
        stored = {entry.partition for entry in primary.read_offsets(connector)}
        missing = (entry for entry in self.second_copy(connector) if entry.partition not in stored)
        return primary.write_offsets(connector, Offsets.of(missing))

    def second_copy(self, connector: str) -> Offsets:
        """Return the offsets in the workers' topic of a connector that has an own topic."""
        return self._shared_topic().read_offsets(connector)

    def has_own_topic(self, connector: str) -> bool:
        """Whether the connector exists and has an own offsets topic."""
        known = self.where.connectors().get(connector)
        return known is not None and self._has_own_topic(known)

    def topic_of(self, connector: str) -> OffsetsTopic:
        """Return the topic from which workers read a connector's offsets; the workers' own if it does not exist."""
        known = self.where.connectors().get(connector)
        return self._shared_topic() if known is None else self._topic_of(known)

    def _own_topics(self) -> dict[str, OffsetsTopic]:
        known = self.where.connectors()
        return {name: self._topic_of(one) for name, one in known.items() if self._has_own_topic(one)}

    def _finder(self, own: Mapping[str, OffsetsTopic], stored: StoredOffsets) -> Callable[[str], Offsets]:
        """Return a function that finds the offsets of a connector in its own topic, else in ``stored``."""
        shared = self._shared_topic()
        return lambda name: own[name].read_offsets(name) if name in own else shared.offsets_in(stored, name)

    def _has_own_topic(self, connector: ConfiguredConnector) -> bool:
        return connector.offsets_topic not in {"", self.where.offsets_topic}

    def _is_written_alone(self, connector: ConfiguredConnector) -> bool:
        """Whether its offsets are written to an own topic, or in a transaction that fences its tasks."""
        return self._has_own_topic(connector) or bool(self._transactional_ids(connector))

    def _transactional_ids(self, connector: ConfiguredConnector) -> tuple[str, ...]:
        if not self.where.exactly_once and connector.fenced_tasks is None:
            return ()
        return task_transactional_ids(self.where.group_id, connector.name, connector.fenced_tasks or 1)

    def _topic_of(self, connector: ConfiguredConnector) -> OffsetsTopic:
        ids = self._transactional_ids(connector)
        if not self._has_own_topic(connector):
            return OffsetsTopic(self.where.client, self.where.offsets_topic, transactional_ids=ids)
        return OffsetsTopic(self._client_of(connector), connector.offsets_topic, transactional_ids=ids)

    def _client_of(self, connector: ConfiguredConnector) -> Settings:
        """Return settings for the cluster of a connector's own topic, to which its producer writes."""
        if self.where.client_of is not None:
            return self.where.client_of(connector.config)
        if _PRODUCERS_CLUSTER in connector.config:
            raise InvalidInput(
                f"Connector {connector.name!r} stores its offsets in topic {connector.offsets_topic!r} of another "
                f"Kafka cluster ({_PRODUCERS_CLUSTER}), which this connection can't reach. Use the command "
                "connect-offsets."
            )
        return self.where.client

    def _shared_topic(self) -> OffsetsTopic:
        return OffsetsTopic(self.where.client, self.where.offsets_topic)
