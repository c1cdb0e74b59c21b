"""The proof of a reset: new offset syncs that fit where the flow was put, and none that doesn't."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import tenacity

from airflow_provider_connect_offsets.clock import retrying
from airflow_provider_connect_offsets.exceptions import NotRunning
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.plan import Action, OffsetPlan
from airflow_provider_connect_offsets.offsets.requests.flow_reset import FlowReset
from airflow_provider_connect_offsets.offsets.sync_record import OffsetSync, parse_sync

# Seconds between two observations.
_INTERVAL = 0.5
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Opening:
    """Where a partition of the source goes on, and the place that its next record gets in the remote topic."""

    upstream: int
    downstream: int


@dataclass(frozen=True, slots=True)
class Proof:
    """The first new sync of each partition, and the partitions from which one is still awaited."""

    first: Mapping[TopicPartition, OffsetSync] = field(default_factory=dict)
    awaited: frozenset[TopicPartition] = frozenset()

    @property
    def missing(self) -> list[TopicPartition]:
        """Partitions without a new sync, though they have records to replicate."""
        return sorted(self.awaited - self.first.keys(), key=lambda where: (where.topic, where.partition))

    def __str__(self) -> str:
        """Say what has come."""
        if not self.awaited:
            return "No record had to be replicated again, so no new sync is awaited yet."
        count = f"{len(self.awaited) - len(self.missing)} of {len(self.awaited)}"
        shown = sorted(self.first.values(), key=lambda sync: (sync.where.topic, sync.where.partition))[:_NAMED]
        told = ", ".join(f"{one.where.topic} {one.where.partition}: {one.upstream} → {one.downstream}" for one in shown)
        return f"New syncs have come of {count} partitions that are replicated again ({told})."


def openings(rows: Iterable[Mapping[str, Any]]) -> dict[TopicPartition, Opening]:
    """Read the rows of dataset ``rewinds``; where it isn't known which record is next, any will do."""
    return {
        TopicPartition(row["topic"], row["kafka_partition"]): Opening(
            row["opening_upstream"] or 0, row["opening_downstream"]
        )
        for row in rows
    }


def await_new_syncs(
    plan: OffsetPlan, reset: FlowReset, found: Mapping[TopicPartition, Opening], clients: Clients, *, timeout: float
) -> Proof:
    """Wait until each partition that is replicated again has a new sync; at most ``timeout`` seconds.

    The topic was empty when the flow was started. Raises :class:`NotRunning` for a sync that can't be this flow's new
    one, and where none comes at all.
    """
    awaited = _awaited(plan, found, clients)
    retry = tenacity.retry_if_result(lambda proof: bool(proof.missing))
    waiting = retrying(retry, timeout=timeout, clock=clients.clock, wait=tenacity.wait_fixed(_INTERVAL))
    proof: Proof = waiting(lambda: _observe(reset, found, awaited, clients))
    if awaited and len(proof.missing) == len(awaited):
        raise NotRunning(
            f"{plan.connector!r} was reset, its offsets were read back and {reset.syncs.topic!r} was empty, but within "
            f"{timeout:.0f} s no new sync came of {_named(proof.missing)}. Look at the state and the log of its tasks."
        )
    return proof


def misfit(sync: OffsetSync, opening: Opening) -> bool:
    """Whether a sync can't have been written after the flow went on at ``opening``: it is of an earlier time."""
    return sync.upstream < opening.upstream or sync.downstream < opening.downstream


def _awaited(plan: OffsetPlan, found: Mapping[TopicPartition, Opening], clients: Clients) -> frozenset[TopicPartition]:
    """Partitions that were moved, and have records from there on. One left alone may wait for its next record."""
    moved = {
        where
        for row in plan.rows
        if row.action is not Action.KEEP and row.topic is not None and row.kafka_partition is not None
        for where in (TopicPartition(row.topic, row.kafka_partition),)
        if where in found
    }
    if clients.logs is None or not moved:
        return frozenset()
    existing = clients.logs.topics()
    bounds = clients.logs.bounds(where for where in moved if where.partition < existing.get(where.topic, 0))
    return frozenset(where for where, log in bounds.items() if max(found[where].upstream, log.log_start) < log.log_end)


def _observe(
    reset: FlowReset, found: Mapping[TopicPartition, Opening], awaited: frozenset[TopicPartition], clients: Clients
) -> Proof:
    first: dict[TopicPartition, OffsetSync] = {}
    for record in clients.clusters[reset.syncs.side].records(reset.syncs.topic):
        sync = parse_sync(record.key, record.value)
        if sync is not None and sync.where in found:
            first.setdefault(sync.where, sync)
    for sync in first.values():
        opening = found[sync.where]
        if misfit(sync, opening):
            raise NotRunning(
                f"{reset.source_connector!r} was reset and runs, but the first sync of {sync.where.topic!r} partition "
                f"{sync.where.partition} says {sync.upstream} → {sync.downstream}, and it went on at "
                f"{opening.upstream} → {opening.downstream}: someone else writes into {reset.syncs.topic!r}. Find out "
                "who, and reset again."
            )
    return Proof(first, awaited)


def _named(partitions: list[TopicPartition]) -> str:
    names = [f"{where.topic!r} partition {where.partition}" for where in partitions[:_NAMED]]
    more = len(partitions) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")
