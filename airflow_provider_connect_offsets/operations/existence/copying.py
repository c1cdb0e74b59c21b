"""Copying a connector with its offsets, and renaming one: the copy takes the original's place."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_connect_offsets.exceptions import NotRunning
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.operations.existence import create_delete
from airflow_provider_connect_offsets.operations.existence.copy_check import (
    Copied,
    Copying,
    check,
    offsets_of_copy,
    refuse_unfound,
)
from airflow_provider_connect_offsets.operations.existence.create_delete import (
    RemovedOffsets,
    StartingOffsets,
    count_stored,
)
from airflow_provider_connect_offsets.operations.registry import journal_of, operation_on_connector, settle_of
from airflow_provider_connect_offsets.operations.stages.connector_stages import ResumeConnector, StopConnector
from airflow_provider_connect_offsets.operations.stages.existence_stages import (
    CreateConnector,
    DeleteConnector,
)
from airflow_provider_connect_offsets.operations.stages.explained import CopyExplained
from airflow_provider_connect_offsets.saga import Left, Owner, SagaState, Stage, operate


def copy(copying: Copying, clients: Clients, owner: Owner) -> int:
    """Create a connector with the settings and offsets of another one, and delete the original if it is renamed.

    The copy is created STOPPED, gets the offsets, which are read back, and then the state that the original had. Until
    the deletion of the original, or its resume, any failure leaves the original as it was and nothing of the copy. If
    the original keeps running, a copy that fails right after its start is deleted again as well.

    Args:
        copying: What is copied.
        clients: Clients of the Connect cluster.
        owner: This process.

    Returns:
        How many partitions of the copy have an offset.

    Raises:
        UnknownConnector, InvalidRequest, Unsupported: As :func:`check`; nothing was changed.
        Overlap: Another run works on one of the two; nothing was changed.
        NotApplied: There is no copy, and the original is as it was.
        NotRunning: The copy exists with its offsets, and did not start.
        LeftStopped: The original could not be deleted or resumed; the message says what is stored.
    """
    if not (copying.rename or copying.stop_original):
        return _copy_running(copying, clients, owner)

    def stages(_left: Sequence[Left]) -> list[Stage]:
        return _stages(copying, check(copying, clients), clients)

    operation = operation_on_connector(
        clients,
        copying.connector,
        "the renaming" if copying.rename else "the copying",
        stages,
        key=_key(copying, owner),
        explanation=CopyExplained(copying.connector, copying.new_name),
        others=[journal_of(clients, copying.new_name)],
    )
    try:
        return count_stored(operate(operation, owner).saga)
    except NotRunning as error:
        raise _explain_not_running(copying, error, clients) from error


def release(copying: Copying, clients: Clients, owner: Owner) -> tuple[str, int | None] | None:
    """Undo an unfinished copy or rename by the tasks of a run; finish a rename whose original is deleted.

    Args:
        copying, clients, owner: As in :func:`copy`.

    Returns:
        A sentence about what was done, and how many partitions of the copy have an offset, None if there is no copy;
        None for both if nothing was left.

    Raises:
        LeftStopped: The original could neither be restored nor be deleted; the message says what is stored.
        StoreError: A system does not answer, or refuses; something may be left.
    """
    for one in copying.both_names:  # one of them has the saga
        left = settle_of(clients, one, owner, run=owner.run)
        if left is not None:
            return left.sentence, count_stored(left.record) if left.record.state is SagaState.DONE else None
    return None


def settle_left(copying: Copying, clients: Clients, owner: Owner) -> list[str]:
    """Undo unfinished copies of either connector by dead runs; finish a rename that has begun to delete the original.

    Otherwise a half-made copy would occupy the name of the new connector. Returns a sentence for each saga that was
    settled. Raises as :func:`release` does, and :class:`Overlap` if a run works on one of the two.
    """
    left = (settle_of(clients, one, owner) for one in copying.both_names)
    return [one.sentence for one in left if one is not None]


class CopiedOffsets(StartingOffsets):
    """Writes the offsets at which the original is stopped as the offsets of its copy."""

    def __init__(self, checked: Copied, clients: Clients, copying: Copying) -> None:
        super().__init__(checked.new, clients)
        self._checked = checked
        self._copying = copying

    def changes(self, prior: Offsets) -> Offsets:
        """Return what is written over ``prior``; raises :class:`InvalidRequest` for what the copy would not find."""
        original, info = self._checked.original, self._checked.info
        self._changes = offsets_of_copy(original, info, self._clients.offsets.read_offsets(original.name))
        refuse_unfound(self._changes, original, info, self._copying)
        return super().changes(prior)


def _stages(copying: Copying, checked: Copied, clients: Clients) -> list[Stage]:
    """Return the stages; the original is stopped only once Connect has accepted the copy's settings."""
    original, new = checked.original, checked.new
    copied: list[Stage] = [
        CreateConnector(new.name, clients, new.config, like=new.like),
        StopConnector(original.name, clients, optional=copying.rename, for_offsets=True),
        CopiedOffsets(checked, clients, copying),
    ]
    if not copying.rename:
        last: list[Stage] = [ResumeConnector(original.name, clients)]
    else:
        removed = [RemovedOffsets(original.name, clients, kept="", optional=True)] if checked.removes_offsets else []
        last = [*removed, DeleteConnector(original.name, clients)]
    return [*copied, *last, ResumeConnector(new.name, clients, state_of=original.name)]


def _copy_running(copying: Copying, clients: Clients, owner: Owner) -> int:
    """Copy a connector that keeps running: create the copy while no other run may change the original."""
    settle_of(clients, copying.connector, owner)
    return create_delete.create_checked(
        copying.new_name, lambda: check(copying, clients).new, clients, owner, others=[copying.connector]
    )


def _explain_not_running(copying: Copying, error: NotRunning, clients: Clients) -> NotRunning:
    rest = f"{copying.connector!r} is deleted" if copying.rename else f"{copying.connector!r} keeps its own"
    return NotRunning(
        f"{error} {copying.new_name!r} exists with its offsets, and {rest}. Correct the configuration of "
        f"{copying.new_name!r} ({clients.registry().configure_by_hand(copying.new_name)}), then run the task again: "
        "it resumes the connector."
    )


def _key(copying: Copying, owner: Owner) -> str:
    """Identify the saga for a retry of the same task."""
    return f"copy_connector {copying.new_name} {owner.task}"
