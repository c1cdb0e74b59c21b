"""Changes offsets of a STOPPED connector without a plan: writes given offsets, or removes all.

As for a planned change, the prior offsets are durable before anything is written, and the next operation on the
connector restores them if the process dies.
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_connect_offsets.connect.protocols import WriteReply
from airflow_provider_connect_offsets.exceptions import InvalidRequest, JournalLost, NotApplied
from airflow_provider_connect_offsets.observe import log_positions
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.operations.connector.stepwise import refuse_unless_stopped
from airflow_provider_connect_offsets.operations.registry import journal_of, operation_on_connector
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.operations.stages.captured import Alteration, PriorState, alteration_in
from airflow_provider_connect_offsets.operations.stages.offset_stages import AlterOffsets
from airflow_provider_connect_offsets.saga import Captures, Explanation, JsonMap, Left, Owner, Settled, operate


def alter(connector: str, clients: Clients, owner: Owner, changes: Offsets) -> Alteration:
    """Write ``changes`` to a STOPPED connector, and read them back; what a dead run left is undone first.

    Args:
        connector: The connector.
        clients: Its clients.
        owner: This process.
        changes: The offsets to write.

    Returns:
        The prior offsets, and the changes.

    Raises:
        InvalidRequest: The connector's family refuses an offset, or a position is out of range; nothing was written.
        Unsupported: The worker is too old to change offsets; nothing was written.
        NotStopped: The connector runs; nothing was written.
        Overlap: Another run changes it; nothing was written.
        NotApplied: The prior offsets are restored.
        LeftStopped: The prior offsets could not be verified.
    """
    clients.control.require_offset_changes()
    info = clients.control.info(connector)
    steps.refuse_invalid(info, changes, otherwise="Nothing was written")
    refuse_unless_stopped(clients, connector)
    gone = log_positions.out_of_log(clients, log_positions.positions_in(info.family, changes))
    if gone:
        raise InvalidRequest(f"Nothing was written: {log_positions.describe_gone(connector, gone)}")

    return change(clients, owner, WriteOffsets(connector, clients, changes))


def reset(connector: str, clients: Clients, owner: Owner) -> Alteration:
    """Remove all offsets of a STOPPED connector, and verify it; returns the prior offsets, and their removal.

    Raises as :func:`alter` does, and the worker's error if it refuses.
    """
    clients.control.require_offset_changes()
    refuse_unless_stopped(clients, connector)

    return change(clients, owner, ResetOffsets(connector, clients))


def change(clients: Clients, owner: Owner, stage: AlterOffsets) -> Alteration:
    """Make the stage as a saga of its own, and return what it captured; raises as :func:`alter` does."""
    connector = stage.subject
    if journal_of(clients, connector).is_open_for(owner.run):
        raise InvalidRequest(
            f"Nothing was written: this run has already begun a plan for {connector!r}. Give run_uri and digest of "
            "that plan, or remove the task that begins it."
        )

    def stages(_left: Sequence[Left]) -> list[AlterOffsets]:
        refuse_unless_stopped(clients, connector)
        return [stage]

    name = "a change of offsets without a plan"
    made = operate(operation_on_connector(clients, connector, name, stages, explanation=_Explained()), owner)
    return Alteration.from_json(made.saga.captures[stage.name])


class _Explained(Explanation):
    """Returns the store's error, unless the journal failed after the offsets were written."""

    def explain_undone(self, error: Exception, settled: Settled) -> Exception:
        """Return the error; :class:`NotApplied` if the offsets were written, and undone as the journal failed."""
        if not isinstance(error, JournalLost) or alteration_in(settled.record) is None:
            return error
        return NotApplied(
            f"{error} So what was written to {settled.record.resource!r} was undone: its prior offsets were restored "
            f"and read back.{settled.lost}"
        )


class WriteOffsets(AlterOffsets):
    """Writes the given offsets over the stored ones."""

    def __init__(self, connector: str, clients: Clients, changes: Offsets, *, optional: bool = False) -> None:
        super().__init__(connector, clients, optional=optional)
        self._changes = changes

    def capture(self, earlier: Captures) -> JsonMap:
        """Capture all offsets; raises what :meth:`changes` does, and store errors."""
        before = PriorState.before(earlier, self.subject, cluster=self.cluster)
        prior = self._clients.offsets.read_offsets(self.subject)
        return Alteration(before.state, prior, self.changes(prior)).as_json()

    def changes(self, prior: Offsets) -> Offsets:
        """Return what is written over ``prior``; what this raises ends the operation before anything is written."""
        return self._changes


class ResetOffsets(WriteOffsets):
    """Removes all offsets, with Connect's own call for it."""

    def __init__(self, connector: str, clients: Clients, *, optional: bool = False) -> None:
        super().__init__(connector, clients, Offsets(), optional=optional)

    def changes(self, prior: Offsets) -> Offsets:
        """Return the removal of all offsets."""
        return prior.removals()

    def write(self, alteration: Alteration) -> WriteReply:
        """Remove all offsets, and verify that none is left; raises the worker's error if it refuses."""
        reply = self._clients.offsets.reset_offsets(self.subject)
        steps.prove(self._clients, self.subject, alteration.expected_offsets)
        return reply
