"""Messages about a connector's saga: why it was undone, why it could not be undone, and what a dead process left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK
from airflow_provider_connect_offsets.connect.protocols import ConnectorControl, State
from airflow_provider_connect_offsets.exceptions import (
    ConnectOffsetsError,
    Interfered,
    InvalidRequest,
    LeftStopped,
    NotApplied,
    NotStopped,
    Unreachable,
)
from airflow_provider_connect_offsets.operations.stages.captured import (
    CONFIGURE,
    CREATE,
    DELETE,
    ONE_BY_ONE,
    REMOVE,
    RESUME,
    STOP,
    PriorState,
    alteration_in,
    describe_deleted,
    is_of_group,
    prior_state_in,
)
from airflow_provider_connect_offsets.saga import Explanation, Progress, SagaRecord, SagaState, Settled, StageRecord

# Seconds in which the state of a connector that could not be restored must be known.
_LOOKED = 5.0


@dataclass(frozen=True, slots=True)
class ConnectorExplained(Explanation):
    """Builds the errors to raise for a failed change of ``connector``."""

    connector: str
    control: ConnectorControl

    def describe_observed(self, record: SagaRecord) -> str:
        """Describe the connector's state."""
        try:
            return f" ({self.connector!r} is {self.control.status(self.connector).state} now)"
        except ConnectOffsetsError as error:
            return f" (the present state is unknown: {error})"

    def explain_undone(self, error: Exception, settled: Settled) -> Exception:
        """Return :class:`NotApplied` once anything may have been written; before that the error itself."""
        if alteration_in(settled.record) is None:
            return error
        if is_of_group(settled.record):
            return NotApplied(
                f"The change of consumer group {self.connector!r} was not applied: {error} Its prior offsets were read "
                f"back.{settled.lost}"
            )
        # A store refuses a connector that runs before it writes anything, so mostly nothing had to be restored.
        restored = "" if isinstance(error.__cause__, NotStopped) else "restored and "
        return NotApplied(
            f"The change of {self.connector!r} was not applied: {error} Its prior offsets were {restored}read back, "
            f"and it is {prior_state_in(settled.record)} again.{settled.lost}"
        )

    def explain_not_undone(self, error: BaseException, failure: ConnectOffsetsError, record: SagaRecord) -> Exception:
        """Return the failure, which names what is stored, or :class:`LeftStopped` if nothing was written yet.

        If someone else has resumed or deleted the connector before that, return :class:`Interfered`.
        """
        if alteration_in(record) is not None:
            return failure
        if isinstance(failure, Interfered):
            return Interfered(f"Nothing was written: {error} {failure}")
        return LeftStopped(
            f"{self._stands(failure)}: {error} Nothing was written, but its prior state could not be restored: "
            f"{failure} Run the task again, or "
            f"{self.control.by_hand(self.connector, prior_state_in(record) or State.RUNNING)}."
        )

    def explain_stuck(self, error: Exception, record: SagaRecord) -> Exception:
        """Return :class:`LeftStopped`: the operation has passed its pivot."""
        return LeftStopped(
            f"{self._stands(error)}: {record.operation} has begun a step that can't be undone, and could not "
            f"continue. {error} Run the task again to continue it."
        )

    def _stands(self, failure: Exception) -> str:
        """Describe the state in which the connector is left, at the beginning of a sentence."""
        state = None if isinstance(failure, Unreachable) else self._state()
        if state is None:
            return f"The state of {self.connector!r} is unknown"
        return f"{self.connector!r} {'stays' if state is State.STOPPED else 'is'} {state}"

    def _state(self) -> State | None:
        try:
            return self.control.await_status(self.connector, lambda _: True, timeout=_LOOKED, clock=SYSTEM_CLOCK).state
        except ConnectOffsetsError:
            return None

    def explain_unresumed(self, error: ConnectOffsetsError, record: SagaRecord) -> ConnectOffsetsError:
        """Return the error, and name the connectors that may still be STOPPED; without any, return it unchanged."""
        resumed = {
            (one.subject, one.cluster) for one in record.stages if one.title == RESUME and one.progress is Progress.DONE
        }
        of_stops = [one for one in record.stages if one.title == STOP]
        down = [one for one in of_stops if (one.subject, one.cluster) not in resumed]
        if not down:
            return error
        names = " and ".join(f"{one.subject!r}{_whereabouts(one, of_stops)}" for one in down)
        operation = record.operation[0].upper() + record.operation[1:]
        return type(error)(
            f"{error} {operation} was made and read back, but {names} may still be STOPPED. Run the task again to "
            "continue it."
        )


@dataclass(frozen=True, slots=True)
class SettingsExplained(ConnectorExplained):
    """Builds the errors to raise for changed settings of ``connector``."""

    def explain_undone(self, error: Exception, settled: Settled) -> Exception:
        """Return :class:`NotApplied` once it was stopped; before that the error itself."""
        state = prior_state_in(settled.record)
        if state is None:
            return error
        return NotApplied(
            f"The settings of {self.connector!r} were not changed: {error} They have their prior values, and it is "
            f"{state} again.{settled.lost}"
        )

    def explain_not_undone(self, error: BaseException, failure: ConnectOffsetsError, record: SagaRecord) -> Exception:
        """Return :class:`LeftStopped`; if someone else has deleted the connector, :class:`Interfered`."""
        if isinstance(failure, Interfered):
            return Interfered(f"{error} {failure}")
        of_change = record.of_title(CONFIGURE)
        named = ", ".join(of_change.spec["settings"]) if of_change is not None else ""
        return LeftStopped(
            f"{self._stands(failure)}: {error} Its prior settings or state could not be restored: {failure} Run the "
            f"task again. It first restores {named} and the state."
        )


@dataclass(frozen=True, slots=True)
class CopyExplained(Explanation):
    """Builds the errors to raise if ``connector`` could not be copied to ``new``; a copy needs it to be STOPPED."""

    connector: str
    new: str

    def explain_undone(self, error: Exception, settled: Settled) -> Exception:
        """Return the :class:`NotApplied` to raise.

        For an invalid request return ``error`` itself: its message already says that the request was refused.
        """
        if isinstance(error, InvalidRequest):
            return error
        state = prior_state_in(settled.record)
        again = "was not touched" if state is None else f"is {state} again"
        return NotApplied(
            f"{self.new!r} was not created as a copy of {self.connector!r}: {error} Nothing is left of the copy, and "
            f"{self.connector!r} {again}.{settled.lost}"
        )

    def explain_not_undone(self, error: BaseException, failure: ConnectOffsetsError, record: SagaRecord) -> Exception:
        """Return the failure, with the error that it follows."""
        return type(failure)(
            f"{self.new!r} was not created as a copy of {self.connector!r}: {error} This could not be undone: "
            f"{failure} Run the task again, or any operation on {self.connector!r}: it undoes the copy first."
        )

    def explain_stuck(self, error: Exception, record: SagaRecord) -> Exception:
        """Return :class:`LeftStopped`: the original is being deleted."""
        return LeftStopped(
            f"{self.new!r} has the offsets of {self.connector!r}, and both are STOPPED. The deletion of "
            f"{self.connector!r} has begun, but could not continue: {error} Run the task again to continue it."
        )

    def explain_unresumed(self, error: ConnectOffsetsError, record: SagaRecord) -> ConnectOffsetsError:
        """Return the error, and say in which state both connectors are left."""
        of_original = record.of_title(DELETE)
        original = "may be STOPPED" if of_original is None else "is deleted"
        return type(error)(
            f"{error} {self.new!r} has its offsets, but may be STOPPED. {self.connector!r} {original}. Run the task "
            "again to continue."
        )


def describe(settled: Settled) -> str:
    """Describe how a saga whose process had died was settled."""
    record = settled.record
    named = f"{record.resource!r}: {record.operation} by run {record.owner.run!r}, which ended unfinished,"
    if ended := _without_offsets(settled):
        return f"{named} {ended}{settled.lost}"
    more = "".join(f" {text}" for text in (*settled.warnings, describe_deleted(record)) if text)
    return f"{named} {_of_offsets(record, more)}{settled.lost}"


def _of_offsets(record: SagaRecord, more: str) -> str:
    """Describe what happened to the offsets and to the connector's state (consumer groups have no state)."""
    states = _describe_restored(record)
    if record.state is SagaState.ABANDONED:
        return f"was given up.{more} {states}".rstrip()
    if record.state is SagaState.DONE:
        ended, joint = "was applied and read back", "; "
    elif alteration_in(record) is None:
        ended, joint = "had written nothing", "; "
    else:
        ended, joint = "was undone: the prior offsets were read back", ", and "
    return f"{ended}{joint}{states}{more}" if states else f"{ended}.{more}"


def _without_offsets(settled: Settled) -> str:
    """Describe how a saga ended that is about a connector as a whole, and not its offsets; empty for any other."""
    record = settled.record
    created = record.of_title(CREATE)
    if created is not None and created.subject != record.resource:
        return _copy_settled(settled, created.subject)
    if created is not None and record.state is SagaState.UNDONE:
        return "was undone: nothing is left of the connector."
    if record.of_title(REMOVE) and record.state is SagaState.DONE:
        return "was finished: the interval is delivered, and the clone and its offsets are deleted."
    if record.of_title(DELETE) and record.state is SagaState.DONE:
        return "was finished: the connector and its offsets are deleted."
    return "" if record.state is SagaState.ABANDONED else _of_settings(record)


def _of_settings(record: SagaRecord) -> str:
    """Describe which settings a connector has, and its state; empty for an operation that changes none."""
    if record.of_title(ONE_BY_ONE):
        return f"was ended: the connector has its own configuration again, and {_describe_restored(record)}"
    if record.of_title(CONFIGURE) is None:
        return ""
    is_done = record.state is SagaState.DONE
    ended = "was finished: the connector has the new" if is_done else "was undone: the connector has its prior"
    return f"{ended} settings, and {_describe_restored(record)}"


def _copy_settled(settled: Settled, new: str) -> str:
    """Describe what has become of a copy ``new``."""
    record = settled.record
    if record.state is SagaState.DONE:
        original = "the connector is deleted" if record.of_title(DELETE) else "the connector has its prior state"
        return f"was finished: {new!r} has its offsets, and {original}."
    state = prior_state_in(record)
    if record.state is SagaState.ABANDONED:
        return " ".join(("was given up.", *settled.warnings))
    again = "was not touched" if state is None else f"is {state} again"
    return f"was undone: nothing is left of {new!r}, and the connector {again}."


def _describe_restored(record: SagaRecord) -> str:
    """Describe which connectors have which states again, leaving out connectors that someone else has changed."""
    of_stops = [one for one in record.stages if one.title == STOP]
    kept = [one.subject for one in of_stops if one.progress.is_captured]
    if record.state is SagaState.BACK and kept:
        stay = "stays" if len(kept) == 1 else "stay"
        return f"{' and '.join(map(repr, kept))} {stay} STOPPED for the operation that follows."
    if record.state is SagaState.ABANDONED:
        of_stops = [one for one in of_stops if one.progress is Progress.UNDONE]
    elif len(of_stops) < 2:
        state = prior_state_in(record)
        return "" if state is None else f"the connector is {state} again."
    restored = [
        f"{one.subject!r}{_whereabouts(one, of_stops)} is {PriorState.from_json(one.captured).state} again"
        for one in of_stops
        if one.captured
    ]
    return f"{', '.join(restored)}." if restored else ""


def _whereabouts(stage: StageRecord, of_stops: Sequence[StageRecord]) -> str:
    """Name the Kafka cluster of a connector's workers, with a space before, if another connector has its name."""
    is_shared = sum(one.subject == stage.subject for one in of_stops) > 1
    return f" (workers on Kafka cluster {stage.cluster!r})" if is_shared else ""
