"""Stages that write a connector's offsets while it is STOPPED, and check later that the records at them exist."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo, State, WriteReply
from airflow_provider_connect_offsets.exceptions import (
    Drift,
    Interfered,
    LeftStopped,
    NotApplied,
    NotStopped,
    NotUndone,
    OutcomeUnknown,
    StoreError,
    UnknownConnector,
)
from airflow_provider_connect_offsets.masking import MASK
from airflow_provider_connect_offsets.observe import log_positions, slots
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.families import ConnectorType, Sink
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.offsets.requests.guards import Named
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.operations.stages.captured import (
    ALTER,
    Alteration,
    PriorState,
    by_hand,
    describe_resume,
)
from airflow_provider_connect_offsets.operations.stages.check_records import CheckRecords
from airflow_provider_connect_offsets.operations.stages.connector_stages import (
    ResumeConnector,
    StopConnector,
    deletion_error,
)
from airflow_provider_connect_offsets.operations.stages.handling import handling
from airflow_provider_connect_offsets.operations.stages.reached import ConnectorStage
from airflow_provider_connect_offsets.saga import Captures, Done, Found, JsonMap, Kind, StageState, Undoing

log = logging.getLogger(__name__)
# Called with the offsets at the stop and the plan fitted to them, before anything is written.
AtStop = Callable[[Offsets, OffsetPlan], None]


class AlterOffsets(ConnectorStage):
    """Writes changes of a STOPPED connector's offsets, and reads them back; the undo does so with the prior offsets.

    Args:
        connector: Its name.
        clients: Clients of its Connect cluster.
        plan: The change; None in a later process, which reads the journal instead.
        at_stop: Called before anything is written.
        optional: True if the stage counts as done once the connector is deleted, which a later stage does.

    Attributes:
        fitted: The plan fitted to the offsets at the stop; None until they are captured.
    """

    title = ALTER
    kind = Kind.UNDOABLE
    arguments = ("optional",)

    def __init__(
        self,
        connector: str,
        clients: Clients,
        plan: OffsetPlan | None = None,
        *,
        at_stop: AtStop | None = None,
        optional: bool = False,
    ) -> None:
        super().__init__(connector, clients)
        self._plan = plan
        self._at_stop = at_stop
        self.optional = optional
        self.fitted: OffsetPlan | None = None
        self._handling = handling(clients)
        self._proof_lasts_until = 0.0

    def changed_names(self) -> Iterable[tuple[Named, str]]:
        """Return the connector or group, and the topics in which a position changes."""
        rows = self._plan.changed_rows() if self._plan is not None else ()
        topics = dict.fromkeys(row.topic for row in rows if row.topic is not None)
        return [*super().changed_names(), *((Named.TOPIC, topic) for topic in topics)]

    def spec(self) -> JsonMap:
        """Return the specification of the base class, and whether the offsets are a consumer group's."""
        return {**super().spec(), **self._handling.spec}

    def capture(self, earlier: Captures) -> JsonMap:
        """Capture an :class:`Alteration`; raises :class:`Drift` and store errors."""
        if self._plan is None:
            raise ValueError(f"{self.name} has not begun, and only the run that has its plan can begin it")
        before = PriorState.before(earlier, self.subject, cluster=self.cluster)
        self._handling.require_down(self._clients, self.subject)
        at_stop = self._read_at_stop(self._plan)
        steps.refuse_reconfigured(self.subject, self._plan.config, self._clients)
        plan = steps.rebase(self._plan, self._clients, at_stop, moving=before.state is State.RUNNING)
        positions = log_positions.observe(self._clients, plan, at_stop)
        slots.refuse_unsent(self._clients, plan)
        if self._at_stop is not None:
            self._at_stop(at_stop, plan)
        self.fitted = plan
        changes = self._handling.to_write(plan.changes(), at_stop)
        return Alteration(before.state, at_stop, changes, positions).as_json()

    def _read_at_stop(self, plan: OffsetPlan) -> Offsets:
        """Read the offsets; by Strimzi's resources (``ConnectStrimzi``), again if a changed partition has no offset."""
        offsets = self._clients.offsets.read_offsets(self.subject)
        is_known = {row.partition for row in plan.changed_rows()} <= offsets.by_partition().keys()
        if is_known or not self._handling.reads_twice:
            return offsets
        return self._clients.offsets.read_offsets(self.subject)

    def do(self, captured: JsonMap) -> Done:
        """Write the changes, and read them back; raises :class:`NotApplied`."""
        reply = self.write(Alteration.from_json(captured))
        self._proof_lasts_until = self._clients.clock.now() + self._handling.proof_lasts
        return Done((reply.message,) if reply is not None and reply.externally_managed else ())

    def write(self, alteration: Alteration) -> WriteReply | None:
        """Write the changes and read them back. Return the store's reply; None without a change or without a reply."""
        return steps.alter(self._clients, self.subject, alteration.changes, expected=alteration.expected_offsets)

    def find(self, captured: JsonMap) -> StageState:
        """Return DONE if the changes are stored, and the records at their positions exist."""
        alteration = Alteration.from_json(captured)
        try:
            if self._is_resumed(alteration):
                return StageState(Found.FOREIGN, Interfered(f"{self.subject!r}: {self._handling.interference}."))
            if self._clients.clock.now() >= self._proof_lasts_until:
                steps.prove(self._clients, self.subject, alteration.expected_offsets)
        except UnknownConnector as error:  # a worker knows the state of a deleted connector for a moment longer
            return StageState(Found.DONE) if self.optional else StageState(Found.FOREIGN, deletion_error(error))
        except NotApplied as error:
            return StageState(Found.PARTIAL, error)
        gone = log_positions.list_requested_gone(self._clients, alteration.positions)
        return StageState(Found.PARTIAL, log_positions.drift(self.subject, gone)) if gone else StageState(Found.DONE)

    def stands(self, captured: JsonMap) -> StageState:
        """Return DONE while the changes are stored; once it may have run, unless an offset is gone or went back."""
        alteration = Alteration.from_json(captured)
        try:
            family = self._clients.control.info(self.subject).family
            stored = self._clients.offsets.read_offsets(self.subject).by_partition()
            is_down = self._clients.control.status(self.subject).state is State.STOPPED
        except UnknownConnector as error:
            if self.optional or not any(change.offset for change in alteration.changes):
                return StageState(Found.DONE)
            return StageState(Found.FOREIGN, Drift(f"{error} Someone has deleted it since."))
        may_move = not is_down or alteration.prior_state is not State.STOPPED
        for change in alteration.changes:
            now, wanted = stored.get(change.partition), change.offset
            is_before = _is_before(family.position_in(now), family.position_in(wanted))
            if now != wanted and (not may_move or is_before or (now is None and wanted is not None)):
                return StageState(
                    Found.FOREIGN,
                    Drift(
                        f"{self.subject!r}, partition {change.partition}, is at {now or 'no offset'}, but was at "
                        f"{wanted or 'no offset'} after the change."
                    ),
                )
        return StageState(Found.DONE)

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Restore the prior offsets, and verify them by reading them back.

        Returns:
            A sentence about records at the prior positions that were deleted meanwhile; empty if none were.

        Raises:
            LeftStopped: The prior offsets can't be verified, or resuming on them would skip deleted records.
            Interfered: Someone else has resumed or deleted the connector.
            NotUndone: Someone else has resumed it, and this undo has written nothing.
        """
        alteration = Alteration.from_json(captured)
        self._restore(alteration, undoing)
        gone = self._describe_prior_gone(alteration)
        if gone and alteration.prior_state is State.RUNNING:
            raise LeftStopped(
                f"{self.subject!r} stays STOPPED: its prior offsets were restored and read back, but the records there "
                f"were deleted while it was STOPPED: {gone} If you resume it, auto.offset.reset decides where it "
                f"continues. To accept that, {self._clients.control.by_hand(self.subject, State.RUNNING)}. To choose "
                "another position, resume it in the same way first, then plan again."
            )
        return f" Records at its prior positions were deleted meanwhile: {gone}" if gone else ""

    def _restore(self, alteration: Alteration, undoing: Undoing) -> None:
        try:
            if _is_refused(undoing.error) and self._reads(alteration.prior_offsets):
                return
            kind: type[Interfered] = NotUndone
            for attempt in steps.attempts_to_restore(self._clients):
                with attempt:
                    self._refuse_if_resumed(alteration, undoing, kind)
                    # Even if the prior offsets are read back: the write that was given up may still be in flight, and
                    # Connect carries this one out after it.
                    try:
                        changes, expected = alteration.undoing_changes, alteration.prior_offsets
                        steps.alter(self._clients, self.subject, changes, expected=expected)
                    except NotApplied as error:
                        # Connect refuses a connector that is not STOPPED before it writes anything.
                        kind = kind if isinstance(error.__cause__, NotStopped) else Interfered
                        raise
                    kind = Interfered
                    # Prove it once more: an earlier write that was carried out late would show now.
                    steps.prove(self._clients, self.subject, alteration.prior_offsets)
        except UnknownConnector as error:
            raise Interfered(
                f"{error} Someone has deleted it while its offsets were being changed, so it is unknown where it "
                "begins if it is created again. To restore its prior offsets, create it as STOPPED and "
                f"{by_hand(self._clients, self.subject, alteration, undoing)}."
            ) from error
        except (StoreError, NotApplied) as error:
            repair = by_hand(self._clients, self.subject, alteration, undoing)
            repair += describe_resume(self._clients, self.subject, alteration)
            raise LeftStopped(
                f"{self._handling.describe_what_stays_down(self.subject)}: neither the planned nor the prior offsets "
                f"could be verified. {error} To restore the prior offsets, run the task again, or {repair}."
            ) from error

    def _refuse_if_resumed(self, alteration: Alteration, undoing: Undoing, kind: type[Interfered]) -> None:
        """Raise an error of this kind for a connector that runs again, because nothing can be written then."""
        if self._is_resumed(alteration):
            raise kind(
                f"The change of {self.subject!r} was under way when {self._handling.interference}. Its offsets are "
                "left as they are now. To restore the prior offsets, "
                f"{self._clients.control.by_hand(self.subject, State.STOPPED)} and "
                f"{by_hand(self._clients, self.subject, alteration, undoing)}."
            )

    def _is_resumed(self, alteration: Alteration) -> bool:
        if steps.await_lasting_status(self._clients, self.subject).state is not State.STOPPED:
            return True
        return self._handling.has_run(
            self._clients, self.subject, prior=alteration.prior_offsets, expected=alteration.expected_offsets
        )

    def _reads(self, expected: Offsets) -> bool:
        return not steps.differences(self._clients.offsets.read_offsets(self.subject), expected)

    def _describe_prior_gone(self, alteration: Alteration) -> str:
        """Describe the prior positions whose records were deleted since the stop; empty if that is unknown."""
        try:
            return log_positions.describe_gone(
                self.subject, log_positions.list_prior_gone(self._clients, alteration.positions)
            )
        except StoreError as error:
            # The prior offsets are verified. If brokers don't answer, that does not keep the connector down.
            log.warning("%s It is unknown whether records at the prior positions were deleted.", error)
            return ""


def change_stages(
    plan: OffsetPlan, clients: Clients, *, at_stop: AtStop | None = None
) -> tuple[StopConnector, AlterOffsets, ResumeConnector, CheckRecords]:
    """Return the stages of a change: stop, alter, resume in the prior state, check the records."""
    return (
        StopConnector(plan.connector, clients, for_offsets=True, known=_known(plan)),
        AlterOffsets(plan.connector, clients, plan, at_stop=at_stop),
        ResumeConnector(plan.connector, clients),
        CheckRecords(plan.connector, clients),
    )


def _known(plan: OffsetPlan) -> ConnectorInfo | None:
    """Return the configuration that the plan was made from; :class:`AlterOffsets` refuses any other.

    None if it is unknown: a group whose name looks like a login is masked in it.
    """
    if plan.config is None or any(MASK in value for value in plan.config.values()):
        return None
    of_sink = isinstance(plan.family, Sink)
    return ConnectorInfo(plan.connector, ConnectorType.SINK if of_sink else ConnectorType.SOURCE, plan.config)


def group_stages(plan: OffsetPlan, clients: Clients) -> tuple[AlterOffsets, CheckRecords]:
    """Return the stages of a change of a consumer group: it must have no members, and nothing is stopped or resumed."""
    return AlterOffsets(plan.connector, clients, plan), CheckRecords(plan.connector, clients)


def _is_before(now: int | None, wanted: int | None) -> bool:
    """Whether both positions are known, and the first is lower."""
    return now is not None and wanted is not None and now < wanted


def _is_refused(error: BaseException | None) -> bool:
    """Whether the store refused a write, so that it is not in flight."""
    reply = error and (error.__cause__ or error)
    return isinstance(reply, StoreError) and not isinstance(reply, OutcomeUnknown)
