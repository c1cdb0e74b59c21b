"""Copy: copies the offsets of connectors that have been given an offsets topic of their own."""

from __future__ import annotations

from airflow_provider_connect_offsets.cli.messages import tell
from airflow_provider_connect_offsets.cli.opened import WorkerStorage
from airflow_provider_connect_offsets.connect.storage.topic_storage import TopicStorage
from airflow_provider_connect_offsets.exceptions import InvalidInput, NotApplied
from airflow_provider_connect_offsets.operations.stages.steps import differences
from airflow_provider_connect_offsets.words import quantify


def copy(opened: WorkerStorage, connectors: list[str]) -> None:
    """Copy the offsets that a connector's own topic lacks, and read them back.

    Args:
        opened: The workers' storage.
        connectors: The connectors.

    Raises:
        InvalidInput: A connector has no own topic; nothing was copied.
        NotStopped: A connector runs; nothing was copied.
        NotApplied: Other offsets were read back.
        StoreError: The storage can't be read or written.
    """
    storage = opened.storage
    if not isinstance(storage, TopicStorage):
        raise InvalidInput(
            f"Nothing was copied: {opened.name} belongs to a standalone worker, which stores no offsets in topics."
        )
    for name in connectors:
        if not storage.has_own_topic(name):
            raise InvalidInput(
                f"Nothing was copied: connector {name!r} doesn't exist, or has no offsets.storage.topic of its own."
            )
    opened.refuse_running(connectors)
    for name in connectors:
        expected = storage.second_copy(name).with_changes(storage.read_offsets(name))
        storage.copy_to_own_topic(name)
        difference = differences(storage.read_offsets(name), expected)
        if difference:
            raise NotApplied(
                f"The offsets topic of connector {name!r} does not have the copied offsets: {difference}. Copy them "
                "again."
            )
        tell(f"{name}: read back {quantify(len(expected), 'offset')} from its own topic.")
