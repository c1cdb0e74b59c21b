"""Every error this package raises, in one tree.

Callers catch by meaning, never by status code:

    ConnectOffsetsError
    ├── InvalidInput                what was asked for is wrong; nothing was touched
    │   ├── InvalidRequest          a request (``to``, ``value``, ``topics``, ``partitions``) makes no sense
    │   ├── UnreadablePattern       a connector's configuration holds a pattern that only Java can match
    │   ├── InvalidDocument         an offset document can't be read, or isn't one
    │   └── PlanRefused             the plan has an ``error`` verdict, or is not the one that was approved
    ├── StoreError                  a system that keeps offsets said no, or said nothing
    │   ├── Unreachable             no worker or broker answered
    │   │   ├── ConnectionRefused   no process listens at any of the addresses
    │   │   └── NotReady            something answers there, but it is no (started) Connect worker
    │   ├── AccessDenied            credentials are missing or not enough (401, 403, ACLs)
    │   ├── UnknownConnector        the worker does not know a connector of that name
    │   ├── RebalanceInProgress     409: the workers are being rebalanced; the call is safe to repeat
    │   ├── NotStopped              offsets can't be changed before the connector and its tasks stand still
    │   ├── StoreDamaged            what holds the offsets can't be read whole; it is never taken for empty
    │   ├── Rejected                the worker or the connector refused the content, and says why
    │   │   └── Unsupported         the worker's Kafka is too old for this; the text says which release has it
    │   └── OutcomeUnknown          the answer was lost or timed out; the change may still apply
    ├── DatasetError                a dataset is missing, incomplete or of another shape
    └── ChangeError                 a change of offsets did not end as planned
        ├── JournalDamaged          the journal can't be read, so nobody knows what a change has left
        ├── JournalLost             the journal can't be written any more; what was done is undone from memory
        ├── Overlap                 another change of the same connector is going on
        ├── Drift                   the world is no longer what the plan saw; nothing was written
        ├── Interfered              someone else resumed the connector in the midst; its offsets are left as they are
        │   └── NotUndone           of these, nothing was undone before: what the change has written stands
        ├── NotApplied              the plan was not applied; prior offsets and state were put back
        ├── RecordsDeleted          the plan was applied, but records at its positions were deleted around the resume
        ├── FleetIncomplete         of many connectors some were not changed; each error stands in the run's page
        ├── NotRemoved              of offsets that were to be removed some still stand; the text says whose, and why
        ├── NotDrained              records are left to be replicated, so no group can be moved exactly
        ├── GroupsNotMoved          of many consumer groups some were not moved; the text names them
        ├── NotRunning              the offsets are proved, but the connector did not come back to its state
        └── LeftStopped             neither plan nor prior offsets could be proved; the connector stays STOPPED
"""

from __future__ import annotations


class ConnectOffsetsError(Exception):
    """Base of everything this package raises on purpose; its text is one readable sentence or two."""


class InvalidInput(ConnectOffsetsError):
    """What was asked for is wrong; nothing was touched."""


class InvalidRequest(InvalidInput):
    """A request makes no sense: unknown ``to``, a value that doesn't fit it, a bad pattern."""


class UnreadablePattern(InvalidInput):
    """A connector's configuration holds a pattern that only Java can match, so what it reads can't be told here."""


class InvalidDocument(InvalidInput):
    """An offset document can't be read, or is none."""


class PlanRefused(InvalidInput):
    """The plan has an ``error`` verdict, or isn't the plan it is said to be; nothing was stopped."""


class StoreError(ConnectOffsetsError):
    """A system that keeps offsets said no, or said nothing."""


class Unreachable(StoreError):
    """No worker (or broker) answered at any of its addresses."""


class ConnectionRefused(Unreachable):
    """No process listens at any of the addresses: their machines refused the connection."""


class NotReady(Unreachable):
    """Something answers there, but it is no Connect worker, or none that has finished starting."""


class AccessDenied(StoreError):
    """Credentials are missing or don't suffice."""


class UnknownConnector(StoreError):
    """The worker does not know a connector of that name."""


class RebalanceInProgress(StoreError):
    """The worker asks to come back after a rebalance; the call did nothing and may be repeated."""


class NotStopped(StoreError):
    """Offsets can't be changed yet: connector or tasks do not stand still (STOPPED, no tasks, group empty)."""


class StoreDamaged(StoreError):
    """What holds the offsets can't be read whole; it was left as it is."""


class Rejected(StoreError):
    """The worker or the connector refused the content; the text is theirs."""


class Unsupported(Rejected):
    """The worker's Kafka has no such call; the text names its version, the release that has it, and another way."""


class OutcomeUnknown(StoreError):
    """A change was sent and its answer was lost or timed out; read back before anything else."""


class DatasetError(ConnectOffsetsError):
    """A dataset is missing, was never finished, or has other columns than its name promises."""


class WorkspaceUnwritable(ConnectOffsetsError):
    """A file of the workspace can't be written; the text names it."""


class ChangeError(ConnectOffsetsError):
    """A change did not end as planned."""


class JournalDamaged(ChangeError):
    """The journal of a connector can't be read; nothing is done before a person has looked."""


class JournalLost(ChangeError):
    """The journal can't be written any more, so no step forward may be made; what was done is undone from memory."""


class Overlap(ChangeError):
    """Another change of this connector is going on; the text names its run."""


class Drift(ChangeError):
    """Between plan and stop the world moved in a way the plan did not see; nothing was written."""


class Interfered(ChangeError):
    """Someone else resumed or deleted the connector while it was being changed; it is left as it is."""


class NotUndone(Interfered):
    """The connector was resumed before anything of what is to be undone was; what the change has written stands."""


class NotApplied(ChangeError):
    """The plan was not applied; prior offsets were proved and the prior state was given back."""


class RecordsDeleted(ChangeError):
    """The plan's offsets are proved and the connector is in its state, but records at its positions were deleted.

    The text names partition, position and log start: whatever lies between was delivered only if it was read in time.
    """


class FleetIncomplete(ChangeError):
    """Of many connectors some were not changed; the text names them, and the others are as planned."""


class NotRemoved(ChangeError):
    """Of the offsets that were to be removed some still stand; the text says whose, and why, and what was removed."""


class NotDrained(ChangeError):
    """Replication has not caught up with the source; no group was moved, or none further than an attempt before."""


class GroupsNotMoved(ChangeError):
    """Of many consumer groups some were not moved, or not restored; the text names them, and the others were."""


class NotRunning(ChangeError):
    """The offsets are what they should be, but the connector (or a task of it) did not come back."""


class LeftStopped(ChangeError):
    """Neither the plan nor the prior offsets could be proved: the connector stays STOPPED until someone looks."""
