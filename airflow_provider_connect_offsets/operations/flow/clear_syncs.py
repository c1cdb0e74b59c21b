"""Empties a flow's internal topics as a single step, for a reset that is laid out in several tasks."""

from __future__ import annotations

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.flow.flow_snapshot import keep_records
from airflow_provider_connect_offsets.observe.partitions import first_few
from airflow_provider_connect_offsets.offsets.requests.flow_reset import FlowReset
from airflow_provider_connect_offsets.operations.connector.stepwise import refuse_unless_stopped
from airflow_provider_connect_offsets.operations.flow.flow_reset import ResetJournals, foreign_topics
from airflow_provider_connect_offsets.operations.stages import recovery
from airflow_provider_connect_offsets.operations.stages.flow_stages import EmptyTopics
from airflow_provider_connect_offsets.saga import Owner, Toward
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory

_NAMED = 5


def clear_syncs(
    reset: FlowReset, clients: Clients, journals: ResetJournals, owner: Owner, run: ResetDirectory, *, foreign: bool
) -> dict[str, int]:
    """Keep the records of the flow's internal topics in ``run``, and empty the topics.

    What a dead run left is undone first.

    Args:
        reset: The flow, and which topics are emptied.
        clients: Clients of its connectors and both clusters.
        journals: The journals of the reset.
        owner: This process.
        run: Directory of the run.
        foreign: True if syncs of topics that the flow does not replicate may be deleted as well.

    Returns:
        Topic → how many offsets were emptied.

    Raises:
        NotStopped: A connector runs; nothing was changed.
        InvalidInput: There are foreign syncs, and ``foreign`` is false; nothing was changed.
        Overlap: Another run changes the flow; nothing was changed.
        StoreError: A system does not answer, or refuses; some records may be gone.
    """
    recovery.undo_import(journals.journal, owner, clients)
    with journals.journal.claim(owner, others=journals.locks) as entry:
        recovery.recover(entry, Toward.BACK, clients)
        for connector in filter(None, (reset.source_connector, reset.checkpoint_connector)):
            refuse_unless_stopped(clients, connector)
        if not foreign:
            _refuse_foreign(reset, clients)
        keep_records(reset, clients, run)
        stage = EmptyTopics(reset.source_connector, clients, reset.emptied, kept=run.uri)
        entry.begin(owner, operation="the emptying of the flow's topics", key="", stages=[stage])
        settled = recovery.executor(clients, entry, [stage]).run()
        return dict(settled.record.stage(stage.name).facts.get("emptied", {}))


def _refuse_foreign(reset: FlowReset, clients: Clients) -> None:
    if foreign := foreign_topics(reset, clients):
        raise InvalidInput(
            f"Nothing was written. {reset.syncs.topic!r} holds syncs of topics that {reset.source_connector!r} does "
            f"not replicate: {first_few(foreign, _NAMED)}. Emptying the topic deletes them for the flow that does. If "
            "that is intended, set foreign."
        )
