"""Keeps connectors STOPPED for a run of several tasks: one saga, which stays open between the tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import Interfered, InvalidRequest
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.operations.registry import (
    Reached,
    journal_of,
    make_registry,
    operation_on_connector,
)
from airflow_provider_connect_offsets.operations.stages.captured import PriorState
from airflow_provider_connect_offsets.operations.stages.connector_stages import ResumeConnector, StopConnector
from airflow_provider_connect_offsets.saga import Executor, Journal, Owner, SagaState, continue_saga, open_saga, settle

#: The clients of a Connect cluster, and a connector that is stopped. The first member's journal keeps the saga.
Member: TypeAlias = tuple[Clients, str]


def stop_for_run(members: Sequence[Member], owner: Owner, *, seconds: float) -> list[tuple[str, State]]:
    """Claim the connectors for the run, and stop them; what a dead run left is undone first.

    After an error, :func:`restore` restores all their states.

    Args:
        members: The connectors; may be empty.
        owner: This process.
        seconds: How long the lease lasts; the next task continues it.

    Returns:
        Name and prior state of each connector.

    Raises:
        InvalidRequest: A connector is named twice.
        Overlap: Another run changes one of them.
        NotStopped: A connector did not stop in time.
        StoreError: Connect does not answer, or refuses.
    """
    if not members:
        return []
    counts = Counter((clients.cluster, name) for clients, name in members)
    (_first, twice), times = counts.most_common(1)[0]
    if times > 1:
        raise InvalidRequest(
            f"Nothing was stopped, and no group was moved: the name {twice!r} is given for two connectors of the flow "
            "on the same Connect cluster. Give the names of the MirrorSource, the MirrorCheckpoint and the forward "
            "flow's connector, each with its own Connect connection."
        )
    (home, first), *others = members
    stages = [StopConnector(name, clients) for clients, name in members]

    def stop_all(executor: Executor) -> None:
        for stage in stages:
            executor.make(stage)

    journals = [journal_of(clients, name) for clients, name in others]
    operation = replace(
        operation_on_connector(home, first, "the failover", lambda _left: stages, others=journals),
        registry=_registry(members),
        stops=[stage.name for stage in stages],
    )
    record = open_saga(operation, owner, seconds=seconds, make=stop_all)
    return [(stage.subject, PriorState.from_json(record.captures[stage.name]).state) for stage in stages]


def leave_stopped(members: Sequence[Member], owner: Owner, *, seconds: float) -> None:
    """End the saga with the connectors STOPPED; the lease lasts ``seconds`` more."""
    if members:
        with continue_saga(_home(members), owner, _registry(members), seconds=seconds) as executor:
            executor.finish()


def resume(members: Sequence[Member], owner: Owner, *, seconds: float) -> None:
    """End the saga with the connectors in their prior states; the lease lasts ``seconds`` more.

    Raises :class:`NotRunning` and store errors.
    """
    if not members:
        return
    with continue_saga(_home(members), owner, _registry(members), seconds=seconds) as executor:
        executor.add([ResumeConnector(name, clients) for clients, name in members])
        executor.run()


def restore(members: Sequence[Member], owner: Owner) -> str | None:
    """Undo the run's unfinished stops: restore the connectors' prior states.

    A connector that can't be restored does not prevent the others from being restored.

    Returns:
        A sentence about what was done; None if nothing was left.

    Raises:
        Interfered: Someone has deleted a connector; names it.
        StoreError: Connect does not answer, or refuses.
    """
    if not members:
        return None
    left = settle(_home(members), owner, _registry(members), run=owner.run, clock=members[0][0].clock)
    if left is None:
        return None
    if left.record.state is SagaState.ABANDONED:
        raise Interfered(left.sentence)
    return left.sentence


def _home(members: Sequence[Member]) -> Journal:
    clients, name = members[0]
    return journal_of(clients, name)


def _registry(members: Sequence[Member]) -> Reached:
    return make_registry(*(clients for clients, _name in members))
