"""Settles a saga whose process died: rebuilds its stages from the journal, and finishes or undoes them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from airflow_provider_connect_offsets.connect.storage.storage_control import Storage, StorageControl
from airflow_provider_connect_offsets.exceptions import Overlap
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.operations.stages.captured import EMPTY, connections_of
from airflow_provider_connect_offsets.operations.stages.connector_stages import (
    ConnectorStage,
    ResumeConnector,
    StopConnector,
)
from airflow_provider_connect_offsets.operations.stages.existence_stages import CreateConnector, DeleteConnector
from airflow_provider_connect_offsets.operations.stages.explained import ConnectorExplained, describe
from airflow_provider_connect_offsets.operations.stages.flow_stages import EmptyTopics
from airflow_provider_connect_offsets.operations.stages.imports import Imports
from airflow_provider_connect_offsets.operations.stages.offset_stages import AlterOffsets, CheckRecords
from airflow_provider_connect_offsets.operations.stages.poison_stages import RunOneByOne
from airflow_provider_connect_offsets.operations.stages.replay_stages import (
    DeliverInterval,
    PlaceClone,
    RemoveClone,
    StartClone,
    StopClone,
)
from airflow_provider_connect_offsets.saga import Executor, Journal, JournalEntry, Owner, SagaRecord, Stage, Toward

log = logging.getLogger(__name__)

_STAGES: Mapping[str, type[ConnectorStage]] = {
    one.title: one
    for one in (
        StopConnector,
        AlterOffsets,
        ResumeConnector,
        CheckRecords,
        CreateConnector,
        DeleteConnector,
        RunOneByOne,
        EmptyTopics,
        *(PlaceClone, StartClone, DeliverInterval, StopClone, RemoveClone),
    )
}


def recover(entry: JournalEntry, toward: Toward, *clients: Clients) -> str | None:
    """Finish or undo the unfinished saga of ``entry``.

    Args:
        entry: The journal entry of the resource.
        toward: Whether to finish or undo it.
        clients: Clients of all Connect clusters that can be reached; the first are those of the resource.

    Returns:
        A sentence about what was done; None if nothing was left unfinished.

    Raises:
        LeftStopped: Neither the plan nor the prior state could be proved; the saga stays unfinished.
        Overlap: The saga has changed something that ``clients`` do not reach.
        StoreError: A system does not answer, or refuses; the saga stays unfinished.
    """
    if not entry.record.state.is_unfinished:
        return None
    message = describe(executor(clients[0], entry, built(entry.record, *clients)).settle(toward))
    log.warning(message)
    return message


def release(journal: Journal, owner: Owner, clients: Clients) -> tuple[str, SagaRecord] | None:
    """Undo, for a teardown, the saga that the tasks of the owner's run have left unfinished; else do nothing.

    What another run has left, or is doing, is not touched: a run that changed nothing must not fail for it.

    Returns:
        A sentence about what was done, and the settled saga; None if the run has left nothing.

    Raises:
        As :func:`recover`.
    """
    left = journal.left()
    if left is None or left[0].owner.run != owner.run:
        return None
    return undo_left(journal, owner, clients)


def undo_left(journal: Journal, owner: Owner, clients: Clients) -> tuple[str, SagaRecord] | None:
    """Undo the unfinished saga that any dead run has left in ``journal``; returns and raises as :func:`release`.

    Raises :class:`Overlap` if the run is not dead.
    """
    if journal.left() is None:
        return None
    return undo(journal, owner, clients)


def undo(
    journal: Journal, owner: Owner, *clients: Clients, others: Iterable[Journal] = ()
) -> tuple[str, SagaRecord] | None:
    """Claim a resource, which ends the lease of an earlier task of the run, and undo what is left unfinished.

    Args:
        journal: The journal of the resource.
        owner: This process.
        clients: As of :func:`recover`.
        others: Journals of the other resources of the saga.

    Returns:
        As :func:`release`.

    Raises:
        As :func:`recover`, and :class:`Overlap` if another run works on a resource.
    """
    with journal.claim(owner, others=others) as entry:
        message = recover(entry, Toward.BACK, *clients)
        return None if message is None else (message, entry.record)


def undo_import(journal: Journal, owner: Owner, clients: Clients, *, others: Iterable[Journal] = ()) -> str | None:
    """Undo what a dead import has left of the connector of ``journal``, or of one of ``others``.

    Does nothing unless ``clients`` reach the workers' storage, which the import has written. Without them the journal
    can't be claimed, and the error names the command to run. Raises as ``Imports.settle_left`` does.

    Returns:
        A sentence about what was done; None if nothing was left.
    """
    storage, control = clients.offsets, clients.control
    if not isinstance(storage, Storage) or not isinstance(control, StorageControl):
        return None
    imports = Imports.of_sibling(journal, storage, owner, refuse_running=control.refuse_running)
    if not any(one.is_left_in(imports.journal) for one in (journal, *others)):
        return None
    message = imports.settle_left()
    if message is not None:
        log.warning("%s", message)
    return message


def executor(clients: Clients, entry: JournalEntry, stages: Sequence[Stage]) -> Executor:
    """Return the executor of a connector's saga."""
    return Executor(entry, stages, ConnectorExplained(entry.record.resource, clients.control), clock=clients.clock)


def built(record: SagaRecord, *clients: Clients) -> list[Stage]:
    """Rebuild the stages of a record; raises :class:`Overlap` if ``clients`` do not reach all that they change."""
    by_cluster = {one.cluster: one for one in reversed(clients)}
    stages: list[Stage] = []
    for stage in record.stages:
        of_cluster = by_cluster.get(stage.cluster)
        if of_cluster is None or (stage.title == EMPTY and not of_cluster.clusters):
            again = "Run mirror_reset with the same connectors" if stage.title == EMPTY else "Run it"
            raise Overlap(
                f"Nothing was done: {record.operation} of {record.resource!r} by run {record.owner.run!r} ended before "
                f"its time, and left more than offsets to restore. {again} once more (a dry run does not do it"
                f"{_connections(record)}), which finishes or restores it; then try again."
            )
        stages.append(_STAGES[stage.title].built(stage.subject, of_cluster, stage.spec))
    return stages


def _connections(record: SagaRecord) -> str:
    """Name the Airflow connections that the saga used, with a semicolon before; empty if they are unknown."""
    named = connections_of(record)
    return f"; it used the connections {', '.join(named)}" if named else ""
