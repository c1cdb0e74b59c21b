"""Emptying a flow's own topics as a single step, for those who lay a reset out themselves."""

from __future__ import annotations

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.flow.flow_snapshot import keep_records
from airflow_provider_connect_offsets.offsets.requests.flow_reset import FlowReset
from airflow_provider_connect_offsets.operations.connector.stepwise import refuse_unless_still
from airflow_provider_connect_offsets.operations.flow.flow_reset import ResetJournals, replicates, synced_topics
from airflow_provider_connect_offsets.operations.stages import recovery
from airflow_provider_connect_offsets.operations.stages.flow_stages import EmptyTopics
from airflow_provider_connect_offsets.saga.executor import Toward
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory

_NAMED = 5


def clear_syncs(
    reset: FlowReset, clients: Clients, held: ResetJournals, owner: Owner, run: ResetDirectory, *, foreign: bool
) -> dict[str, int]:
    """Keep the records of the flow's own topics in ``run``, and empty the topics; how many offsets of each.

    foreign: whether syncs of topics that the flow does not replicate may go as well. What a dead run left is restored
    first. Raises :class:`NotStopped` and :class:`InvalidInput` before anything is touched, :class:`Overlap`, and store
    errors, after which some records may be gone.
    """
    with held.journal.claim(owner, others=held.locks) as entry:
        recovery.recover(entry, Toward.BACK, clients)
        for connector in filter(None, (reset.source_connector, reset.checkpoint_connector)):
            refuse_unless_still(clients, connector)
        if not foreign:
            _refuse_foreign(reset, clients)
        keep_records(reset, clients, run)
        stage = EmptyTopics(reset.source_connector, clients, reset.emptied, kept=run.uri)
        entry.begin(owner, operation="the emptying of the flow's topics", key="", stages=[stage])
        settled = recovery.executor(clients, entry, [stage]).run()
        return dict(settled.record.stage(stage.name).facts.get("emptied", {}))


def _refuse_foreign(reset: FlowReset, clients: Clients) -> None:
    info = clients.control.info(reset.source_connector)
    strange = sorted(topic for topic in synced_topics(reset, clients) if not replicates(info, topic))
    if strange:
        more = f" and {len(strange) - _NAMED} more" if len(strange) > _NAMED else ""
        raise InvalidInput(
            f"Nothing was written. {reset.syncs.topic!r} holds syncs of topics that {info.name!r} does not replicate: "
            f"{', '.join(strange[:_NAMED])}{more}. Emptied, it has none for whoever does. If that may be, set foreign."
        )
