"""The logs that positions refer to: topics, log start and end offsets, the offset of a moment, retention."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec  # type: ignore[attr-defined]

from airflow_provider_connect_offsets.exceptions import AccessDenied, InvalidInput, StoreError
from airflow_provider_connect_offsets.kafka.brokers import AclOperation, Brokers
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.words import join_first

_INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})
# Given a name that no topic can have, librdkafka gets no answer, not even about other topics.
_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_NAMED_IN_ERROR = 5


@dataclass(frozen=True, slots=True)
class LogBounds:
    """Bounds of the log of one partition.

    Attributes:
        log_start: Log start offset: the first offset still there.
        log_end: Log end offset: the offset after the last record.
        lookup_offset: First record at or after the requested moment, ``log_end`` if there is none; None if no moment
            was requested.
    """

    log_start: int
    log_end: int
    lookup_offset: int | None = None


@dataclass(frozen=True, slots=True)
class Retention:
    """Which records of one partition the brokers delete by age.

    Attributes:
        cleanup_policy: The topic's effective setting ``cleanup.policy``.
        retention_ms: The topic's effective setting ``retention.ms``, in milliseconds; -1: no limit.
        expired_offset: First record no older than ``retention_ms``; None if no record is deleted by age.
        expiring_offset: Like ``expired_offset``, but at a later time, see :meth:`KafkaLogs.retention`.
    """

    cleanup_policy: str
    retention_ms: int
    expired_offset: int | None = None
    expiring_offset: int | None = None

    @property
    def deletes_by_age(self) -> bool:
        """Whether old records are deleted; a topic that is only compacted keeps them."""
        return "delete" in self.cleanup_policy.replace(" ", "").split(",") and self.retention_ms >= 0


class KafkaLogs(Brokers):
    """Client of the logs of one Kafka cluster; reads metadata and offsets, without a consumer or a group."""

    def topics(self) -> dict[str, int]:
        """Return topic → number of partitions, sorted by name, without Kafka's internal topics. Raises store errors."""
        topics = self.ask("list the topics", lambda client: client.list_topics(timeout=self.timeout)).topics
        return {name: len(topics[name].partitions) for name in sorted(topics) if name not in _INTERNAL}

    def counts_of(self, names: Iterable[str]) -> dict[str, int]:
        """Return topic → number of partitions of those of ``names`` that exist; raises as :meth:`refuse_hidden`."""
        requested, counts = set(names), self.topics()
        self.refuse_hidden(requested - counts.keys())
        return {name: count for name, count in counts.items() if name in requested}

    def refuse_hidden(self, missing: Iterable[str]) -> None:
        """Raise :class:`AccessDenied` if topics are ``missing`` among all topics because the user may not see them.

        Kafka leaves topics without the right Describe out of the list of all topics, but refuses them by name (Java
        class ``KafkaApis``). Raises other store errors, too.
        """
        self.topic_ids(missing)

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """Return topic → id (KIP-516), without topics that do not exist. Raises store errors."""
        names = sorted(topic for topic in set(topics) if _TOPIC_NAME.fullmatch(topic))
        return self.ask("look up topic ids", lambda client: self._describe(client, names)) if names else {}

    def bounds(
        self, partitions: Iterable[TopicPartition], *, moment: datetime | None = None
    ) -> dict[TopicPartition, LogBounds]:
        """Return the bounds of each partition.

        Args:
            partitions: Partitions of existing topics.
            moment: Time at or after which the first record is looked up too; None: no lookup.

        Raises:
            StoreError: Kafka has no answer for a partition; the message names all such partitions.
            Unreachable: No broker answered within the timeout.
            AccessDenied: Kafka refuses the credentials.
            InvalidInput: ``moment`` has no time zone.
        """
        ordered = sorted(set(partitions), key=lambda where: (where.topic, where.partition))
        specs = [OffsetSpec.earliest(), OffsetSpec.latest()]  # type: ignore[no-untyped-call]
        if moment is not None:
            specs.append(OffsetSpec.for_timestamp(_milliseconds(moment)))
        self._refuse_impossible(ordered)
        requests = [dict.fromkeys(ordered, spec) for spec in specs]
        starts, ends, *lookups = self.ask("look up offsets", lambda client: self._list_offsets(client, requests))
        return {
            where: LogBounds(starts[where], ends[where], _or_end(lookups[0][where], ends[where]) if lookups else None)
            for where in ordered
        }

    def retention(
        self, bounds: Mapping[TopicPartition, LogBounds], *, now: datetime, soon: timedelta
    ) -> dict[TopicPartition, Retention]:
        """Look up which records are older than ``retention.ms``.

        Brokers use a record's timestamp with either ``message.timestamp.type``
        (``UnifiedLog.deleteRetentionMsBreachedSegments``), but delete whole segments, once the newest record of a
        segment is old enough.

        Args:
            bounds: Bounds of the partitions.
            now: Time of ``expired_offset``, with time zone.
            soon: How much later than ``now`` the time of ``expiring_offset`` is.

        Raises:
            StoreError: The settings or offsets can't be read.
        """
        settings = self.configs(where.topic for where in bounds)
        result = {
            where: Retention(settings[where.topic]["cleanup.policy"], int(settings[where.topic]["retention.ms"]))
            for where in bounds
        }
        aged = {where: one.retention_ms for where, one in result.items() if one.deletes_by_age}
        if not aged:
            return result
        moments = [_milliseconds(now), _milliseconds(now + soon)]
        requests = [
            {where: OffsetSpec.for_timestamp(max(0, moment - kept)) for where, kept in aged.items()}
            for moment in moments
        ]
        answers = self.ask("look up records by their age", lambda client: self._list_offsets(client, requests))
        for where in aged:
            expired, expiring = (_or_end(offsets[where], bounds[where].log_end) for offsets in answers)
            result[where] = replace(result[where], expired_offset=expired, expiring_offset=expiring)
        return result

    def configs(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return topic → setting → value of each of ``topics``, including defaults. Raises store errors."""
        resources = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in sorted(set(topics))]
        if not resources:
            return {}
        purpose = f"read the settings of topic {join_first([repr(one.name) for one in resources], _NAMED_IN_ERROR)}"
        return self.ask(purpose, lambda client: self._configs(client, resources), right=AclOperation.DESCRIBE_CONFIGS)

    def _configs(self, client: AdminClient, resources: list[ConfigResource]) -> dict[str, dict[str, str]]:
        answers = client.describe_configs(resources, request_timeout=self.timeout)
        return {
            resource.name: {name: str(entry.value or "") for name, entry in answer.result().items()}
            for resource, answer in answers.items()
        }

    def _list_offsets(
        self, client: AdminClient, requests: Iterable[Mapping[TopicPartition, OffsetSpec]]
    ) -> list[dict[TopicPartition, int]]:
        """Send all requests to the partitions' leaders at once, and return the offsets that they answer."""
        pending = [self.request_offsets(client, specs) for specs in requests]
        result: list[dict[TopicPartition, int]] = []
        failed: dict[TopicPartition, KafkaException] = {}
        for answers in pending:
            result.append({})
            for where, answer in answers.items():
                try:
                    result[-1][where] = answer.result().offset
                except KafkaException as error:
                    failed[where] = error
        if failed:
            raise self._failure(failed)
        return result

    def _describe(self, client: AdminClient, topics: list[str]) -> dict[str, str]:
        ids: dict[str, str] = {}
        answers = client.describe_topics(TopicCollection(topics), request_timeout=self.timeout)
        for topic, answer in answers.items():
            try:
                ids[topic] = str(answer.result().topic_id)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise self.meaning(f"Can't look up topic {topic!r}", error) from error
        return ids

    def _failure(self, failed: dict[TopicPartition, KafkaException]) -> StoreError:
        """Return the most useful error of all partitions."""
        failure = f"Can't look up offsets of {_name_partitions(failed)}"
        by_code = {error.args[0].code(): error for error in failed.values()}
        return min((self.meaning(failure, error) for error in by_code.values()), key=_rank)

    def _refuse_impossible(self, partitions: list[TopicPartition]) -> None:
        impossible = [where for where in partitions if not _TOPIC_NAME.fullmatch(where.topic) or where.partition < 0]
        if impossible:
            raise StoreError(
                f"Can't look up offsets of {_name_partitions(impossible)}: the topic name or the partition number is "
                "invalid."
            )


def _rank(error: StoreError) -> int:
    """Rank refused credentials before other answers, and answers before timeouts."""
    if isinstance(error, AccessDenied):
        return 0
    return 1 if type(error) is StoreError else 2


def _name_partitions(partitions: Iterable[TopicPartition]) -> str:
    names = sorted(f"topic {where.topic!r} partition {where.partition}" for where in partitions)
    return join_first(names, _NAMED_IN_ERROR)


def _milliseconds(moment: datetime) -> int:
    """Return the first millisecond not before ``moment``, at least 0: negative times have other meanings in Kafka."""
    if moment.tzinfo is None:
        text = moment.isoformat()
        raise InvalidInput(f"{text} has no time zone. Add its offset from UTC, like {text}+00:00.")
    return max(0, math.ceil(moment.timestamp() * 1000))


def _or_end(looked_up: int, end: int) -> int:
    """Return the log end offset if Kafka answered -1: there is no record at or after the moment."""
    return end if looked_up < 0 else looked_up
