"""Waiting until a connector has come far enough; how far it is, is decided by the records that are left to read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.kafka.remaining import RemainingRecords
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.lag import Replicated, replicated
from airflow_provider_connect_offsets.observe.waiting import Observation
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.requests.patterns import typed_pattern
from airflow_provider_connect_offsets.offsets.requests.request import PartitionSet

_NAMED = 3


@dataclass(frozen=True, slots=True)
class Awaited:
    """Positions that are awaited: at least ``position`` in each partition, or at most ``max_lag`` records left to read.

    ``topics``: a pattern for whole names, None for all; ``partitions``: None for all.
    """

    topics: str | None = None
    partitions: PartitionSet | None = None
    position: int | None = None
    max_lag: int = 0

    @classmethod
    def parse(cls, *, topics: str = "", partitions: str = "", position: object = None, max_lag: object = 0) -> Awaited:
        """Read what a template may have made texts; raises :class:`InvalidRequest`."""
        return cls(
            typed_pattern(topics, param="topics").pattern.strip() or None,
            PartitionSet.parse(partitions) if partitions.strip() else None,
            None if position in (None, "") else _count(position, "position"),
            _count(max_lag, "max_lag"),
        )

    def selects_topic(self, topic: str) -> bool:
        """Whether partitions of that topic are waited for."""
        return self.topics is None or re.fullmatch(self.topics, topic) is not None

    def selects(self, where: TopicPartition) -> bool:
        """Whether that partition is waited for."""
        numbers = self.partitions.ranges if self.partitions else ()
        return self.selects_topic(where.topic) and (
            not numbers or any(low <= where.partition <= high for low, high in numbers)
        )


def observe_positions(clients: Clients, connector: str, logs: RemainingRecords, awaited: Awaited) -> Observation:
    """Whether ``connector`` has come as far as ``awaited`` in all partitions that it reads or has an offset for.

    ``logs`` are those of the cluster that its positions refer to. Transaction markers are no records, so a connector
    that has read all records is there, though it never gets to the log end. A partition without an offset is where
    ``auto.offset.reset`` starts. Raises :class:`InvalidRequest` where the family has no positions and where no
    partition is selected, and store errors.
    """
    info = clients.control.info(connector)
    if not info.family.has_positions:
        raise InvalidRequest(f"{connector!r}: offsets of a {info.connector_class} are no positions in a log.")
    looked_at = replicated(clients, info, logs, selects=awaited.selects_topic)
    found = {where: one for where, one in looked_at.items() if awaited.selects(where)}
    if not found:
        raise InvalidRequest(f"{connector!r} has no partition of topics {awaited.topics!r} to wait for.")
    behind = [text for where, one in found.items() if (text := _behind(where, one, awaited))]
    if not behind:
        return Observation(reached=True, sentence=f"{connector!r} is there in all of {len(found)} partitions.")
    more = f" and {len(behind) - _NAMED} more" if len(behind) > _NAMED else ""
    return Observation(reached=False, sentence=f"{connector!r}: {'; '.join(behind[:_NAMED])}{more}.")


def _behind(where: TopicPartition, found: Replicated, awaited: Awaited) -> str:
    """Say how far a partition has to go; empty where it is there."""
    if awaited.position is None:
        target = found.bounds.log_end - awaited.max_lag
        reached = found.lag is None or found.lag <= awaited.max_lag
    else:
        target = awaited.position
        reached = _is_past(found, target)
    stands = found.bounds.log_start if found.position is None else found.position
    return "" if reached else f"{where.topic}-{where.partition} is at {stands:,}, not {target:,} yet"


def _is_past(found: Replicated, target: int) -> bool:
    """Whether no record before ``target`` is left to read."""
    if found.position is not None and found.position >= target:
        return True
    if not found.known:
        return False
    left = found.bounds.log_end if found.first is None else found.first.offset
    return left >= target


def _count(value: object, name: str) -> int:
    text = str(value).strip()
    if not re.fullmatch(r"\d+", text, re.ASCII):
        raise InvalidRequest(f"{name}: {value!r} is no number of records, 0 or greater.")
    return int(text)
