"""What people are told of a saga of a connector: why it was undone, why it could not be, and what a dead one left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, Interfered, LeftStopped, NotApplied
from airflow_provider_connect_offsets.operations.stages.captured import (
    RESUME,
    STOP,
    PriorState,
    alteration_in,
    deleted_in,
    prior_state_in,
)
from airflow_provider_connect_offsets.saga.explanation import Settled
from airflow_provider_connect_offsets.saga.record import Progress, SagaRecord, SagaState, StageRecord


@dataclass(frozen=True, slots=True)
class ConnectorExplained:
    """Speaks of a change of ``connector``."""

    connector: str

    def undone(self, error: Exception, settled: Settled) -> Exception:
        """:class:`NotApplied` once anything may have been written; before that the error itself."""
        if alteration_in(settled.record) is None:
            return error
        return NotApplied(
            f"The change of {self.connector!r} was not applied: {error} Its prior offsets were put back and read back, "
            f"and it is {prior_state_in(settled.record)} again.{settled.lost}"
        )

    def not_undone(self, error: BaseException, failure: ConnectOffsetsError, record: SagaRecord) -> Exception:
        """The failure, which says what stands; before anything was written, :class:`LeftStopped`.

        :class:`Interfered` where someone else has resumed or deleted it.
        """
        if alteration_in(record) is not None:
            return failure
        if isinstance(failure, Interfered):
            return Interfered(f"Nothing was written: {error} {failure}")
        return LeftStopped(
            f"{self.connector!r} stays STOPPED: {error} Nothing was written, but it could not be given back: {failure} "
            f"Run the task again, or send PUT /connectors/{self.connector}/resume."
        )

    def stuck(self, error: Exception, record: SagaRecord) -> Exception:
        """:class:`LeftStopped`: the operation has passed what can't be taken back."""
        return LeftStopped(
            f"{self.connector!r} stays STOPPED: {record.operation} has come to what can't be taken back, and could not "
            f"go on: {error} Run the task again, which goes on with it."
        )

    def unresumed(self, error: ConnectOffsetsError, record: SagaRecord) -> ConnectOffsetsError:
        """The error, with the connectors that may still be STOPPED; as it is where there is none."""
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
            f"{error} {operation} was made, and read back, but {names} may still be STOPPED. Run the task again, which "
            "goes on with it."
        )


def told_of(settled: Settled) -> str:
    """What became of a saga whose process had died."""
    record = settled.record
    whose = f"{record.resource!r}: {record.operation} by run {record.owner.run!r}, which ended before its time,"
    more = "".join(f" {text}" for text in (*settled.warnings, deleted_in(record)) if text)
    again = _again(record)
    if record.state is SagaState.DONE:
        return f"{whose} was applied and proved; {again}{more}"
    if record.state is SagaState.ABANDONED:
        return f"{whose} was given up.{more} {again}{settled.lost}"
    if alteration_in(record) is None:
        return f"{whose} had written nothing; {again}{settled.lost}"
    return f"{whose} was taken back: prior offsets are proved, and {again}{settled.lost}"


def _again(record: SagaRecord) -> str:
    """Which connectors have which states again; nothing of those that someone else has taken over."""
    of_stops = [one for one in record.stages if one.title == STOP]
    if record.state is SagaState.ABANDONED:
        of_stops = [one for one in of_stops if one.progress is Progress.UNDONE]
    elif len(of_stops) < 2:
        state = prior_state_in(record)
        return "" if state is None else f"the connector is {state} again."
    told = [
        f"{one.subject!r}{_whereabouts(one, of_stops)} is {PriorState.of(one.captured).state} again"
        for one in of_stops
        if one.captured
    ]
    return f"{', '.join(told)}." if told else ""


def _whereabouts(stage: StageRecord, of_stops: Sequence[StageRecord]) -> str:
    """The Kafka cluster of a connector's workers, where another one has its name; with a space before."""
    is_shared = sum(one.subject == stage.subject for one in of_stops) > 1
    return f" (workers on Kafka cluster {stage.cluster!r})" if is_shared else ""
