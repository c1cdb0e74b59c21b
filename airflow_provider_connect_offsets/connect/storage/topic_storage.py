"""All source offsets of a Connect cluster, in the topics in which they lie: the workers' own, and those of connectors.

A connector with ``offsets.storage.topic`` keeps its offsets there, and the workers' topic holds a second copy. Workers
write tombstones to the second copy first, then all to the connector's topic, then the values to the second copy; so
does this. Sources: ``ConnectorOffsetBackingStore``, KIP-618.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import WriteReply
from airflow_provider_connect_offsets.connect.storage.config_topic import ConfiguredConnector, read_connectors
from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.kafka.topic_reader import Progress, TopicReader
from airflow_provider_connect_offsets.kafka.topic_writer import task_transactional_ids
from airflow_provider_connect_offsets.offsets.document import Offsets

Settings = Mapping[str, Any]

_PRODUCERS_CLUSTER = "producer.override.bootstrap.servers"


@dataclass(frozen=True, slots=True)
class WorkerTopics:
    """Where the workers of a Connect cluster keep what they know.

    ``client``: librdkafka's settings for their Kafka cluster; ``config_topic`` may be empty where it isn't known, and
    then no connector is known to have a topic of its own. ``exactly_once``: ``exactly.once.source.support`` is enabled.
    ``client_of``: settings for a connector's own offsets topic, by the connector's configuration.
    """

    client: Settings = field(repr=False)
    offsets_topic: str
    config_topic: str = ""
    group_id: str = ""
    exactly_once: bool = False
    client_of: Callable[[Mapping[str, str]], Settings] | None = field(default=None, repr=False)

    def cluster_id(self) -> str:
        """The id of their Kafka cluster, by which Connect's REST API names them as well; raises store errors."""
        with TopicReader(self.client, self.offsets_topic) as topic:
            return topic.cluster_id()

    def connectors(self) -> dict[str, ConfiguredConnector]:
        """The connectors that exist; none where the config topic isn't known. Raises store errors."""
        return read_connectors(self.client, self.config_topic) if self.config_topic else {}


class TopicStorage:
    """The offsets of all source connectors of a Connect cluster as an :class:`~.stores.protocols.OffsetStore`.

    Meant for connectors that no worker runs: deleted ones, STOPPED ones, all of them while the workers are down.
    ``passed_over``: how many keys of the workers' topic were no connector's, when all of it was read last.
    """

    def __init__(self, where: WorkerTopics) -> None:
        self.where = where
        self.passed_over = 0

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"topic {self.where.offsets_topic!r}"

    @property
    def resource(self) -> str:
        """What journals call the workers' topic."""
        return f"offsets topic {self.where.offsets_topic}"

    def cluster(self) -> str:
        """What journals call the Connect cluster: its Kafka cluster's id. Raises store errors."""
        return self.where.cluster_id()

    def connectors(self) -> list[str]:
        """Names of all connectors that have an offset, sorted."""
        return [name for name, offsets in self.read_all() if len(offsets)]

    def read_all(
        self, progress: Progress | None = None, *, names: Collection[str] | None = None
    ) -> Iterator[tuple[str, Offsets]]:
        """Read the offsets of every connector (of ``names`` only), sorted; raises as ``OffsetsTopic.read_offsets``."""
        own, shared = self._own_topics(), self._shared()
        stored = shared.stored(progress)
        for name in sorted({*stored.connectors(), *own}):
            if names is None or name in names:
                yield name, own[name].read_offsets(name) if name in own else shared.offsets_in(stored, name)
        if names is None:
            self.passed_over = stored.passed_over()

    def history(self, progress: Progress | None = None) -> Iterator[tuple[str, Offsets]]:
        """Read every pair that the logs still hold, also those overwritten since: each partition's in their order."""
        told = self._shared().history(progress)
        for name, topic in self._own_topics().items():
            told[name] = topic.history().get(name, Offsets())
        yield from sorted(told.items(), key=lambda one: one[0])

    def read_offsets(self, connector: str) -> Offsets:
        """Read all offsets of ``connector``; none where its topic holds none of it."""
        return self.topic_of(connector).read_offsets(connector)

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        """Overwrite the listed partitions (offset None removes); others stay. Does not read back."""
        return self.write_all({connector: changes})

    def write_all(self, changes: Mapping[str, Offsets]) -> WriteReply:
        """Write the changes of several connectors: of those that share the workers' topic in one go.

        Raises as ``OffsetsTopic.write_all``: read back whatever was to be written.
        """
        known = self.where.connectors()
        apart = {name: known[name] for name in changes if name in known and self._stands_apart(known[name])}
        replies = [self._write_apart(one, changes[name]) for name, one in sorted(apart.items())]
        together = {name: wanted for name, wanted in changes.items() if name not in apart}
        if together:
            replies.append(self._shared().write_all(together))
        return WriteReply(" ".join(reply.message for reply in replies))

    def _write_apart(self, connector: ConfiguredConnector, changes: Offsets) -> WriteReply:
        primary = self._topic_of(connector)
        if not self._has_own_topic(connector):
            return primary.write_offsets(connector.name, changes)
        second = self._shared()
        second.write_offsets(connector.name, Offsets.of(entry for entry in changes if entry.offset is None))
        reply = primary.write_offsets(connector.name, changes)
        second.write_offsets(connector.name, Offsets.of(entry for entry in changes if entry.offset is not None))
        return reply

    def reset_offsets(self, connector: str) -> WriteReply:
        """Remove all offsets of ``connector``, also those in the second copy."""
        primary = self.topic_of(connector)
        if primary.topic != self.where.offsets_topic:
            self._shared().reset_offsets(connector)
        return primary.reset_offsets(connector)

    def copy_to_own_topic(self, connector: str) -> WriteReply:
        """Copy to the connector's own topic what the workers' topic alone holds of it.

        Connect does not look there as it says it would: a connector that gets its own topic begins anew.
        """
        primary = self.topic_of(connector)
        standing = {entry.partition for entry in primary.read_offsets(connector)}
        missing = (entry for entry in self.second_copy(connector) if entry.partition not in standing)
        return primary.write_offsets(connector, Offsets.of(missing))

    def second_copy(self, connector: str) -> Offsets:
        """What the workers' topic holds of a connector that has one of its own."""
        return self._shared().read_offsets(connector)

    def has_own_topic(self, connector: str) -> bool:
        """Whether a connector exists that has an offsets topic of its own."""
        known = self.where.connectors().get(connector)
        return known is not None and self._has_own_topic(known)

    def topic_of(self, connector: str) -> OffsetsTopic:
        """The topic from which a worker reads the offsets of ``connector``; the workers' own for one that is gone."""
        known = self.where.connectors().get(connector)
        return self._shared() if known is None else self._topic_of(known)

    def _own_topics(self) -> dict[str, OffsetsTopic]:
        known = self.where.connectors()
        return {name: self._topic_of(one) for name, one in known.items() if self._has_own_topic(one)}

    def _has_own_topic(self, connector: ConfiguredConnector) -> bool:
        return connector.offsets_topic not in {"", self.where.offsets_topic}

    def _stands_apart(self, connector: ConfiguredConnector) -> bool:
        """Whether it is written by itself: to a topic of its own, or in a transaction that fences its tasks."""
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
        """Settings for the cluster of its own topic, which is the one that its producer writes to."""
        if self.where.client_of is not None:
            return self.where.client_of(connector.config)
        if _PRODUCERS_CLUSTER in connector.config:
            raise InvalidInput(
                f"{connector.name!r} keeps its offsets in topic {connector.offsets_topic!r} of another cluster "
                f"({_PRODUCERS_CLUSTER}), which this connection does not lead to. Use the shell: connect-offsets."
            )
        return self.where.client

    def _shared(self) -> OffsetsTopic:
        return OffsetsTopic(self.where.client, self.where.offsets_topic)
