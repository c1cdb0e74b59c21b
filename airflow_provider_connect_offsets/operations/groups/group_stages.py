"""Moves the consumer groups of a cluster, one run at a time; repairs first what a dead run has left of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import tenacity

from airflow_provider_connect_offsets.clock import retrying
from airflow_provider_connect_offsets.exceptions import Overlap
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.offsets.requests.failover import Move
from airflow_provider_connect_offsets.operations.groups.group_clients import group_clients, groups_of
from airflow_provider_connect_offsets.operations.registry import reached
from airflow_provider_connect_offsets.operations.stages.groups.move_groups import (
    MoveExplained,
    MoveGroups,
    groups_resource,
)
from airflow_provider_connect_offsets.saga import Journal, Left, Operation, Owner, journals_of, operate
from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import TRANSLATION
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory, journal_root

log = logging.getLogger(__name__)
T = TypeVar("T")

# Seconds to wait until another run has moved its groups: several flows may fail over into one cluster at a time.
TIMEOUT = 600.0


def groups_journal(workspace: str, *, cluster: str) -> Journal:
    """Return the journal of all consumer groups of the Kafka cluster with that id."""
    return Journal(journal_root(workspace), cluster=cluster, resource=groups_resource(cluster))


@dataclass(frozen=True, slots=True)
class TargetGroups:
    """The consumer groups of a cluster, and their journal.

    Attributes:
        cluster: The cluster.
        workspace: URI of the workspace.
        journal: The journal of all its groups.
        connections: Parameter → id of the Airflow connection that it named; shown in messages.
    """

    cluster: KafkaCluster
    workspace: str
    journal: Journal
    connections: Mapping[str, str]

    @classmethod
    def of(cls, cluster: KafkaCluster, workspace: str, **connections: str) -> TargetGroups:
        """Return the groups of ``cluster``, with their journal in ``workspace``; raises store errors."""
        return cls(cluster, workspace, groups_journal(workspace, cluster=cluster.cluster_id()), connections)

    def refuse_changed(self, directory: FailoverDirectory, run: str) -> None:
        """Raise :class:`Overlap` if another run is changing the offsets of a group that ``directory`` translates."""
        rows = iterate_dataset(directory.translation, TRANSLATION)
        moved = sorted({row["group"] for row in rows if row["action"] == Move.COMMIT})
        cluster = groups_of(self.cluster.cluster_id())
        for journal in journals_of(journal_root(self.workspace), cluster=cluster, resources=moved):
            journal.refuse_overlap(run)


def move_groups(
    groups: TargetGroups, owner: Owner, directory: FailoverDirectory, move: Callable[[], T], *, timeout: float = TIMEOUT
) -> T:
    """Call ``move`` while no other run moves these groups; repairs first what a dead run has left of them.

    Args:
        groups: The groups.
        owner: This process.
        directory: Directory of the run.
        move: Moves the groups.
        timeout: Seconds to wait for other runs.

    Returns:
        What ``move`` returns.

    Raises:
        Overlap: Another run still moves groups after ``timeout``, or is changing the offsets of one of them; no group
            was moved.
        JournalLost: The journal can't be written; no group was moved.
        Exception: What ``move`` raises.
    """
    results: list[T] = []
    stage = MoveGroups(
        groups.journal.resource,
        groups.cluster,
        directory,
        lambda: results.append(move()),
        connections=groups.connections,
    )

    def stages(_left: Sequence[Left]) -> Sequence[MoveGroups]:
        # A change that begins later finds this journal claimed.
        groups.refuse_changed(directory, owner.run)
        return [stage]

    operation = Operation(
        groups.journal,
        f"the move of groups by {directory.uri}",
        stages,
        MoveExplained(),
        reached(group_clients(groups.cluster)),
        completes=lambda record: {one.spec["directory"] for one in record.stages} == {directory.uri},
    )
    waiting = retrying(
        tenacity.retry_if_exception_type(Overlap),
        timeout=timeout,
        wait=tenacity.wait_exponential(max=10),
        before_sleep=lambda state: log.info("%s", state.outcome and state.outcome.exception()),
    )
    waiting(operate, operation, owner)
    return results[0]
