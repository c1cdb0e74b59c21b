"""Stages of a connector's offsets: write them while it is STOPPED, and look at what it resumed on."""

from __future__ import annotations

import logging
from collections.abc import Callable

from airflow_provider_connect_offsets.connect.protocols import State, WriteReply
from airflow_provider_connect_offsets.exceptions import (
    Interfered,
    LeftStopped,
    NotApplied,
    NotStopped,
    NotUndone,
    OutcomeUnknown,
    StoreError,
    UnknownConnector,
)
from airflow_provider_connect_offsets.observe import log_positions
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.operations.stages.captured import (
    ALTER,
    CONNECTIONS,
    LOOK,
    Alteration,
    PriorState,
    by_hand,
    then,
)
from airflow_provider_connect_offsets.operations.stages.connector_stages import (
    ResumeConnector,
    StopConnector,
    deleted,
)
from airflow_provider_connect_offsets.saga.stage import (
    Captures,
    Done,
    Found,
    JsonMap,
    Kind,
    Stage,
    StageState,
    Undoing,
    stage_name,
)

log = logging.getLogger(__name__)
# Called with the offsets at which the connector is stopped and the plan that fits them, before anything is written.
AtStop = Callable[[Offsets, OffsetPlan], None]


class AlterOffsets(Stage):
    """Write changes of a STOPPED connector's offsets, and prove them; undone, what stood there is proved again.

    plan: what is written, fitted to the offsets at which the connector is stopped; a later process needs none.
    at_stop: told where it stands then. ``fitted``: the plan as it was fitted, once that is captured.
    """

    title = ALTER
    kind = Kind.UNDOABLE

    def __init__(
        self, connector: str, clients: Clients, plan: OffsetPlan | None = None, *, at_stop: AtStop | None = None
    ) -> None:
        super().__init__(connector, cluster=clients.cluster)
        self._clients = clients
        self._plan = plan
        self._at_stop = at_stop
        self.fitted: OffsetPlan | None = None

    def spec(self) -> JsonMap:
        """The connections."""
        return {CONNECTIONS: dict(self._clients.connections)}

    def capture(self, earlier: Captures) -> JsonMap:
        """All offsets, the changes that fit them, and positions in logs; raises :class:`Drift` and store errors."""
        if self._plan is None:
            raise ValueError(f"{self.name} was not begun, and only the run that has its plan can begin it")
        before = PriorState.before(earlier, self.subject, cluster=self.cluster)
        at_stop = self._clients.offsets.read_offsets(self.subject)
        plan = steps.rebase(self._plan, self._clients, at_stop, moving=before.state is State.RUNNING)
        positions = log_positions.observe(self._clients, plan, at_stop)
        if self._at_stop is not None:
            self._at_stop(at_stop, plan)
        self.fitted = plan
        return Alteration(before.state, at_stop, plan.changes(), positions).as_json()

    def do(self, captured: JsonMap) -> Done:
        """Write, and read back; raises :class:`NotApplied`."""
        found = Alteration.of(captured)
        reply = self.write(found)
        return Done((reply.message,) if reply is not None and reply.externally_managed else ())

    def write(self, found: Alteration) -> WriteReply | None:
        """Write and prove the changes."""
        return steps.alter(self._clients, self.subject, found.changes, expected=found.expected)

    def find(self, captured: JsonMap) -> StageState:
        """Whether the changes stand, and the records at their positions are there."""
        found = Alteration.of(captured)
        try:
            is_resumed = self._is_resumed()
        except UnknownConnector as error:
            return StageState(Found.FOREIGN, deleted(error))
        if is_resumed:
            return StageState(Found.FOREIGN, Interfered(f"Someone else resumed the connector {self.subject!r}."))
        try:
            steps.prove(self._clients, self.subject, found.expected)
        except NotApplied as error:
            return StageState(Found.PARTIAL, error)
        gone = log_positions.requested_gone(self._clients, found.positions)
        return StageState(Found.PARTIAL, log_positions.drift(self.subject, gone)) if gone else StageState(Found.DONE)

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Put back what stood there, and prove it.

        Returns a sentence about records at the prior positions that are gone by now. Raises :class:`LeftStopped` where
        the offsets can't be proved, and where resuming on them would skip records that were there at the stop, and
        :class:`Interfered` where someone else has resumed the connector, :class:`NotUndone` of these where nothing was
        written before.
        """
        found = Alteration.of(captured)
        self._put_back(found, undoing)
        gone = self._prior_gone(found)
        if gone and found.prior_state is State.RUNNING:
            raise LeftStopped(
                f"{self.subject!r} stays STOPPED: its prior offsets were put back and read back, but records at them "
                f"were deleted while it was STOPPED: {gone} Resumed, it goes on where auto.offset.reset decides. To "
                f"accept that, send PUT /connectors/{self.subject}/resume; to choose another position, do so and plan "
                "anew."
            )
        return f" Records at its prior positions were deleted meanwhile: {gone}" if gone else ""

    def _put_back(self, found: Alteration, undoing: Undoing) -> None:
        try:
            if _is_refused(undoing.error) and self._reads(found.prior):
                return
            kind: type[Interfered] = NotUndone
            for attempt in steps.until_it_stands(self._clients):
                with attempt:
                    self._refuse_if_resumed(found, undoing, kind)
                    # Even where all reads as before: the write that was given up may still be on its way, and Connect
                    # carries this one out behind it.
                    try:
                        steps.alter(self._clients, self.subject, found.back, expected=found.prior)
                    except NotApplied as error:
                        # Connect refuses one that is not STOPPED before it writes anything.
                        kind = kind if isinstance(error.__cause__, NotStopped) else Interfered
                        raise
                    kind = Interfered
                    # Once more: one that was overtaken all the same would show up now.
                    steps.prove(self._clients, self.subject, found.prior)
        except UnknownConnector as error:
            raise Interfered(
                f"{error} Someone has deleted it while its offsets were changed, so nobody can tell where it begins if "
                "it is created anew. To have its prior offsets then, create it as STOPPED and "
                f"{by_hand(self._clients, self.subject, found, undoing)}."
            ) from error
        except (StoreError, NotApplied) as error:
            way = by_hand(self._clients, self.subject, found, undoing) + then(self._clients, self.subject, found)
            raise LeftStopped(
                f"{self.subject!r} stays STOPPED: neither the plan nor its prior offsets could be proved. {error} To "
                f"put the prior offsets back: run the task again, or {way}."
            ) from error

    def _refuse_if_resumed(self, found: Alteration, undoing: Undoing, kind: type[Interfered]) -> None:
        """Raise an error of that kind for a connector that runs again: nothing can be written then."""
        if self._is_resumed():
            raise kind(
                f"The change of {self.subject!r} was under way when someone else resumed the connector; its offsets "
                "are left as they are now. To go back to what they were, stop the connector and "
                f"{by_hand(self._clients, self.subject, found, undoing)}."
            )

    def _is_resumed(self) -> bool:
        return steps.lasting_status(self._clients, self.subject).state is not State.STOPPED

    def _reads(self, expected: Offsets) -> bool:
        return not steps.differences(self._clients.offsets.read_offsets(self.subject), expected)

    def _prior_gone(self, found: Alteration) -> str:
        """Name the prior positions whose records were deleted since the stop; empty where nobody can tell."""
        try:
            return log_positions.described(self.subject, log_positions.prior_gone(self._clients, found.positions))
        except StoreError as error:
            # The prior offsets are proved, and brokers that do not answer are no reason to keep a connector down.
            log.warning("%s So nobody knows whether records at the prior positions were deleted.", error)
            return ""


class CheckRecords(Stage):
    """Look once more, after the resume, whether the records at the new positions are there; undoes nothing.

    Its fact ``deleted`` is a sentence that says which are not, and is empty where all are, or nobody could look.
    """

    title = LOOK
    kind = Kind.PROOF

    def __init__(self, connector: str, clients: Clients) -> None:
        super().__init__(connector, cluster=clients.cluster)
        self._clients = clients

    def spec(self) -> JsonMap:
        """The connections."""
        return {CONNECTIONS: dict(self._clients.connections)}

    def capture(self, earlier: Captures) -> JsonMap:
        """What was altered, and the state that the connector has again."""
        return dict(earlier[stage_name(ALTER, self.subject, cluster=self.cluster)])

    def do(self, captured: JsonMap) -> Done:
        """Look."""
        found = Alteration.of(captured)
        try:
            gone = log_positions.described(self.subject, log_positions.requested_gone(self._clients, found.positions))
        except StoreError as error:
            return Done(
                (f"{error} So nobody knows whether records at the positions of {self.subject!r} were deleted.",)
            )
        if not gone:
            return Done()
        deleted = (
            f"The offsets of {self.subject!r} were changed and read back, and it is {found.prior_state} again, but "
            f"records at its positions were deleted as it resumed: {gone} What it had not read of them by then can't "
            "be delivered any more. Compare what has arrived, and raise retention.ms of the topic before a new run."
        )
        return Done(facts={"deleted": deleted})

    def find(self, captured: JsonMap) -> StageState:
        """Nothing is ever undone for it."""
        del captured
        return StageState(Found.DONE)


def change_stages(
    plan: OffsetPlan, clients: Clients, *, at_stop: AtStop | None = None
) -> tuple[StopConnector, AlterOffsets, ResumeConnector, CheckRecords]:
    """Stages of a change: stop, alter, resume in the prior state, look at the records."""
    return (
        StopConnector(plan.connector, clients),
        AlterOffsets(plan.connector, clients, plan, at_stop=at_stop),
        ResumeConnector(plan.connector, clients),
        CheckRecords(plan.connector, clients),
    )


def _is_refused(error: BaseException | None) -> bool:
    """Whether the store refused a write, so that nothing of it is on its way."""
    said = error and (error.__cause__ or error)
    return isinstance(said, StoreError) and not isinstance(said, OutcomeUnknown)
