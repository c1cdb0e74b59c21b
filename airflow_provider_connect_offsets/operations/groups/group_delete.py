"""Deletes a consumer group with its offsets, which are kept in a file."""

from __future__ import annotations

from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.operations.connector import direct
from airflow_provider_connect_offsets.operations.existence.create_delete import RemovedOffsets
from airflow_provider_connect_offsets.saga import Owner


def delete_group(group: str, clients: Clients, owner: Owner, *, kept: str) -> int:
    """Remove the offsets of a group without members, which deletes it, and verify that none is left.

    Args:
        group: Its name.
        clients: Clients of the consumer groups (``group_clients``).
        owner: This process.
        kept: URI to which the offsets are written first, as KIP-199 JSON.

    Returns:
        How many partitions had an offset.

    Raises:
        UnknownConnector: There is no such consumer group.
        NotStopped: It has members; nothing was removed.
        InvalidRequest: Its name is protected here.
        Overlap: Another run changes it.
        NotApplied: Its offsets are restored.
        LeftStopped: Its offsets could not be restored.
    """
    clients.control.info(group)
    clients.control.stop(group)  # says how many members it has
    removed = direct.change(clients, owner, RemovedOffsets(group, clients, kept))
    return len(removed.prior_offsets.by_partition())
