"""The logs that positions refer to: topics, where each partition begins and ends, and where a moment lies in it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec  # type: ignore[attr-defined]

from airflow_provider_connect_offsets.exceptions import AccessDenied, InvalidInput, StoreError
from airflow_provider_connect_offsets.kafka.brokers import Brokers
from airflow_provider_connect_offsets.offsets.families import TopicPartition

_INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})
# Asked for a name that no topic can have, librdkafka never hears back, about the others neither.
_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_NAMED_IN_ERROR = 5


@dataclass(frozen=True, slots=True)
class LogBounds:
    """Where the log of one partition begins and ends.

    ``log_start``: the first offset still there; ``log_end``: the one after the last record. ``lookup_offset``: the
    first record at or after the moment asked for, the log's end where there is none, None where no moment was given.
    """

    log_start: int
    log_end: int
    lookup_offset: int | None = None


@dataclass(frozen=True, slots=True)
class Retention:
    """When the brokers delete the records of one partition by their age.

    ``cleanup_policy``, ``retention_ms``: the topic's effective settings, brokers' defaults included (milliseconds, -1:
    no limit). ``expired_offset``: the first record that is no older than ``retention_ms``; ``expiring_offset``: the
    first one of which that will still be true a while later. Both None where no record is deleted by its age.
    """

    cleanup_policy: str
    retention_ms: int
    expired_offset: int | None = None
    expiring_offset: int | None = None

    @property
    def deletes_by_age(self) -> bool:
        """Whether records are deleted once they are old; a topic that is only compacted keeps them."""
        return "delete" in self.cleanup_policy.replace(" ", "").split(",") and self.retention_ms >= 0


class KafkaLogs(Brokers):
    """The logs of one Kafka cluster. Reads metadata and offsets only; no consumer, no group."""

    def topics(self) -> dict[str, int]:
        """Topic → number of its partitions, sorted by name; Kafka's own internal topics are left out."""
        found = self.ask("list the topics", lambda client: client.list_topics(timeout=self.timeout)).topics
        return {name: len(found[name].partitions) for name in sorted(found) if name not in _INTERNAL}

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """Topic → the id that the cluster gave it when it was created; topics that are not there are left out."""
        wanted = sorted(topic for topic in set(topics) if _TOPIC_NAME.fullmatch(topic))
        return self.ask("look up topic ids", lambda client: self._describe(client, wanted)) if wanted else {}

    def bounds(
        self, partitions: Iterable[TopicPartition], *, moment: datetime | None = None
    ) -> dict[TopicPartition, LogBounds]:
        """Look up the bounds of all ``partitions``, and where ``moment`` lies in each.

        Raises :class:`StoreError` that names the partitions Kafka has no answer for, :class:`Unreachable`,
        :class:`AccessDenied`; :class:`InvalidInput` for a moment without a time zone.
        """
        wanted = sorted(set(partitions), key=lambda where: (where.topic, where.partition))
        specs = [OffsetSpec.earliest(), OffsetSpec.latest()]  # type: ignore[no-untyped-call]
        if moment is not None:
            specs.append(OffsetSpec.for_timestamp(_milliseconds(moment)))
        self._refuse_impossible(wanted)
        asked = [dict.fromkeys(wanted, spec) for spec in specs]
        starts, ends, *lookups = self.ask("look up offsets", lambda client: self._list_offsets(client, asked))
        return {
            where: LogBounds(starts[where], ends[where], _or_end(lookups[0][where], ends[where]) if lookups else None)
            for where in wanted
        }

    def retention(
        self, bounds: Mapping[TopicPartition, LogBounds], *, now: datetime, soon: timedelta
    ) -> dict[TopicPartition, Retention]:
        """Look up which records of these partitions are older than ``retention.ms`` at ``now``, or will be ``soon``.

        A record's age is that of its timestamp, whichever ``message.timestamp.type`` gave it; that is what the brokers
        go by (``UnifiedLog.deleteRetentionMsBreachedSegments``), though they delete whole segments, once the newest
        record of one is old enough. Raises store errors.
        """
        settings = self.configs(where.topic for where in bounds)
        found = {where: _retention(settings[where.topic]) for where in bounds}
        aged = {where: one.retention_ms for where, one in found.items() if one.deletes_by_age}
        if not aged:
            return found
        moments = [_milliseconds(now), _milliseconds(now + soon)]
        asked = [
            {where: OffsetSpec.for_timestamp(max(0, moment - kept)) for where, kept in aged.items()}
            for moment in moments
        ]
        told = self.ask("look up records by their age", lambda client: self._list_offsets(client, asked))
        for where in aged:
            expired, expiring = (_or_end(offsets[where], bounds[where].log_end) for offsets in told)
            found[where] = replace(found[where], expired_offset=expired, expiring_offset=expiring)
        return found

    def configs(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        """Read the settings of each of ``topics``, those that are defaults too; raises store errors."""
        asked = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in sorted(set(topics))]
        if not asked:
            return {}
        return self.ask("read the settings of topics", lambda client: self._configs(client, asked))

    def _configs(self, client: AdminClient, asked: list[ConfigResource]) -> dict[str, dict[str, str]]:
        answers = client.describe_configs(asked, request_timeout=self.timeout)
        return {
            resource.name: {name: str(entry.value or "") for name, entry in answer.result().items()}
            for resource, answer in answers.items()
        }

    def _list_offsets(
        self, client: AdminClient, wanted: Iterable[Mapping[TopicPartition, OffsetSpec]]
    ) -> list[dict[TopicPartition, int]]:
        """Ask for all that is ``wanted`` at once: each is one request to each leader."""
        pending = [
            client.list_offsets(
                {confluent_kafka.TopicPartition(where.topic, where.partition): spec for where, spec in specs.items()},
                request_timeout=self.timeout,
            )
            for specs in wanted
        ]
        found: list[dict[TopicPartition, int]] = []
        failed: dict[TopicPartition, KafkaException] = {}
        for answers in pending:
            found.append({})
            for asked, answer in answers.items():
                where = TopicPartition(asked.topic, asked.partition)
                try:
                    found[-1][where] = answer.result().offset
                except KafkaException as error:
                    failed[where] = error
        if failed:
            raise self._failure(failed)
        return found

    def _describe(self, client: AdminClient, topics: list[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        answers = client.describe_topics(TopicCollection(topics), request_timeout=self.timeout)
        for topic, answer in answers.items():
            try:
                found[topic] = str(answer.result().topic_id)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise
        return found

    def _failure(self, failed: dict[TopicPartition, KafkaException]) -> StoreError:
        """Make one error of those of all partitions: the one that says most about what to do."""
        failure = f"Can't look up offsets of {_named(failed)}"
        by_code = {error.args[0].code(): error for error in failed.values()}
        return min((self.meaning(failure, error) for error in by_code.values()), key=_rank)

    def _refuse_impossible(self, wanted: list[TopicPartition]) -> None:
        impossible = [where for where in wanted if not _TOPIC_NAME.fullmatch(where.topic) or where.partition < 0]
        if impossible:
            raise StoreError(f"Can't look up offsets of {_named(impossible)}: no such partition can exist.")


def _rank(error: StoreError) -> int:
    """Put a refusal before another answer, and any answer before silence."""
    if isinstance(error, AccessDenied):
        return 0
    return 1 if type(error) is StoreError else 2


def _named(partitions: Iterable[TopicPartition]) -> str:
    names = sorted(f"topic {where.topic!r} partition {where.partition}" for where in partitions)
    more = len(names) - _NAMED_IN_ERROR
    return ", ".join(names[:_NAMED_IN_ERROR]) + (f" and {more} more" if more > 0 else "")


def _milliseconds(moment: datetime) -> int:
    """Give the first millisecond that is not before ``moment``; Kafka takes negative ones for something else."""
    if moment.tzinfo is None:
        shown = moment.isoformat()
        raise InvalidInput(f"{shown} has no time zone, so it names no moment: add its offset, like {shown}+00:00.")
    return max(0, math.ceil(moment.timestamp() * 1000))


def _retention(settings: Mapping[str, str]) -> Retention:
    return Retention(settings["cleanup.policy"], int(settings["retention.ms"]))


def _or_end(looked_up: int, end: int) -> int:
    """Kafka answers -1 where no record lies at or after the moment."""
    return end if looked_up < 0 else looked_up
