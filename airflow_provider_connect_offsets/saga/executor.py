"""The executor: makes the stages of a saga one after the other, or undoes them, and decides which.

The journal is written before each stage: what the previous one did, and what this one captured. If the process dies,
the next operation on the resource settles the saga: it reads the journal, and its stages observe how much is done.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

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
from airflow_provider_connect_offsets.saga.record import Progress, SagaState, StageRecord, Toward
from airflow_provider_connect_offsets.saga.stage import Downtime, Found, Kind, Stage
from airflow_provider_connect_offsets.saga.undo import ONLY_FORWARD, undo

log = logging.getLogger(__name__)
# Errors whose messages already name the state of the connectors.
_EXPLAINED = (LeftStopped, NotRunning)
# The offsets or records that the operation resumes on are gone, so it can't go forward.
_UNPROVED = (Drift, Interfered, NotApplied)
_PIVOT_ATTEMPTS = 3


@dataclass(slots=True)
class Executor:
    """Carries out a saga.

    Args:
        entry: Its journal entry, whose lease this process has.
        stages: All its stages; after a process has died, they are built from the specs in the journal.
        explanation: Returns the errors to raise.
        clock: Measures the downtime.
    """

    entry: JournalEntry
    stages: Sequence[Stage]
    explanation: Explanation
    clock: Clock = SYSTEM_CLOCK
    _warnings: list[str] = field(default_factory=list)
    _down_since: float | None = None
    _downtime: float = 0.0

    def run(self) -> Settled:
        """Make all stages; if one fails before the pivot and before a FORWARD stage, undo those that were made.

        After the pivot (unless the offsets or records that it resumes on are gone), or once a FORWARD stage was begun,
        the error keeps its class and the saga stays unfinished: the next operation on the resource continues it. Only
        :class:`NotRunning` of a FORWARD stage ends the saga as done: all was made, and a connector did not resume.

        Raises:
            Overlap: Another run took over; nothing is undone.
            Exception: What the explanation returns for the failure; interruptions as they are.
        """
        try:
            return self._run()
        except Overlap as error:  # the resource is another run's by now
            _raise_instead(error, self.explanation.explain_taken_over(error, self.entry.record))
            raise

    def _run(self) -> Settled:
        try:
            self._go_forward()
            return self.finish()
        except Overlap:
            raise
        except BaseException as error:
            if not self._only_goes_on(error):
                self._undo_after(error)
            elif isinstance(error, ConnectOffsetsError) and not isinstance(error, _EXPLAINED):
                _raise_instead(error, self.explanation.explain_unresumed(error, self.entry.record))
            raise

    def announce(self, stage: Stage) -> None:
        """Capture a stage that someone else is about to make, so that it can be undone."""
        record = self._record(stage)
        captured = stage.capture(self.entry.record.captures)
        self.entry.note(SagaState.FORWARD, stage=replace(record, progress=Progress.BEGUN, captured=captured))

    def add(self, stages: Sequence[Stage]) -> None:
        """Append stages to an open saga."""
        self.entry.add(stages)
        self.stages = [*self.stages, *stages]

    def make(self, stage: Stage) -> None:
        """Make one stage and leave the saga open; if it fails, the caller settles the saga."""
        self._make(stage)
        self.entry.write(self.entry.record)

    def check(self) -> None:
        """Observe finished UNDOABLE and PIVOT stages once more, except on resumed resources; raise the first error."""
        resumed = frozenset[str]().union(*(one.resources for one in self._begun_stages if one.kind is Kind.FORWARD))
        for stage in self.stages:
            record = self._record(stage)
            if record.progress is not Progress.DONE or stage.kind in ONLY_FORWARD or stage.resources & resumed:
                continue
            state = stage.find(record.captured)
            if state.found is not Found.DONE:
                raise state.why or NotApplied(f"{stage.name} is not done.")

    def finish(self) -> Settled:
        """End the saga as done."""
        self.entry.note(SagaState.DONE)
        return self._make_settled()

    def settle(self, toward: Toward, *, keeping: Collection[str] = ()) -> Settled:
        """Finish or undo what a dead process left; ABANDONED if someone else has changed its resources since.

        Raises the first error of a stage that can't be made or undone. The saga then stays unfinished, and the next
        operation on the resource tries again.

        Args:
            toward: Whether to finish or undo it.
            keeping: Names of stages that are not undone if all others can be: the caller's saga begins with them, and
                inherits what was captured. The saga stays unfinished until then.
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
        lost, failures = undo(self.entry, self.stages, None, keeping=keeping)
        if may_turn and self._is_resumed_after_all(failures):
            self._go_forward()
            return self.finish()
        lasting = [failure for failure in failures if not isinstance(failure, Interfered)]
        if lasting:
            failed = type(lasting[0])(" ".join(map(str, failures)))
            raise self.explanation.explain_unsettled(failed, self.entry.record) from lasting[0]
        self._warnings += map(str, failures)
        return self._make_settled(lost)

    def _go_forward(self) -> None:
        """Make the stages that are not made yet; if a connector does not resume, still resume the others."""
        failures: list[NotRunning] = []
        for stage in self.stages:
            progress = self._record(stage).progress
            if progress is Progress.BEGUN and stage.kind is Kind.UNDOABLE:  # found DONE: otherwise it is being undone
                self._begin_downtime(stage)
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
        """Make one stage; the result of the previous one becomes durable with what this one captured."""
        known = self._record(stage)
        begun = known.progress is Progress.BEGUN
        is_last_chance = stage.kind is Kind.PIVOT or stage.downtime is Downtime.ENDS
        if is_last_chance and not (begun and self._is_under_way(stage)):
            self.check()
        captured = known.captured if begun else stage.capture(self.entry.record.captures)
        known = replace(known, progress=Progress.BEGUN, captured=captured)
        self.entry.note(SagaState.FORWARD, stage=known)
        log.info("Stage begins: %s", stage.name)
        self._begin_downtime(stage)
        try:
            done = stage.do(captured)
        except Exception as error:
            if stage.kind is not Kind.PIVOT:
                raise
            self._warn(self._pass(stage, known, error))
        else:
            self._warn(*done.warnings)
            known = replace(known, facts=done.facts)
        self.entry.remember(replace(known, progress=Progress.DONE))
        if stage.downtime is Downtime.ENDS and self._down_since is not None:
            self._downtime = self.clock.now() - self._down_since

    def _begin_downtime(self, stage: Stage) -> None:
        """Measure the downtime from here on; downtime that began in a process that died is measured in part."""
        if stage.downtime is Downtime.BEGINS and self._down_since is None:
            self._down_since = self.clock.now()

    def _warn(self, *sentences: str) -> None:
        """Log sentences, as not every operation shows them, and keep them for the result."""
        self._warnings += sentences
        for sentence in sentences:
            log.warning("%s", sentence)

    def _pass(self, pivot: Stage, known: StageRecord, error: Exception) -> str:
        """Repeat a pivot that failed, unless it has changed nothing, and return a warning."""
        state = pivot.find(known.captured)
        if state.found is Found.BEFORE:
            raise error
        for _attempt in range(_PIVOT_ATTEMPTS):
            if state.found is Found.DONE:
                return f"{error} Nevertheless, this step was completed."
            try:
                pivot.do(known.captured)
            except ConnectOffsetsError as again:
                log.warning("%s", again)
            state = pivot.find(known.captured)
        _raise_instead(error, self.explanation.explain_stuck(error, self.entry.record))
        raise error

    def _only_goes_on(self, error: BaseException) -> bool:
        """Whether the saga is not undone after ``error``: a FORWARD stage was begun, or the pivot was passed.

        If the offsets or records that it resumes on are gone, it is undone as far as possible even after the pivot.
        """
        if any(stage.kind in ONLY_FORWARD for stage in self._begun_stages):
            return True
        return not isinstance(error, _UNPROVED) and any(self._is_passed(stage) for stage in self._begun_stages)

    def _is_passed(self, stage: Stage) -> bool:
        if stage.kind is not Kind.PIVOT:
            return False
        try:
            return stage.find(self._record(stage).captured).found is not Found.BEFORE
        except ConnectOffsetsError:
            return True  # unknown

    def _goes_forward(self, toward: Toward) -> bool:
        if self.entry.record.state is SagaState.BACK:
            return False
        begun = self._begun_stages
        if any(self._is_under_way(stage) for stage in begun):
            return True
        undoable = [stage for stage in self.stages if stage.kind is Kind.UNDOABLE]
        resumes = any(stage.kind is Kind.FORWARD for stage in self.stages)
        if toward is Toward.BACK or not resumes or not all(stage in begun for stage in undoable):
            return False
        return all(stage.find(self._record(stage).captured).found is Found.DONE for stage in undoable)

    def _is_resumed_after_all(self, failures: Sequence[ConnectOffsetsError]) -> bool:
        """Whether nothing was undone and a FORWARD stage shows only now: a dying worker has published it late."""
        if not failures or not all(isinstance(failure, NotUndone) for failure in failures):
            return False
        if any(self._record(stage).progress is Progress.UNDONE for stage in self.stages):
            return False
        return any(stage.kind is Kind.FORWARD and self._is_under_way(stage) for stage in self._begun_stages)

    def _is_under_way(self, stage: Stage) -> bool:
        """Whether a stage that can't be undone has begun to show."""
        if stage.kind not in {Kind.FORWARD, Kind.PIVOT}:
            return False
        return stage.find(self._record(stage).captured).found is not Found.BEFORE

    def _undo_after(self, error: BaseException) -> None:
        """Undo the saga, and raise the explanation if it is another error; return after an undone interruption."""
        self.entry.go_on_in_memory()
        lost, failures = undo(self.entry, self.stages, error)
        if failures:
            _raise_instead(error, self.explanation.explain_not_undone(error, failures[0], self.entry.record))
        elif isinstance(error, Exception):
            _raise_instead(error, self.explanation.explain_undone(error, self._make_settled(lost)))

    @property
    def _begun_stages(self) -> list[Stage]:
        """The stages that may have changed something that was not undone."""
        return [stage for stage in self.stages if self._record(stage).progress.is_captured]

    def _record(self, stage: Stage) -> StageRecord:
        return self.entry.record.stage(stage.name)

    def _make_settled(self, lost: str = "") -> Settled:
        return Settled(self.entry.record, lost, tuple(self._warnings), round(self._downtime, 3))


def _raise_instead(error: BaseException, explained: Exception) -> None:
    """Raise ``explained``, unless it is the error itself, which the caller raises: no error is its own cause."""
    if explained is not error:
        raise explained from error
