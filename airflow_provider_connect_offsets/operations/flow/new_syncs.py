"""The proof of a reset: new offset syncs, which all fit the offsets at which the flow resumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import tenacity

from airflow_provider_connect_offsets.clock import make_attempts
from airflow_provider_connect_offsets.exceptions import NotRunning
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.partitions import existing_partitions, partition_of
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.offsets.requests.flow_reset import FlowReset
from airflow_provider_connect_offsets.offsets.sync_record import OffsetSync, parse_sync
from airflow_provider_connect_offsets.words import join_first, quantify

# Seconds between two observations.
_INTERVAL = 0.5
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Opening:
    """Offsets of the next record of a partition: upstream in the source, downstream in the remote topic."""

    upstream: int
    downstream: int


@dataclass(frozen=True, slots=True)
class Proof:
    """The first new sync of each partition, and the partitions from which a new sync is awaited."""

    first: Mapping[TopicPartition, OffsetSync] = field(default_factory=dict)
    awaited: frozenset[TopicPartition] = frozenset()

    @property
    def missing_partitions(self) -> list[TopicPartition]:
        """Partitions without a new sync, though they have records to replicate."""
        return sorted(self.awaited - self.first.keys())

    def __str__(self) -> str:
        """Describe which syncs have come."""
        if not self.awaited:
            return "There was no record to replicate again, so no new offset sync is expected yet."
        count = f"{len(self.awaited) - len(self.missing_partitions)} of {quantify(len(self.awaited), 'partition')}"
        shown = sorted(self.first.values(), key=lambda sync: sync.where)[:_NAMED]
        syncs = ", ".join(
            f"{one.where.topic} {one.where.partition}: {one.upstream} → {one.downstream}" for one in shown
        )
        return f"There are new offset syncs of {count} with records to replicate again ({syncs})."


def openings(rows: Iterable[Mapping[str, Any]]) -> dict[TopicPartition, Opening]:
    """Read the rows of the dataset ``rewinds``; upstream is 0 if the next record is unknown."""
    return {partition_of(row): Opening(row["opening_upstream"] or 0, row["opening_downstream"]) for row in rows}


def await_new_syncs(
    plan: OffsetPlan, reset: FlowReset, expected: Mapping[TopicPartition, Opening], clients: Clients, *, timeout: float
) -> Proof:
    """Wait until each partition that is replicated again has a new sync.

    The offset-syncs topic was empty when the flow resumed.

    Args:
        plan: The plan of the MirrorSource's offsets.
        reset: The flow.
        expected: The offsets at which each partition resumed.
        clients: Clients of its connectors and both clusters.
        timeout: Seconds to wait.

    Returns:
        The proof, which may be incomplete.

    Raises:
        NotRunning: A sync can't be a new one of this flow, or none came at all.
        StoreError: A cluster does not answer, or refuses.
    """
    awaited = _awaited_partitions(plan, expected, clients)
    retry = tenacity.retry_if_result(lambda proof: bool(proof.missing_partitions))
    waiting = make_attempts(retry, timeout=timeout, clock=clients.clock, wait=tenacity.wait_fixed(_INTERVAL))
    proof: Proof = waiting(lambda: _observe(reset, expected, awaited, clients))
    if awaited and len(proof.missing_partitions) == len(awaited):
        raise NotRunning(
            f"{plan.connector!r} was reset, its offsets were read back and {reset.syncs.topic!r} was empty. But after "
            f"{timeout:.0f} s there was still no new offset sync of {_name_partitions(proof.missing_partitions)}. "
            "Check the state and the log of the connector's tasks."
        )
    return proof


def misfit(sync: OffsetSync, opening: Opening) -> bool:
    """Whether a sync can't have been written after the flow resumed at ``opening``, because it is older."""
    return sync.upstream < opening.upstream or sync.downstream < opening.downstream


def _awaited_partitions(
    plan: OffsetPlan, expected: Mapping[TopicPartition, Opening], clients: Clients
) -> frozenset[TopicPartition]:
    """Return the partitions that were moved and have records to replicate; others get no sync until the next record."""
    moved = {where for row in plan.changed_rows() if (where := row.where) is not None and where in expected}
    if clients.logs is None or not moved:
        return frozenset()
    bounds = clients.logs.bounds(existing_partitions(clients.logs, moved))
    return frozenset(
        where for where, log in bounds.items() if max(expected[where].upstream, log.log_start) < log.log_end
    )


def _observe(
    reset: FlowReset, expected: Mapping[TopicPartition, Opening], awaited: frozenset[TopicPartition], clients: Clients
) -> Proof:
    first: dict[TopicPartition, OffsetSync] = {}
    for record in clients.both_clusters.on(reset.syncs.side).records(reset.syncs.topic):
        sync = parse_sync(record.key, record.value)
        if sync is not None and sync.where in expected:
            first.setdefault(sync.where, sync)
    for sync in first.values():
        opening = expected[sync.where]
        if misfit(sync, opening):
            raise NotRunning(
                f"{reset.source_connector!r} was reset and runs, but the first offset sync of {sync.where.topic!r} "
                f"partition {sync.where.partition} is {sync.upstream} → {sync.downstream}, although this partition "
                f"resumed at {opening.upstream} → {opening.downstream}. So someone else writes to "
                f"{reset.syncs.topic!r}. Find out who, then reset the flow again."
            )
    return Proof(first, awaited)


def _name_partitions(partitions: list[TopicPartition]) -> str:
    return join_first([f"{where.topic!r} partition {where.partition}" for where in partitions], _NAMED)
