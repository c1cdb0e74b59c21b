"""Stages of a bounded replay: the clone gets its offsets, is started, delivers the interval, and is removed.

Until the interval is delivered, everything is undone after a failure. From then on a replay only goes forward, as all
that is left to do is to remove the clone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Self

import tenacity

from airflow_provider_connect_offsets.connect.protocols import ConnectorStatus, State
from airflow_provider_connect_offsets.exceptions import (
    Interfered,
    InvalidRequest,
    NotApplied,
    UnknownConnector,
    Unreachable,
)
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.replay import ReplayProgress, observe_replay
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.offsets.replay import Range
from airflow_provider_connect_offsets.offsets.requests.guards import Named
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.operations.stages.captured import DELIVER, HALT, PLACE, REMOVE, START
from airflow_provider_connect_offsets.operations.stages.existence_stages import DeleteConnector, ExistenceStage
from airflow_provider_connect_offsets.saga import Captures, Done, Found, JsonMap, Kind, StageState, Undoing

log = logging.getLogger(__name__)
# Seconds between two observations of a clone that delivers. What it delivers after the interval is counted.
_EVERY = 0.5
_NOTHING = Offsets()


class CloneStage(ExistenceStage):
    """A stage of a clone, which delivers records of the original connector, and is deleted in the end."""

    def changed_names(self) -> Iterable[tuple[Named, str]]:
        """Return nothing: the replay itself checks the names of its connector and topics."""
        return []


class PlaceClone(CloneStage):
    """Writes the offsets at which a clone starts, and reads them back; the undo removes its offsets.

    Args:
        clone: Its name.
        clients: Clients of the Connect cluster.
        starts: The offsets; a later process takes them from the journal.
    """

    title = PLACE
    kind = Kind.UNDOABLE

    def __init__(self, clone: str, clients: Clients, starts: Offsets = _NOTHING) -> None:
        super().__init__(clone, clients)
        self._starts = starts

    def capture(self, earlier: Captures) -> JsonMap:
        """Return the offsets; raises :class:`InvalidRequest` if the group of a new sink has offsets already.

        With ``consumer.group.id`` in the settings of a worker, the clone would share the group of the original.
        """
        left = self._clients.offsets.read_offsets(self.subject)
        group = self._clients.control.info(self.subject).group_id
        if left.by_partition() and group is not None:
            raise InvalidRequest(
                f"The clone {self.subject!r} has never run, but its consumer group already has offsets. If the workers "
                "set consumer.group.id for all sinks, a clone can't have its own group, and nothing can be replayed. "
                f"If someone has deleted an earlier clone by hand, delete the group {group!r}, then try again."
            )
        return {"starts": self._starts.as_json(), "left": left.removals().as_json()}

    def do(self, captured: JsonMap) -> Done:
        """Write them, and remove offsets of a clone that was deleted by hand; raises as ``steps.alter`` does."""
        stored, left = Offsets.from_json(captured["starts"]).by_partition(), Offsets.from_json(captured["left"])
        given = Offsets.of(Entry(partition, offset) for partition, offset in stored.items())
        # No other offset is removed: with an offsets topic of its own and exactly-once workers, Connect can't do that.
        removed = (one for one in left if one.partition not in stored)
        steps.alter(self._clients, self.subject, Offsets.of((*removed, *given)), expected=given)
        return Done()

    def find(self, captured: JsonMap) -> StageState:
        """Return DONE if each partition is where the clone starts, or further."""
        try:
            family = self._clients.control.info(self.subject).family
            stored = self._clients.offsets.read_offsets(self.subject).by_partition()
        except UnknownConnector as error:
            return StageState(Found.BEFORE, clone_deleted_by_others(error))
        for partition, offset in Offsets.from_json(captured["starts"]).by_partition().items():
            if (family.position_in(stored.get(partition)) or 0) < (family.position_in(offset) or 0):
                why = f"{self.subject!r}: partition {partition} is not at {offset}, where the clone starts."
                return StageState(Found.BEFORE, NotApplied(why))
        return StageState(Found.DONE)

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Remove all offsets of the clone; raises as ``remove_offsets`` does."""
        remove_offsets(self._clients, self.subject)
        return ""


class StartClone(CloneStage):
    """Starts a clone that was created STOPPED; the undo stops it."""

    title = START
    kind = Kind.UNDOABLE

    def do(self, captured: JsonMap) -> Done:
        """Start it and wait for its tasks; raises :class:`NotRunning` and store errors."""
        steps.restore_state(self._clients, self.subject, State.RUNNING)
        return Done()

    def find(self, captured: JsonMap) -> StageState:
        """Return DONE if it is RUNNING, also with failed tasks: whether it delivers is the next stage's concern."""
        try:
            state = steps.intended_state(steps.await_lasting_status(self._clients, self.subject))
        except UnknownConnector as error:
            return StageState(Found.BEFORE, clone_deleted_by_others(error))
        if state is State.RUNNING:
            return StageState(Found.DONE)
        return StageState(Found.BEFORE, Interfered(f"{self.subject!r} is {state}: someone else has stopped the clone."))

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Stop it; raises :class:`NotStopped` and other store errors."""
        with suppress(UnknownConnector):
            steps.stop(self._clients, self.subject)
        return ""


class DeliverInterval(CloneStage):
    """Waits until a clone has passed the end of each range; after that the replay only goes forward.

    Args:
        clone: Its name.
        clients: Clients of the Connect cluster.
        ranges: What it delivers.
        limit: Seconds that it may take.
    """

    title = DELIVER
    kind = Kind.PIVOT

    def __init__(self, clone: str, clients: Clients, ranges: Iterable[Range], *, limit: float) -> None:
        super().__init__(clone, clients)
        self._ranges, self._limit = tuple(ranges), limit

    @classmethod
    def build(cls, connector: str, clients: Clients, spec: JsonMap) -> Self:
        """Build it from its specification in a journal."""
        return cls(connector, clients, map(Range.from_json, spec["ranges"]), limit=spec["limit"])

    def spec(self) -> JsonMap:
        """Return the specification of the base class, with the ranges and the limit."""
        return {**super().spec(), "ranges": [one.as_json() for one in self._ranges], "limit": self._limit}

    def do(self, captured: JsonMap) -> Done:
        """Wait; raises :class:`NotApplied` if the clone fails or the time is up, and store errors.

        The error says how far each partition was delivered. If a worker or broker restarts meanwhile, wait as long for
        it as for a state of the connector, so that hours of delivery need not be repeated.
        """
        clock = self._clients.clock
        deadline, known = clock.now() + self._limit, None
        while True:
            waiting = self._clients.make_attempts(tenacity.retry_if_exception_type(Unreachable))
            try:
                known, status = waiting(self._observe_with_status, known)
            except UnknownConnector as error:
                raise clone_deleted_by_others(error) from error
            if not known.behind:
                return Done()
            if status.has_failed:
                raise NotApplied(f"The clone {self.subject!r} has failed ({status.cause}). {known}.")
            if clock.now() > deadline:
                raise NotApplied(f"{known}. The time limit of {self._limit:,.0f} s (replay_limit) has passed.")
            clock.sleep(_EVERY)

    def find(self, captured: JsonMap) -> StageState:
        """Return DONE if all ranges are passed."""
        try:
            known = self._observe()
        except UnknownConnector as error:
            return StageState(Found.BEFORE, clone_deleted_by_others(error))
        return StageState(Found.BEFORE, NotApplied(f"{known}.")) if known.behind else StageState(Found.DONE)

    def _observe_with_status(self, known: ReplayProgress | None) -> tuple[ReplayProgress, ConnectorStatus]:
        return self._observe(known), self._clients.control.status(self.subject)

    def _observe(self, known: ReplayProgress | None = None) -> ReplayProgress:
        progress = observe_replay(self._clients, self.subject, self._ranges, known=known)
        if known is None or known.positions != progress.positions:
            log.info("%s: %s", self.subject, progress)
        return progress


class StopClone(DeliverInterval):
    """Stops a clone that has delivered its interval, and reads its last positions."""

    title = HALT
    kind = Kind.FORWARD

    def do(self, captured: JsonMap) -> Done:
        """Stop it and return its positions as a fact; only a warning if someone has deleted it."""
        try:
            steps.stop(self._clients, self.subject)
            last = self._observe()
        except UnknownConnector as error:
            return Done((f"{clone_deleted_by_others(error)} It is unknown what it delivered after the interval.",))
        return Done(facts={"positions": [position for _range, position in last.positions]})

    def find(self, captured: JsonMap) -> StageState:
        """Return DONE once it is STOPPED or gone."""
        try:
            is_over = (
                self._find_existing() is None or steps.await_lasting_status(self._clients, self.subject).is_stopped
            )
        except UnknownConnector:
            is_over = True
        return StageState(Found.DONE if is_over else Found.BEFORE)


class RemoveClone(CloneStage, DeleteConnector):
    """Removes the offsets of a stopped clone, and deletes it."""

    title = REMOVE
    kind = Kind.FORWARD

    def do(self, captured: JsonMap) -> Done:
        """Remove, read back, delete; raises :class:`NotApplied` and store errors."""
        remove_offsets(self._clients, self.subject)
        return super().do(captured)


def remove_offsets(clients: Clients, clone: str) -> None:
    """Remove all offsets of a stopped connector (of a sink, its consumer group), and verify that none is left.

    Does nothing if there is no such connector. Raises :class:`NotApplied` and store errors.
    """
    with suppress(UnknownConnector):
        clients.offsets.reset_offsets(clone)
        steps.prove(clients, clone, Offsets())


def clone_deleted_by_others(error: UnknownConnector) -> Interfered:
    """Return the error for a clone that someone has deleted while it was needed."""
    return Interfered(f"{error} Someone has deleted the clone.")
