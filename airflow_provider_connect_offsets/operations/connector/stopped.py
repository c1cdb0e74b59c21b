"""Keeps connectors STOPPED for a run of several tasks: one saga, which stays open between the tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import Interfered, InvalidRequest
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.operations.registry import Reached, reached
from airflow_provider_connect_offsets.operations.stages.captured import PriorState
from airflow_provider_connect_offsets.operations.stages.connector_stages import ResumeConnector, StopConnector
from airflow_provider_connect_offsets.operations.stages.explained import ConnectorExplained
from airflow_provider_connect_offsets.saga import (
    Executor,
    Journal,
    Operation,
    Owner,
    SagaState,
    continued,
    open_saga,
    settle,
)


@dataclass(frozen=True, slots=True)
class Member:
    """A connector that is stopped: its clients and its journal. The saga is kept in the first member's journal."""

    clients: Clients
    journal: Journal


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
        NotStopped: One did not stop in time.
        StoreError: Connect does not answer, or refuses.
    """
    if not members:
        return []
    counts = Counter(one.journal.uri for one in members)
    if twice := [one.journal.resource for one in members if counts[one.journal.uri] > 1]:
        raise InvalidRequest(
            f"Nothing was stopped, and no group was moved: {twice[0]!r} is named for two connectors of the flow, and "
            "both lead to the same Connect cluster. Name the MirrorSource, the MirrorCheckpoint and the forward flow's "
            "connector, each with its own Connect connection."
        )
    home, *others = members
    stages = [StopConnector(one.journal.resource, one.clients) for one in members]

    def stop_all(executor: Executor) -> None:
        for stage in stages:
            executor.make(stage)

    operation = Operation(
        home.journal,
        "the failover",
        lambda _left: stages,
        ConnectorExplained(home.journal.resource, home.clients.control),
        _registry(members),
        [one.journal for one in others],
        stops=[stage.name for stage in stages],
        clock=home.clients.clock,
    )
    record = open_saga(operation, owner, seconds=seconds, make=stop_all)
    return [(stage.subject, PriorState.from_json(record.captures[stage.name]).state) for stage in stages]


def leave_stopped(members: Sequence[Member], owner: Owner, *, seconds: float) -> None:
    """End the saga with the connectors STOPPED; the lease lasts ``seconds`` more."""
    if members:
        with continued(members[0].journal, owner, _registry(members), seconds=seconds) as executor:
            executor.finish()


def resume(members: Sequence[Member], owner: Owner, *, seconds: float) -> None:
    """End the saga with the connectors in their prior states; the lease lasts ``seconds`` more.

    Raises :class:`NotRunning` and store errors.
    """
    if not members:
        return
    with continued(members[0].journal, owner, _registry(members), seconds=seconds) as executor:
        executor.add([ResumeConnector(one.journal.resource, one.clients) for one in members])
        executor.run()


def restore(members: Sequence[Member], owner: Owner) -> str | None:
    """Undo what the run has left: restore the connectors' prior states.

    A connector that can't be restored does not prevent the others from being restored.

    Returns:
        A sentence about what was done; None if nothing was left.

    Raises:
        Interfered: Someone has deleted a connector; names it.
        StoreError: Connect does not answer, or refuses.
    """
    if not members:
        return None
    left = settle(members[0].journal, owner, _registry(members), run=owner.run, clock=members[0].clients.clock)
    if left is None:
        return None
    if left.record.state is SagaState.ABANDONED:
        raise Interfered(left.sentence)
    return left.sentence


def _registry(members: Sequence[Member]) -> Reached:
    return reached(*(one.clients for one in members))
