"""Every error this package raises, in one tree.

Callers catch by meaning, never by status code:

    ConnectOffsetsError
    ├── InvalidInput
    │   ├── InvalidRequest
    │   ├── UnreadablePattern
    │   ├── InvalidDocument
    │   ├── BrokenFamily
    │   └── PlanRefused
    ├── StoreError
    │   ├── Unreachable
    │   │   ├── NobodyThere
    │   │   ├── ConnectionRefused
    │   │   └── NotReady
    │   ├── AccessDenied
    │   ├── DatabaseFailed
    │   ├── UnknownConnector
    │   ├── RebalanceInProgress
    │   ├── NotReconciled
    │   ├── Conflict
    │   ├── NotStopped
    │   ├── StoreDamaged
    │   ├── Rejected
    │   │   └── Unsupported
    │   └── OutcomeUnknown
    ├── DatasetError
    ├── WorkspaceUnreadable
    ├── WorkspaceUnwritable
    ├── Unforeseen
    └── ChangeError
        ├── JournalDamaged
        │   └── UnknownFormat
        ├── JournalLost
        ├── Overlap
        ├── Drift
        ├── Interfered
        │   └── NotUndone
        ├── NotApplied
        ├── RecordsDeleted
        ├── FleetIncomplete
        ├── NotRemoved
        ├── NotDrained
        ├── GroupsNotMoved
        ├── NotSkipped
        ├── NotRunning
        └── LeftStopped
"""

from __future__ import annotations


class ConnectOffsetsError(Exception):
    """Base of every error this package raises on purpose; its message is one or two readable sentences."""


class InvalidInput(ConnectOffsetsError):
    """The input is wrong; nothing was touched."""


class InvalidRequest(InvalidInput):
    """A request makes no sense: unknown ``to``, a value that does not fit it, an invalid pattern."""


class UnreadablePattern(InvalidInput):
    """A connector's configuration has a pattern that only Java can match, so the topics it reads are unknown here."""


class InvalidDocument(InvalidInput):
    """A text isn't a valid offset document."""


class BrokenFamily(InvalidInput):
    """A distribution brings a family of connectors that can't be loaded; the message names the distribution."""


class PlanRefused(InvalidInput):
    """The plan has an ``error`` verdict, or is not the one that was approved; nothing was stopped."""


class StoreError(ConnectOffsetsError):
    """A system that stores offsets refused a call, or did not answer."""


class Unreachable(StoreError):
    """No worker or broker answered at any of its addresses."""


class NobodyThere(Unreachable):
    """No process is at a connection's addresses (unknown name, closed port), in a task that only observes."""


class ConnectionRefused(Unreachable):
    """Nothing was sent: no process listens at any of the addresses, or none whose certificate is trusted."""


class NotReady(Unreachable):
    """A process answers at the address, but is not a Connect worker, or is a worker that is still starting."""


class AccessDenied(StoreError):
    """Credentials are missing or insufficient (HTTP 401 and 403, ACLs)."""


class DatabaseFailed(StoreError):
    """The database that a connector reads does not answer, or refuses a query."""


class UnknownConnector(StoreError):
    """The worker knows no connector of that name."""


class RebalanceInProgress(StoreError):
    """The workers are rebalancing (HTTP 409); the call did nothing and may be repeated."""


class NotReconciled(StoreError):
    """Strimzi's operator does not act on a custom resource; the message says why, or for how long it did not."""


class Conflict(StoreError):
    """A Kubernetes resource was changed after it was read (HTTP 409), so nothing was written; read it again."""


class NotStopped(StoreError):
    """Offsets can't be changed until the connector is STOPPED, has no tasks and its group is empty."""


class StoreDamaged(StoreError):
    """The stored offsets can't be read completely; the store was left as it is, and is never taken for empty."""


class Rejected(StoreError):
    """The worker or the connector refused the content; the message is theirs."""


class Unsupported(Rejected):
    """The worker's Kafka has no such call; the message names its version, the release that has it, and another way."""


class OutcomeUnknown(StoreError):
    """A change was sent and its answer was lost or timed out, so it may still apply; read back before anything else."""


class DatasetError(ConnectOffsetsError):
    """A dataset is missing, was never finished, or has other columns than its schema."""


class WorkspaceUnreadable(ConnectOffsetsError):
    """A file of the workspace can't be read, and is never taken for a missing one; the message names it."""


class WorkspaceUnwritable(ConnectOffsetsError):
    """A file of the workspace can't be written; the message names it."""


class Unforeseen(ConnectOffsetsError):
    """An error from outside this package prevented an undo; everything else was undone nevertheless."""

    @classmethod
    def of(cls, error: Exception, undo: str) -> ConnectOffsetsError:
        """Return ``error`` if it is this package's own, else one that names it and what it prevented (``undo``)."""
        if isinstance(error, ConnectOffsetsError):
            return error
        unforeseen = cls(f"{undo} failed: {type(error).__name__}: {error}.")
        unforeseen.__cause__ = error
        return unforeseen


class ChangeError(ConnectOffsetsError):
    """A change did not end as planned."""


class JournalDamaged(ChangeError):
    """A connector's journal can't be read, so a change may be left unfinished; a person must inspect it."""


class UnknownFormat(JournalDamaged):
    """Another version of this package has written the journal; the message names the version that can settle it."""


class JournalLost(ChangeError):
    """The journal can't be written any more, so the change goes no further and is undone from memory."""


class Overlap(ChangeError):
    """Another change of this connector is under way; the message names its run."""


class Drift(ChangeError):
    """Offsets moved between plan and stop in a way the plan does not allow for; nothing was written."""


class Interfered(ChangeError):
    """Someone else resumed or deleted the connector during the change; its offsets are left as they are."""


class NotUndone(Interfered):
    """The connector was resumed before anything was undone; what the change has written remains."""


class NotApplied(ChangeError):
    """The plan was not applied; the prior offsets were read back and the prior state was restored."""


class RecordsDeleted(ChangeError):
    """The plan was applied and the connector is back in its state, but records at its positions were deleted meanwhile.

    The message names the partition, its position and its log start offset. The connector has delivered the records
    between position and log start offset only if it read them before they were deleted.
    """


class FleetIncomplete(ChangeError):
    """Some of many connectors were not changed; the message names them, and all others are as planned."""


class NotRemoved(ChangeError):
    """Some offsets that were to be removed are still stored; the message names whose, why, and what was removed."""


class NotDrained(ChangeError):
    """Replication has not caught up with the source; no group was moved, or none further than by an earlier attempt."""


class GroupsNotMoved(ChangeError):
    """Some of many consumer groups were not moved, or not restored; the message names them, and all others were."""


class NotSkipped(ChangeError):
    """A failed sink does not run yet: no record is proved to be the cause, or as many as allowed were skipped.

    The message names the records that were skipped, and the one on which the sink fails now.
    """


class NotRunning(ChangeError):
    """The offsets are verified, but the connector, or a task of it, did not return to its state."""


class LeftStopped(ChangeError):
    """Neither the plan nor the prior state could be verified: a connector may stay STOPPED until a person acts."""
