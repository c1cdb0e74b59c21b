"""Copy: the offsets of a connector that has got a topic of its own."""

from __future__ import annotations

from airflow_provider_connect_offsets.cli.opened import WorkerStorage
from airflow_provider_connect_offsets.cli.told import counted, tell
from airflow_provider_connect_offsets.connect.storage.topic_storage import TopicStorage
from airflow_provider_connect_offsets.exceptions import InvalidInput, NotApplied
from airflow_provider_connect_offsets.operations.stages.steps import differences


def copy(opened: WorkerStorage, connectors: list[str], *, forced: bool) -> None:
    """Copy what a connector's own topic does not hold yet, and prove it; ``forced`` lets workers run.

    Raises :class:`InvalidInput` for a connector without a topic of its own, :class:`NotStopped` for one that runs,
    :class:`NotApplied` where what was copied is not what is read back, and store errors.
    """
    storage = opened.storage
    if not isinstance(storage, TopicStorage):
        raise InvalidInput(f"{opened.name} belongs to a standalone worker, whose connectors have no topics.")
    for name in connectors:
        if not storage.has_own_topic(name):
            raise InvalidInput(
                f"Nothing was copied: {name!r} has no offsets.storage.topic of its own, or doesn't exist."
            )
    if not forced:
        opened.refuse_running(connectors)
    for name in connectors:
        expected = storage.second_copy(name).updated(storage.read_offsets(name))
        storage.copy_to_own_topic(name)
        difference = differences(storage.read_offsets(name), expected)
        if difference:
            raise NotApplied(f"{name!r} was read back from its own topic: {difference}. Copy it again.")
        tell(f"{name}: {counted(len(expected), 'offset')} stood in its own topic when that was read back.")
