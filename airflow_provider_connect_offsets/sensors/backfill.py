"""A sensor that waits for a run's turn to deliver its data interval again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.sdk import BaseSensorOperator

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.hooks.runs import directory_of
from airflow_provider_connect_offsets.hooks.settings import GuardedParameters, workspace_uri
from airflow_provider_connect_offsets.offsets.requests.window import Window
from airflow_provider_connect_offsets.parameters.backfill import BackfillTurnParams
from airflow_provider_connect_offsets.parameters.taking import Models

try:
    from airflow.sdk.exceptions import AirflowRescheduleException
except ImportError:  # before Airflow 3.2
    from airflow.exceptions import AirflowRescheduleException

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.operations.connector.turns import RewindRun, Turn, Turns

# A run that took its turn and is queued again was cleared; it takes another turn when it starts.
_NOT_AT_WORK = ("success", "failed", "queued")
_KINDS = ("rewind", "replay")
# The type (DagRunType) of a run that neither a person nor a backfill has triggered.
_SCHEDULED = "scheduled"
_NO_CONNECTOR = (
    "no connector is given. Set it in the DAG file, like "
    'connector_offsets_backfill(params={"connector": "orders-mirror"}), or fill it in when you trigger the DAG.'
)


class BackfillTurnSensor(GuardedParameters, BaseSensorOperator):
    """Wait for the window, and until no other run of this DAG is at work on the connector, or on any of several.

    If several intervals wait for a rewind, the connector is rewound to the earliest, which delivers the others too:
    their runs are skipped and name that run. Intervals that are replayed are delivered each in its own run. Fails
    before anything is touched if the run has no data interval, or if the interval begins further back than
    ``max_rewind``. A scheduled run for which no connector is named is skipped, so that a DAG which nobody has set up
    yet shows no failure.
    """

    parameters: ClassVar[Models] = (BackfillTurnParams,)
    preset: ClassVar[dict[str, Any]] = {"mode": "reschedule", "poke_interval": 10.0}
    connector: str
    connectors: str
    kind: str
    part: str

    def poke(self, context: Context) -> bool:
        """Take the turn and return True, return False to wait, or skip the run."""
        from airflow_provider_connect_offsets.operations.connector.turns import Turns

        instance: Any = context["ti"]
        with fail_clearly():
            asking = self._make_run(context)
            self._wait_for_window()
            turns = Turns(
                workspace_uri(),
                dag_id=instance.dag_id,
                connector="" if self.connectors else self.connector,
                replay=self._is_replay,
            )
            if not self._is_replay:
                self._skip_delivered(turns, asking)
            newest = turns.newest_turn()
            if newest is not None and newest.is_of(asking):  # a retry
                return True
            if newest is not None and newest.run_id == asking.run_id:  # it was cleared; earlier intervals may go first
                turns.end(newest)
            at_work = any(self._is_at_work(turn, asking, instance) for turn in (newest, *turns.other_turns()))
            if at_work or self._has_earlier_run(context, asking):
                return False
            if turns.take(asking, after=newest):
                turns.note(asking)
                self.log.info("It is this run's turn: %s of %s, %s.", self.kind, self._subject, asking.interval)
                return True
        return False

    @property
    def _is_replay(self) -> bool:
        return self.kind == "replay"

    @property
    def _subject(self) -> str:
        return f"connectors {self.connectors!r}" if self.connectors else repr(self.connector)

    def _wait_for_window(self) -> None:
        """Let Airflow call again when the window opens."""
        window, now = Window.parse(self.parse_as(BackfillTurnParams).window), datetime.now(tz=UTC)
        if window is not None and not window.has(now):
            opens = window.opens_after(now)
            self.log.info("Waiting until the window %s opens, at %s.", window, opens.isoformat())
            raise AirflowRescheduleException(opens)  # type: ignore[no-untyped-call]

    def _skip_delivered(self, turns: Turns, asking: RewindRun) -> None:
        delivering = turns.find_delivering(asking)
        if delivering is not None:
            turns.note(asking)
            raise AirflowSkipException(
                f"Nothing is left to do: run {delivering.run_id!r} rewound {self._subject} to "
                f"{delivering.begins.isoformat()}, which also delivers the interval {asking.interval} again."
            )

    def _make_run(self, context: Context) -> RewindRun:
        from airflow_provider_connect_offsets.operations.connector.turns import Interval, RewindRun

        given = self.parse_as(BackfillTurnParams)
        dag_run: Any = context["dag_run"]
        if dag_run.run_type == _SCHEDULED and not (given.connector or given.connectors):
            raise AirflowSkipException(f"Nothing was done: {_NO_CONNECTOR}")
        _refuse_unclear(given)
        interval = Interval.parse(dag_run.data_interval_start, dag_run.data_interval_end)
        interval.refuse_further_than(given.max_rewind, now=datetime.now(tz=UTC))
        return RewindRun(
            run_id=dag_run.run_id,
            run_uri=directory_of(context["ti"], part=self.part).uri,
            interval=interval,
            topics=given.topics or "",
            started_at=dag_run.start_date,
            cleared=dag_run.clear_number or 0,
            connectors=given.connectors,
        )

    def _is_at_work(self, turn: Turn | None, asking: RewindRun, instance: Any) -> bool:
        """Whether ``turn`` was taken by another run that may still be at work."""
        if turn is None or turn.ended or turn.run_id == asking.run_id:
            return False
        if instance.get_dr_count(instance.dag_id, run_ids=[turn.run_id]) == 0:
            return False
        if instance.get_dagrun_state(instance.dag_id, turn.run_id) in _NOT_AT_WORK:
            return False
        self.log.info("Run %r is working on %s. Waiting until it ends.", turn.run_id, self._subject)
        return True

    def _has_earlier_run(self, context: Context, asking: RewindRun) -> bool:
        """Whether a run of an earlier interval is running.

        If such a run is queued, this run is skipped if it is a rewind: the queued run may wait for it, and delivers
        this interval too.
        """
        instance: Any = context["ti"]
        dag_run: Any = context["dag_run"]
        running = instance.get_previous_dagrun(state="running")
        if running is not None and running.conf == dag_run.conf:
            self.log.info("Run %r of an earlier interval goes first. Waiting until it ends.", running.run_id)
            return True
        queued = None if self._is_replay else instance.get_previous_dagrun(state="queued")
        if queued is not None and queued.conf == dag_run.conf:
            raise AirflowSkipException(
                f"Nothing was done for the interval {asking.interval}: run {queued.run_id!r} of an earlier interval is "
                f"queued. When it rewinds {self._subject}, it also delivers this interval again. If that run fails, "
                "clear it."
            )
        return False


def _refuse_unclear(given: BackfillTurnParams) -> None:
    """Raise :class:`InvalidRequest` unless it is clear which connectors deliver their interval again, and how."""
    if given.kind not in _KINDS:
        raise InvalidRequest(f"Nothing was changed: mode must be {' or '.join(_KINDS)}, not {given.kind!r}.")
    if not given.connector and not given.connectors:
        raise InvalidRequest(f"Nothing was changed: {_NO_CONNECTOR}")
    if given.connector and given.connectors:
        raise InvalidRequest(
            f"Nothing was changed: both connector={given.connector!r} and connectors={given.connectors!r} are given. "
            "Leave one of them empty."
        )
    if given.kind == "replay" and given.connectors:
        raise InvalidRequest(
            "Nothing was created: mode=replay delivers the interval of one connector. Set connector instead of "
            "connectors, and give each connector its own DAG."
        )
    if given.kind == "replay" and given.partitions:
        raise InvalidRequest(
            "Nothing was created: mode=replay delivers all partitions of a topic, because Connect assigns whole "
            "topics. Leave partitions empty."
        )
