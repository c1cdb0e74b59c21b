"""Refuses to move consumer groups that a change of their offsets (DAG ``group_offsets_change``) is changing now.

The change refuses groups that a failover is moving (``hooks.clients.ConnectCluster.refuse_moved_groups``).
"""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_connect_offsets.offsets.requests.failover import Move
from airflow_provider_connect_offsets.operations.groups.group_clients import groups_of
from airflow_provider_connect_offsets.saga import journals_of
from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import TRANSLATION
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory, journal_root


def groups_to_move(directory: FailoverDirectory) -> set[str]:
    """Return the groups that a translation commits; raises :class:`DatasetError` if there is none."""
    rows = iterate_dataset(directory.translation, TRANSLATION)
    return {row["group"] for row in rows if row["action"] == Move.COMMIT}


def refuse_changed(workspace: str, *, cluster: str, groups: Iterable[str], run: str) -> None:
    """Raise :class:`Overlap`, which names the run, if another run is changing the offsets of one of the groups now.

    Args:
        workspace: URI of the workspace.
        cluster: Id of the Kafka cluster of the groups.
        groups: Their names.
        run: The run that is to move them.
    """
    for journal in journals_of(journal_root(workspace), cluster=groups_of(cluster), resources=groups):
        journal.refuse_overlap(run)
