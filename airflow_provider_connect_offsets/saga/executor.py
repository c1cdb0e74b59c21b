"""The executor: makes the stages of a saga one after the other, or undoes them; the only code that decides which.

The journal is written before each stage: what the one before did, and what this one captured. A saga whose process died
is settled by whoever comes next, from what its journal holds and what its stages find in the world.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, Clock
from airflow_provider_connect_offsets.exceptions import (
    ConnectOffsetsError,
    Drift,
    Interfered,
    LeftStopped,
    NotApplied,
    NotRunning,
    NotUndone,
    Overlap,
)
from airflow_provider_connect_offsets.saga.entry import JournalEntry
from airflow_provider_connect_offsets.saga.explanation import Explanation, Settled
from airflow_provider_connect_offsets.saga.record import Progress, SagaState, StageRecord
from airflow_provider_connect_offsets.saga.stage import Downtime, Found, Kind, Stage, Undoing

log = logging.getLogger(__name__)
_ONLY_FORWARD = frozenset({Kind.FORWARD, Kind.PROOF})
# Errors that say themselves how the connectors are left.
_TOLD = (LeftStopped, NotRunning)
# What an operation was to resume on is not there (any more), so that it can't go on.
_UNPROVED = (Drift, Interfered, NotApplied)
_PIVOT_ATTEMPTS = 3


class Toward(StrEnum):
    """What becomes of an unfinished saga: finished where all that can be undone is found done, or undone."""

    FORWARD = "forward"
    BACK = "back"


@dataclass(slots=True)
class Executor:
    """Carries out the saga of ``entry``, which this process holds.

    stages: all of them, or, where a dead process left it, those that its journal holds, built from their specs.
    """

    entry: JournalEntry
    stages: Sequence[Stage]
    explanation: Explanation
    clock: Clock = SYSTEM_CLOCK
    _warnings: list[str] = field(default_factory=list)
    _down_since: float | None = None
    _downtime: float = 0.0

    def run(self) -> Settled:
        """Make all stages; where one fails before anything that only goes forward, undo those that were made.

        Raises what the explanation makes of the failure; :class:`Overlap`, and interruptions, as they are. After the
        pivot, and where a stage that goes forward was begun, the error keeps its class, and the saga stays unfinished:
        whoever comes next goes on with it. Only :class:`NotRunning` of such a stage ends it as done: all was made, and
        a connector did not come back.
        """
        try:
            self._go_forward()
            return self.finish()
        except Overlap:  # it is another run's by now
            raise
        except BaseException as error:
            if not self._only_goes_on(error):
                self._take_back(error)
            elif isinstance(error, ConnectOffsetsError) and not isinstance(error, _TOLD):
                _raise_in_place_of(error, self.explanation.unresumed(error, self.entry.record))
            raise

    def announce(self, stage: Stage) -> None:
        """Capture a stage that somebody is about to make, so that it can be undone."""
        record = self._record(stage)
        captured = stage.capture(self.entry.record.captures)
        self.entry.note(SagaState.FORWARD, stage=replace(record, progress=Progress.BEGUN, captured=captured))

    def make(self, stage: Stage) -> None:
        """Make one stage and leave the saga open; where it fails, settling is the caller's."""
        self._make(stage)
        self.entry.write(self.entry.record)

    def check(self) -> None:
        """Look once more at all that was done, but for what has been resumed; raises the first look's error."""
        begun = [one for one in self.stages if one.kind is Kind.FORWARD and self._record(one).progress.is_captured]
        resumed = frozenset[str]().union(*(one.resources for one in begun))
        for stage in self.stages:
            record = self._record(stage)
            if record.progress is not Progress.DONE or stage.kind in _ONLY_FORWARD or stage.resources & resumed:
                continue
            look = stage.find(record.captured)
            if look.found is not Found.DONE:
                raise look.why or NotApplied(f"{stage.name} is not done.")

    def finish(self) -> Settled:
        """End the saga as it is: done."""
        self.entry.note(SagaState.DONE)
        return self._settled()

    def settle(self, toward: Toward) -> Settled:
        """Finish or undo what a dead process left; what someone else has taken over is left to them: ABANDONED.

        Raises the first error of a stage that can't be made or undone; the saga then stays unfinished, so that the next
        one to come tries again.
        """
        may_turn = self.entry.record.state is not SagaState.BACK
        if self._goes_forward(toward):
            try:
                self._go_forward()
            except _UNPROVED as error:
                if self._only_goes_on(error):
                    raise
                log.warning("%s", error)
            else:
                return self.finish()
        lost, failures = self._undo(None)
        if may_turn and self._is_given_back(failures):
            self._go_forward()
            return self.finish()
        lasting = [failure for failure in failures if not isinstance(failure, Interfered)]
        if lasting:
            raise type(lasting[0])(" ".join(map(str, failures))) from lasting[0]
        self._warnings += map(str, failures)
        return self._settled(lost)

    def _go_forward(self) -> None:
        """Make what is not made yet; one connector that does not come back keeps no other one from being resumed."""
        failures: list[NotRunning] = []
        for stage in self.stages:
            progress = self._record(stage).progress
            if progress is Progress.BEGUN and stage.kind is Kind.UNDOABLE:  # found done, or it would be undone
                self.entry.remember(replace(self._record(stage), progress=Progress.DONE))
            elif progress is not Progress.DONE:
                try:
                    self._make(stage)
                except NotRunning as error:
                    if stage.kind is not Kind.FORWARD:
                        raise
                    failures.append(error)
        if failures:
            self.finish()
            raise NotRunning(" ".join(map(str, failures))) from failures[0]

    def _make(self, stage: Stage) -> None:
        """Make one stage; what the one before did becomes durable with what this one captured."""
        known = self._record(stage)
        begun = known.progress is Progress.BEGUN
        is_last_chance = stage.kind is Kind.PIVOT or stage.downtime is Downtime.ENDS
        if is_last_chance and not (begun and self._is_under_way(stage)):
            self.check()
        captured = known.captured if begun else stage.capture(self.entry.record.captures)
        known = replace(known, progress=Progress.BEGUN, captured=captured)
        self.entry.note(SagaState.FORWARD, stage=known)
        log.info("Stage begins: %s", stage.name)
        if stage.downtime is Downtime.BEGINS and self._down_since is None:
            self._down_since = self.clock.now()
        try:
            done = stage.do(captured)
        except Exception as error:
            if stage.kind is not Kind.PIVOT:
                raise
            self._warnings.append(self._pass(stage, known, error))
        else:
            self._warnings += done.warnings
            known = replace(known, facts=done.facts)
        self.entry.remember(replace(known, progress=Progress.DONE))
        if stage.downtime is Downtime.ENDS and self._down_since is not None:
            self._downtime = self.clock.now() - self._down_since

    def _pass(self, pivot: Stage, known: StageRecord, error: Exception) -> str:
        """Go on with a pivot that failed, unless it has left everything as it was; gives a warning."""
        look = pivot.find(known.captured)
        if look.found is Found.BEFORE:
            raise error
        for _attempt in range(_PIVOT_ATTEMPTS):
            if look.found is Found.DONE:
                return f"{error} It was done all the same."
            try:
                pivot.do(known.captured)
            except ConnectOffsetsError as again:
                log.warning("%s", again)
            look = pivot.find(known.captured)
        _raise_in_place_of(error, self.explanation.stuck(error, self.entry.record))
        raise error

    def _only_goes_on(self, error: BaseException) -> bool:
        """Whether the saga is not undone after ``error``: a stage that goes forward was begun, or the pivot was passed.

        Where it can't go on past the pivot, as what it was to resume on is not there, it is undone as far as it can be.
        """
        begun = [stage for stage in self.stages if self._record(stage).progress.is_captured]
        if any(stage.kind in _ONLY_FORWARD for stage in begun):
            return True
        return not isinstance(error, _UNPROVED) and any(self._is_passed(stage) for stage in begun)

    def _is_passed(self, stage: Stage) -> bool:
        if stage.kind is not Kind.PIVOT:
            return False
        try:
            return stage.find(self._record(stage).captured).found is not Found.BEFORE
        except ConnectOffsetsError:
            return True  # nobody can tell

    def _goes_forward(self, toward: Toward) -> bool:
        if self.entry.record.state is SagaState.BACK:
            return False
        if any(self._is_under_way(stage) for stage in self.stages if self._record(stage).progress.is_captured):
            return True
        undoable = [stage for stage in self.stages if stage.kind is Kind.UNDOABLE]
        resumes = any(stage.kind is Kind.FORWARD for stage in self.stages)
        if toward is Toward.BACK or not resumes or not all(self._record(one).progress.is_captured for one in undoable):
            return False
        return all(stage.find(self._record(stage).captured).found is Found.DONE for stage in undoable)

    def _is_given_back(self, failures: Sequence[ConnectOffsetsError]) -> bool:
        """Whether a stage that goes forward shows only now, as a worker that has died tells it late, and all stands."""
        if not failures or not all(isinstance(failure, NotUndone) for failure in failures):
            return False
        begun = [stage for stage in self.stages if self._record(stage).progress.is_captured]
        if any(self._record(stage).progress is Progress.UNDONE for stage in self.stages):
            return False
        return any(stage.kind is Kind.FORWARD and self._is_under_way(stage) for stage in begun)

    def _is_under_way(self, stage: Stage) -> bool:
        """Whether a stage that can't be undone has begun to show."""
        if stage.kind in {Kind.FORWARD, Kind.PIVOT}:
            return stage.find(self._record(stage).captured).found is not Found.BEFORE
        return False

    def _take_back(self, error: BaseException) -> None:
        """Undo; raises in place of an ordinary error, and returns after an interruption."""
        self.entry.go_on_in_memory()
        lost, failures = self._undo(error)
        if failures:
            _raise_in_place_of(error, self.explanation.not_undone(error, failures[0], self.entry.record))
        elif isinstance(error, Exception):
            _raise_in_place_of(error, self.explanation.undone(error, self._settled(lost)))

    def _undo(self, error: BaseException | None) -> tuple[str, list[ConnectOffsetsError]]:
        """Undo what was captured, the last first, but nothing of which a later stage could not be undone."""
        lost, failures = "", list[ConnectOffsetsError]()
        blocked = frozenset[str]()
        self.entry.note(SagaState.BACK)
        for stage in reversed(self.stages):
            known = self._record(stage)
            if not known.progress.is_captured or stage.kind in _ONLY_FORWARD or stage.resources & blocked:
                continue
            try:
                came_back = known.progress is Progress.DONE
                lost += stage.undo(known.captured, Undoing(came_back, error, self.entry.keep))
            except Overlap:
                raise
            except ConnectOffsetsError as failure:
                failures.append(failure)
                blocked |= stage.resources
            else:
                self.entry.note(SagaState.BACK, stage=replace(known, progress=Progress.UNDONE))
        if not failures:
            self.entry.note(SagaState.UNDONE)
        elif all(isinstance(failure, Interfered) for failure in failures):
            self.entry.note(SagaState.ABANDONED)
        return lost, failures

    def _record(self, stage: Stage) -> StageRecord:
        return self.entry.record.stage(stage.name)

    def _settled(self, lost: str = "") -> Settled:
        return Settled(self.entry.record, lost, tuple(self._warnings), round(self._downtime, 3))


def _raise_in_place_of(error: BaseException, told: Exception) -> None:
    """Raise ``told``, unless it is the error itself, which its caller raises: an error must not be its own cause."""
    if told is not error:
        raise told from error
