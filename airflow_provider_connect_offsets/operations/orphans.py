"""Removes orphaned offsets, one run at a time; the next run finishes what a dead run has begun."""

from __future__ import annotations

from airflow_provider_connect_offsets.exceptions import InvalidInput, NotRemoved
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.operations.registry import make_registry
from airflow_provider_connect_offsets.operations.stages.orphans.orphaned_offsets import Keep, Removal
from airflow_provider_connect_offsets.operations.stages.orphans.remove_orphans import RemoveOrphans
from airflow_provider_connect_offsets.saga import Explanation, Journal, Operation, Owner, operate
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory


def orphans_journal(clients: Clients) -> Journal:
    """Return the journal of the workers' offsets topic.

    Raises:
        InvalidInput: No topic is named.
        StoreError: Kafka does not answer, or refuses.
    """
    topic = clients.topic
    if topic is None:
        raise InvalidInput("Nothing was removed: give the name of the workers' offsets topic.")
    cluster, resource = topic.cluster_id(), f"offsets topic {topic.topic}"
    return Journal(clients.journals, cluster=cluster, resource=resource)


def remove_orphans(
    directory: OrphansDirectory,
    clients: Clients,
    owner: Owner,
    *,
    digest: str,
    keep: Keep | None = None,
    kept: str = "",
) -> Removal:
    """Remove the approved orphans while no other run removes any from the topic; first finish what a dead run began.

    Args:
        directory: Directory of the run.
        clients: Clients of the Connect cluster, and the topic.
        owner: This process.
        digest: Digest of the approved orphans.
        keep: Writes the removed offsets elsewhere as well; None: nowhere else.
        kept: File that the error names for importing the removed offsets; empty: the file in the run's directory.

    Raises:
        Overlap, PlanRefused: Nothing was removed.
        NotRemoved: Some were left; names what was removed and what was not.
        StoreError: Some may be removed; run it again.
    """
    journal, stage = orphans_journal(clients), RemoveOrphans(directory, clients, digest=digest, keep=keep)
    name = f"the removal of the orphaned offsets in {directory.uri}"
    operate(Operation(journal, name, lambda _left: [stage], Explanation(), make_registry(clients)), owner)
    removal = stage.removal
    assert removal is not None  # noqa: S101 - the stage is done
    if removal.left:
        raise NotRemoved(removal.sentence(stage.topic.topic, kept=kept or directory.removed))
    return removal
