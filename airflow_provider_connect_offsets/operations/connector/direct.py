"""Offsets that are named one by one, or all of them at once, changed without a plan while the connector is STOPPED.

Held and kept like a planned change: what stood there is durable before anything is written, and whoever comes after a
process that died puts it back.
"""

from __future__ import annotations

from airflow_provider_connect_offsets.connect.protocols import State, WriteReply
from airflow_provider_connect_offsets.exceptions import InvalidRequest, JournalLost, NotApplied
from airflow_provider_connect_offsets.observe import log_positions
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import Offsets, parse_map
from airflow_provider_connect_offsets.operations.connector.stepwise import refuse_unless_still
from airflow_provider_connect_offsets.operations.stages import recovery, steps
from airflow_provider_connect_offsets.operations.stages.captured import Alteration, alteration_in
from airflow_provider_connect_offsets.operations.stages.offset_stages import AlterOffsets
from airflow_provider_connect_offsets.saga.executor import Executor, Toward
from airflow_provider_connect_offsets.saga.explanation import AsItIs, Settled
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.stage import Captures, JsonMap


def alter(clients: Clients, journal: Journal, owner: Owner, changes: Offsets) -> int:
    """Write ``changes`` to a connector that is STOPPED, and prove them; returns how many partitions.

    What a dead run left is restored first. Raises :class:`InvalidRequest` for what its family refuses,
    :class:`Unsupported` by a worker that is too old, :class:`NotStopped` and :class:`Overlap` before anything is
    written, :class:`NotApplied`, after which the prior offsets are back, and :class:`LeftStopped` where they could not
    be proved.
    """
    connector = journal.connector
    clients.control.require_offset_changes()
    info = clients.control.info(connector)
    for change in changes:
        offset = None if change.offset is None else parse_map(change.offset)
        for finding in info.family.check(parse_map(change.partition), offset, info.config):
            raise InvalidRequest(
                f"Nothing was written: {connector!r}, partition {change.partition}: {finding.message}."
            )
    refuse_unless_still(clients, connector)
    gone = log_positions.out_of_log(clients, log_positions.positions_in(info.family, changes))
    if gone:
        raise InvalidRequest(f"Nothing was written: {log_positions.described(connector, gone)}")

    return len(_changed(clients, journal, owner, WriteOffsets(connector, clients, changes)).changes)


def reset(clients: Clients, journal: Journal, owner: Owner) -> int:
    """Remove all offsets of a connector that is STOPPED, and prove it; returns how many there were.

    Raises as :func:`alter` does, and what the worker said where it refused.
    """
    connector = journal.connector
    clients.control.require_offset_changes()
    refuse_unless_still(clients, connector)

    return len(_changed(clients, journal, owner, ResetOffsets(connector, clients)).prior.stored())


def _changed(clients: Clients, journal: Journal, owner: Owner, stage: AlterOffsets) -> Alteration:
    """Make the stage as a saga of its own; gives what it captured."""
    if journal.is_claimed_for(owner.run):
        raise InvalidRequest(
            f"Nothing was written: this run holds {journal.connector!r} for the plan that it has begun. Give run_uri "
            "and digest of that plan, or leave the begin out."
        )
    recovery.undo_import(journal, owner, clients)
    with journal.claim(owner) as entry:
        recovery.recover(entry, Toward.BACK, clients)
        refuse_unless_still(clients, journal.connector)
        entry.begin(owner, operation="a change of offsets without a plan", key="", stages=[stage])
        settled = Executor(entry, [stage], _Explained(), clock=clients.clock).run()
    return Alteration.of(settled.record.captures[stage.name])


class _Explained(AsItIs):
    """What is raised is what the store said, unless it was the journal that failed, once all was written."""

    def undone(self, error: Exception, settled: Settled) -> Exception:
        """The error; :class:`NotApplied` where what was written can't be noted, and so was undone."""
        if not isinstance(error, JournalLost) or alteration_in(settled.record) is None:
            return error
        return NotApplied(
            f"{error} So what was written to {settled.record.resource!r} was undone: its prior offsets were put back, "
            f"and read back.{settled.lost}"
        )


class WriteOffsets(AlterOffsets):
    """Write these offsets, whatever stands there."""

    def __init__(self, connector: str, clients: Clients, changes: Offsets) -> None:
        super().__init__(connector, clients)
        self._changes = changes

    def capture(self, earlier: Captures) -> JsonMap:
        """What stands there."""
        del earlier
        prior = self._clients.offsets.read_offsets(self.subject)
        return Alteration(State.STOPPED, prior, self.changes(prior)).as_json()

    def changes(self, prior: Offsets) -> Offsets:
        """What is written over ``prior``."""
        del prior
        return self._changes


class ResetOffsets(WriteOffsets):
    """Remove all offsets, by the call that is made for that."""

    def __init__(self, connector: str, clients: Clients) -> None:
        super().__init__(connector, clients, Offsets())

    def changes(self, prior: Offsets) -> Offsets:
        """None of the partitions keeps an offset."""
        return prior.removed()

    def write(self, found: Alteration) -> WriteReply:
        """Remove and prove; raises what the worker said where it refused."""
        reply = self._clients.offsets.reset_offsets(self.subject)
        steps.prove(self._clients, self.subject, found.expected)
        return reply
