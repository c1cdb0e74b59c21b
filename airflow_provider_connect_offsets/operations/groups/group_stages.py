"""Moves the consumer groups of a cluster, one run at a time; first repairs what a dead run left unfinished."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

import tenacity

from airflow_provider_connect_offsets.clock import make_attempts
from airflow_provider_connect_offsets.exceptions import Overlap
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.offsets.requests.failover import Move
from airflow_provider_connect_offsets.operations.groups.group_clients import kafka_cluster_of
from airflow_provider_connect_offsets.operations.registry import make_registry
from airflow_provider_connect_offsets.operations.stages.groups.move_groups import (
    MoveExplained,
    MoveGroups,
    groups_resource,
)
from airflow_provider_connect_offsets.saga import Journal, Left, Operation, Owner, journals_of, operate
from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import TRANSLATION
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

log = logging.getLogger(__name__)
T = TypeVar("T")

# Seconds to wait until another run has moved its groups: several flows may fail over into one cluster at a time.
TIMEOUT = 600.0


def groups_journal(clients: Clients) -> Journal:
    """Return the journal of all consumer groups of a Kafka cluster; ``clients``: the clients of these groups."""
    cluster = kafka_cluster_of(clients)
    return Journal(clients.journals, cluster=cluster, resource=groups_resource(cluster))


def refuse_moved(clients: Clients, run: str) -> None:
    """Raise :class:`Overlap` if these are consumer groups, and the failover of another run is moving some now."""
    if clients.origin is Origin.GROUP:
        groups_journal(clients).refuse_overlap(run)


def refuse_changed(clients: Clients, directory: FailoverDirectory, run: str) -> None:
    """Raise :class:`Overlap` if another run is changing the offsets of a group that ``directory`` translates."""
    rows = iterate_dataset(directory.translation, TRANSLATION)
    moved = sorted({row["group"] for row in rows if row["action"] == Move.COMMIT})
    for journal in journals_of(clients.journals, cluster=clients.cluster, resources=moved):
        journal.refuse_overlap(run)


def move_groups(
    clients: Clients, owner: Owner, directory: FailoverDirectory, move: Callable[[], T], *, timeout: float = TIMEOUT
) -> T:
    """Call ``move`` while no other run moves these groups; first repair what a dead run left unfinished.

    Args:
        clients: Clients of the groups (``group_clients``).
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
    refused: list[Overlap] = []
    stage = MoveGroups(clients, directory, lambda: results.append(move()))

    def stages(_left: Sequence[Left]) -> Sequence[MoveGroups]:
        # A change that begins later finds this journal claimed.
        try:
            refuse_changed(clients, directory, owner.run)
        except Overlap as error:
            refused.append(error)  # a change, not another move: it is not waited for
            raise
        return [stage]

    operation = Operation(
        groups_journal(clients),
        f"the move of the groups in {directory.uri}",
        stages,
        MoveExplained(),
        make_registry(clients),
        completes=lambda record: {one.spec["directory"] for one in record.stages} == {directory.uri},
    )
    waiting = make_attempts(
        tenacity.retry_if_exception(lambda error: isinstance(error, Overlap) and error not in refused),
        timeout=timeout,
        wait=tenacity.wait_exponential(max=10),
        before_sleep=lambda state: log.info("%s", state.outcome and state.outcome.exception()),
    )
    waiting(operate, operation, owner)
    return results[0]
