"""The procedure: stop, read again, alter, read back, give back the state; or put everything back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from airflow_provider_connect_offsets.change import flow_steps, log_positions, outcomes, recovery, steps
from airflow_provider_connect_offsets.change.beside import Beside
from airflow_provider_connect_offsets.change.doors import Doors
from airflow_provider_connect_offsets.change.journal import Entry, Journal
from airflow_provider_connect_offsets.change.lease import Owner
from airflow_provider_connect_offsets.change.record import Phase, moment
from airflow_provider_connect_offsets.change.recovery import WayOut
from airflow_provider_connect_offsets.exceptions import (
    ConnectOffsetsError,
    LeftStopped,
    NotApplied,
    NotRunning,
    OutcomeUnknown,
    Overlap,
    RecordsDeleted,
)
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.stores.protocols import State
from airflow_provider_connect_offsets.workspace.outcome import Outcome

log = logging.getLogger(__name__)
Observer = Callable[[Phase, str], None]
# Called with the offsets at which the connector stands and the plan that fits them, before anything is written.
AtStop = Callable[[Offsets, OffsetPlan], None]


def log_phase(phase: Phase, text: str) -> None:
    """Tell the log; the default observer."""
    log.info("%s: %s", phase, text)


@dataclass(frozen=True, slots=True)
class Together:
    """What is done together with a change of offsets: a reset of a flow (``change.flow_reset``).

    ``look`` finds what has to be given back, before anything is stopped; ``at_stop`` is told where it then stands.
    """

    look: Callable[[], Beside]
    at_stop: AtStop


def apply_plan(
    plan: OffsetPlan,
    doors: Doors,
    journal: Journal,
    owner: Owner,
    *,
    observe: Observer = log_phase,
    together: Together | None = None,
) -> Outcome:
    """Apply ``plan`` while its connector stands still; leave the connector as planned, or as it was found.

    What a dead run left unfinished is finished or restored first. Raises :class:`Overlap`, :class:`Drift` (nothing was
    written), :class:`NotApplied` (prior offsets and state are back), :class:`NotRunning` (offsets are as planned),
    :class:`LeftStopped`, :class:`RecordsDeleted` (offsets and state are as planned, records at its positions are gone),
    and store errors of a door that was shut before anything was written.
    """
    with journal.claim(owner) as entry:
        told = recovery.recover(doors, entry, WayOut.FORWARD)
        earlier = journal.record_of(owner.run, plan.digest, observed_at=plan.observed_at)
        if earlier is not None and earlier.phase is Phase.APPLIED:
            if earlier.deleted:
                raise RecordsDeleted(earlier.deleted)
            return outcomes.applied_before(plan, earlier)
        entry.begin(owner)
        if plan.changed_rows() or together is not None:
            outcome = _Application(plan, doors, entry, observe, together).run()
        else:
            outcome = outcomes.unchanged(plan, owner)
            entry.note(Phase.RESTORED)
        return outcome if told is None else replace(outcome, warnings=(told, *outcome.warnings))


@dataclass(slots=True)
class _Application:
    """One application of a plan, once the connector is held."""

    plan: OffsetPlan
    doors: Doors
    entry: Entry
    observe: Observer
    together: Together | None = None
    downtime_began: float = 0.0

    @property
    def connector(self) -> str:
        return self.plan.connector

    def run(self) -> Outcome:
        started = datetime.now(tz=UTC)
        prior = self._remember()
        at_stop, plan = self._stop_and_rebase(prior)
        # By itself, since the plan was made; a reset has more to do.
        reached = not plan.changed_rows() and self.together is None
        warnings = [] if reached else self._alter(plan, at_stop)
        self._resume(prior)
        downtime = round(self.doors.clock.now() - self.downtime_began, 3)
        if reached:
            self.entry.note(Phase.RESTORED)
        else:
            warnings += self._note_applied()
        return replace(
            outcomes.unchanged(plan, self._owner) if reached else outcomes.applied(plan, self._owner, at_stop),
            prior_state=prior.value,
            final_state=prior.value,
            downtime_seconds=downtime,
            started_at=started,
            warnings=tuple(warnings),
        )

    @property
    def _owner(self) -> Owner:
        return self.entry.record.owner

    @property
    def _lost(self) -> str:
        return "" if self.entry.record.beside is None else self.entry.record.beside.lost

    def _remember(self) -> State:
        """Make the prior state durable before anything is asked of the connector."""
        status = steps.told_status(self.doors, self.connector)
        prior = steps.state_to_give_back(status)
        plan = {"digest": self.plan.digest, "observed_at": moment(self.plan.observed_at)}
        known = {**plan, "prior_state": prior, "prior_tasks": len(status.tasks)}
        beside = None if self.together is None else self.together.look()
        self.entry.note(Phase.STOPPING, **known, beside=beside)
        self.observe(Phase.STOPPING, f"{self.connector!r} is {status.state}; stopping it")
        return prior

    def _stop_and_rebase(self, prior: State) -> tuple[Offsets, OffsetPlan]:
        """Stop, read again, and fit the plan to it; whatever goes wrong here, nothing was written."""
        self.downtime_began = self.doors.clock.now()
        try:
            flow_steps.ask_to_stop(self.doors, self.entry.record.beside)
            steps.stop(self.doors, self.connector)
            flow_steps.await_stopped(self.doors, self.entry.record.beside)
            at_stop = self.doors.offsets.read_offsets(self.connector)
            self.observe(Phase.STOPPED, f"{self.connector!r} stands still")
            plan = steps.rebase(self.plan, self.doors, at_stop, moving=prior is State.RUNNING)
            positions = log_positions.observe(self.doors, plan, at_stop)
            if self.together is not None:
                self.together.at_stop(at_stop, plan)
            self.entry.note(Phase.STOPPED, prior_offsets=at_stop, changes=plan.changes(), positions=positions)
        except Overlap:  # by the heartbeat of another run, whose connector it is now
            raise
        except BaseException as error:
            self._give_back_after(error)
            self.entry.note(Phase.RESTORED)
            raise
        return at_stop, plan

    def _alter(self, plan: OffsetPlan, at_stop: Offsets) -> list[str]:
        changes, expected = plan.changes(), at_stop.updated(plan.changes())
        try:
            self.entry.note(Phase.ALTERING)
            self.observe(Phase.ALTERING, f"writing the offsets of {len(changes)} partitions of {self.connector!r}")
            reply = steps.alter(self.doors, self.connector, changes, expected=expected)
            if self.together is not None:
                self._refuse_deleted()  # before what can't be undone
            recovery.empty_beside(self.doors, self.entry)
            # Again just before the resume: a task that was thought dead may have written its own offset meanwhile.
            steps.prove(self.doors, self.connector, expected)
            self._refuse_deleted()
            self.entry.note(Phase.PROVED)
        except BaseException as error:
            self._take_back(error)
            raise
        self.observe(Phase.PROVED, f"{self.connector!r} was read back as planned")
        return [reply.message] if reply is not None and reply.externally_managed else []

    def _refuse_deleted(self) -> None:
        log_positions.refuse_deleted(self.doors, self.connector, self.entry.record.positions)

    def _note_applied(self) -> list[str]:
        """End the change, unless records that it was to deliver are gone; warnings."""
        warning = recovery.note_applied(self.doors, self.entry)
        if self.entry.record.deleted:
            raise RecordsDeleted(self.entry.record.deleted)
        return [warning] if warning else []

    def _take_back(self, error: BaseException) -> None:
        """Restore; raises :class:`NotApplied` in place of an ordinary error, and leaves an interruption as it is."""
        if isinstance(error, Overlap):  # it is another run's by now
            return
        self.observe(Phase.RESTORING, f"{error}; putting the prior offsets of {self.connector!r} back")
        self.entry.go_on_in_memory()
        gone = recovery.restore(self.doors, self.entry)
        if isinstance(error, Exception):
            raise NotApplied(
                f"The change of {self.connector!r} was not applied: {error} Its prior offsets were put back and read "
                f"back, and it is {self.entry.record.prior_state} again.{self._lost}{gone}"
            ) from error

    def _give_back_after(self, error: BaseException) -> None:
        self.observe(Phase.RESTORING, f"{error}; nothing was written, giving {self.connector!r} back as it was")
        self.entry.go_on_in_memory()
        try:
            if isinstance(error, OutcomeUnknown) or not isinstance(error, Exception):
                # The stop may still be on its way, and would come after what gives the connector back.
                flow_steps.ask_to_stop(self.doors, self.entry.record.beside)
                steps.stop(self.doors, self.connector)
            recovery.give_back_state(self.doors, self.entry)
        except ConnectOffsetsError as unreturned:
            raise LeftStopped(
                f"{self.connector!r} stays STOPPED: {error} Nothing was written, but it could not be given back: "
                f"{unreturned} Run the task again, or send PUT /connectors/{self.connector}/resume."
            ) from error

    def _resume(self, prior: State) -> None:
        """Give back the state. Where that fails, the record stays PROVED, and a retry goes on from there."""
        try:
            recovery.give_back_state(self.doors, self.entry)
        except NotRunning as error:
            self.entry.note(Phase.APPLIED)
            raise NotRunning(f"The change was applied and read back, but {error}") from error
        self.observe(Phase.APPLIED, f"{self.connector!r} is {prior} again")
