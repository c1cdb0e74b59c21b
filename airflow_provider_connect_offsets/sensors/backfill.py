"""A sensor that waits for a run's turn to rewind its connector."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.sdk import BaseSensorOperator

from airflow_provider_connect_offsets.hooks.clients import workspace_uri
from airflow_provider_connect_offsets.hooks.failures import failing_clearly
from airflow_provider_connect_offsets.hooks.runs import directory_of
from airflow_provider_connect_offsets.parameters.sensors import BackfillTurnParams
from airflow_provider_connect_offsets.parameters.taking import Models, TakesParameters

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.operations.connector.turns import RewindRun, Turn

# A queued run that took its turn was cleared since; it takes another turn when it starts.
_NOT_AT_WORK = ("success", "failed", "queued")


class BackfillTurnSensor(TakesParameters, BaseSensorOperator):
    """Wait until no other run of this DAG rewinds the connector; skip the rest if another run delivers the interval.

    If several intervals wait, the connector is rewound to the earliest, which delivers the others too: their runs are
    skipped and name that run. Fails before anything is touched if the run has no data interval, or if the interval
    begins further back than ``max_rewind``.
    """

    parameters: ClassVar[Models] = (BackfillTurnParams,)
    preset: ClassVar[dict[str, Any]] = {"mode": "reschedule", "poke_interval": 10.0}
    connector: str
    topics: str
    max_rewind: str
    part: str

    def poke(self, context: Context) -> bool:
        """Take the turn and return True, return False to wait, or skip the run."""
        from airflow_provider_connect_offsets.operations.connector.turns import Turns

        instance: Any = context["ti"]
        with failing_clearly():
            asking = self._asking(context)
            turns = Turns(workspace_uri(), dag_id=instance.dag_id, connector=self.connector)
            delivering = turns.delivering(asking)
            if delivering is not None:
                turns.note(asking)
                raise AirflowSkipException(
                    f"Nothing is left to do: run {delivering.run_id!r} rewound {self.connector!r} to "
                    f"{delivering.begins.isoformat()}, which delivers the interval {asking.interval} again too."
                )
            newest = turns.newest()
            if newest is not None and newest.is_of(asking):  # a retry
                return True
            if self._is_at_work(newest, asking, instance) or self._earlier_runs(context, asking):
                return False
            if turns.take(asking, after=newest):
                turns.note(asking)
                self.log.info("%r is rewound to %s.", self.connector, asking.interval.begins.isoformat())
                return True
        return False

    def _asking(self, context: Context) -> RewindRun:
        from airflow_provider_connect_offsets.exceptions import InvalidRequest
        from airflow_provider_connect_offsets.operations.connector.turns import Interval, RewindRun

        if not self.connector:
            raise InvalidRequest(
                "Nothing was changed: no connector is named. Give the DAG file one, like "
                'connector_offsets_backfill(params={"connector": "orders-mirror"}), or fill it in when you trigger.'
            )
        dag_run: Any = context["dag_run"]
        interval = Interval.parse(dag_run.data_interval_start, dag_run.data_interval_end)
        interval.refuse_further_than(self.max_rewind, now=datetime.now(tz=UTC))
        return RewindRun(
            run_id=dag_run.run_id,
            run_uri=directory_of(context, part=self.part).uri,
            interval=interval,
            topics=self.topics,
            started_at=dag_run.start_date,
            cleared=dag_run.clear_number or 0,
        )

    def _is_at_work(self, turn: Turn | None, asking: RewindRun, instance: Any) -> bool:
        """Whether another run, which took the last turn, may still change the connector."""
        if turn is None or turn.run_id == asking.run_id:
            return False
        if instance.get_dr_count(instance.dag_id, run_ids=[turn.run_id]) == 0:
            return False
        if instance.get_dagrun_state(instance.dag_id, turn.run_id) in _NOT_AT_WORK:
            return False
        self.log.info("Run %r is rewinding %r; waiting until it ends.", turn.run_id, self.connector)
        return True

    def _earlier_runs(self, context: Context, asking: RewindRun) -> bool:
        """Whether a run of an earlier interval is running; skips this run if one is queued, as that may wait for it."""
        instance: Any = context["ti"]
        dag_run: Any = context["dag_run"]
        running = instance.get_previous_dagrun(state="running")
        if running is not None and running.conf == dag_run.conf:
            self.log.info("Run %r of an earlier interval goes first; waiting until it ends.", running.run_id)
            return True
        queued = instance.get_previous_dagrun(state="queued")
        if queued is not None and queued.conf == dag_run.conf:
            raise AirflowSkipException(
                f"Nothing was done for the interval {asking.interval}: run {queued.run_id!r} of an earlier interval is "
                f"queued, and delivers this one again too when it rewinds {self.connector!r}. If it fails, clear it."
            )
        return False
