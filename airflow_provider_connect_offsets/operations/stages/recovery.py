"""What becomes of a saga whose process died: its stages are built anew from the journal, and settled."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile
from airflow_provider_connect_offsets.connect.storage.storage_control import StorageControl
from airflow_provider_connect_offsets.connect.storage.topic_storage import TopicStorage
from airflow_provider_connect_offsets.exceptions import Overlap
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.operations.stages.captured import (
    ALTER,
    EMPTY,
    LOOK,
    RESUME,
    STOP,
    connections_of,
)
from airflow_provider_connect_offsets.operations.stages.connector_stages import ResumeConnector, StopConnector
from airflow_provider_connect_offsets.operations.stages.explained import ConnectorExplained, told_of
from airflow_provider_connect_offsets.operations.stages.flow_stages import EmptyTopics
from airflow_provider_connect_offsets.operations.stages.imports import Imports
from airflow_provider_connect_offsets.operations.stages.offset_stages import AlterOffsets, CheckRecords
from airflow_provider_connect_offsets.saga.entry import JournalEntry
from airflow_provider_connect_offsets.saga.executor import Executor, Toward
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.record import SagaRecord, StageRecord
from airflow_provider_connect_offsets.saga.stage import Stage

log = logging.getLogger(__name__)

_BUILDERS: Mapping[str, Callable[[StageRecord, Clients], Stage]] = {
    STOP: lambda record, clients: StopConnector(record.subject, clients, optional=record.spec["optional"]),
    ALTER: lambda record, clients: AlterOffsets(record.subject, clients),
    RESUME: lambda record, clients: ResumeConnector(record.subject, clients, optional=record.spec["optional"]),
    LOOK: lambda record, clients: CheckRecords(record.subject, clients),
    EMPTY: lambda record, clients: EmptyTopics.built(record.subject, clients, record.spec),
}


def recover(entry: JournalEntry, toward: Toward, *clients: Clients) -> str | None:
    """Finish or undo what the entry's record left unfinished; say what was done, None where nothing was left.

    doors: to all Connect clusters that there is a way to. Raises :class:`LeftStopped` where neither could be proved,
    and store errors; the saga then stays unfinished, so that the next one to come tries again. Raises :class:`Overlap`
    for a saga that has changed something to which no door leads.
    """
    if not entry.record.state.is_unfinished:
        return None
    told = told_of(executor(clients[0], entry, built(entry.record, *clients)).settle(toward))
    log.warning(told)
    return told


def undo_import(journal: Journal, owner: Owner, clients: Clients) -> str | None:
    """Take back what a dead import has left of the connector of ``journal``; says so, None where nothing was left.

    Only where the doors lead to all that it has written, the storage: for any others the journal can't be claimed, and
    tells what to run. Raises as ``Imports.settle_left`` does.
    """
    storage, control = clients.offsets, clients.control
    if not isinstance(storage, TopicStorage | StandaloneFile) or not isinstance(control, StorageControl):
        return None
    imports = Imports.beside(journal, storage, owner, refuse_running=control.refuse_running)
    told = imports.settle_left() if journal.is_left_in(imports.journal) else None
    if told is not None:
        log.warning("%s", told)
    return told


def executor(clients: Clients, entry: JournalEntry, stages: list[Stage]) -> Executor:
    """The executor of a connector's saga."""
    return Executor(entry, stages, ConnectorExplained(entry.record.resource), clock=clients.clock)


def built(record: SagaRecord, *clients: Clients) -> list[Stage]:
    """Rebuild the stages that a journal holds; raises :class:`Overlap` if ``clients`` do not reach all they change."""
    ways = {one.cluster: one for one in reversed(clients)}
    stages = []
    for stage in record.stages:
        way = ways.get(stage.cluster)
        if way is None or (stage.title == EMPTY and not way.clusters):
            again = "Run mirror_reset with the same connectors" if stage.title == EMPTY else "Run it"
            raise Overlap(
                f"Nothing was done: {record.operation} of {record.resource!r} by run {record.owner.run!r} ended before "
                f"its time, and left more than offsets to give back. {again} once more (a dry run does not do it"
                f"{_through(record)}), which finishes or restores it; then try again."
            )
        stages.append(_BUILDERS[stage.title](stage, way))
    return stages


def _through(record: SagaRecord) -> str:
    """The Airflow connections that it was made through, with a semicolon before; empty where they aren't known."""
    told = connections_of(record)
    return f"; it was made through {', '.join(told)}" if told else ""
