"""Rewinds to the start of data intervals, under a real scheduler: catchup, and Airflow's backfill command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from sandbox import Sandbox, wait_for
from sandbox.airflow import AirflowStandalone
from sandbox.connectors import file_sink_config
from tests.support.airflow.dag_runs import Ran
from tests.support.airflow.scheduled import DAG_ID, Scheduled

A_DAY = 10
DAYS = 3
TODAY = datetime.now(tz=UTC).replace(hour=0, minute=0, second=0, microsecond=0)
START = TODAY - timedelta(days=DAYS)
DAG_FILE = f"""
from datetime import datetime

from airflow_provider_connect_offsets.dags import connector_offsets_backfill

dag = connector_offsets_backfill(
    start_date=datetime.fromisoformat("{START.isoformat()}"),
    catchup=True,
    max_active_runs=2,
    params={{"connector": "%s", "kafka_conn_id": "kafka_target", "approval": False}},
)
"""


@dataclass(frozen=True)
class Daily:
    """A sink of a topic with ten records a day: one day before ``START``, those from then on, and today."""

    sandbox: Sandbox
    name: str
    file: Path

    def written(self) -> Counter[str]:
        """Return how many records of each day were delivered."""
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        return Counter(line.partition(" ")[0] for line in lines)

    def wait_for(self, times: int) -> None:
        """Wait until each day from START on was delivered so many times; the day before only once."""
        expected = {_name(day): A_DAY * (times if day >= 0 else 1) for day in range(-1, DAYS + 1)}
        wait_for(self.written, expected, 60, f"not delivered {times} times", progress=self.sandbox.connect.work)


def _name(day: int) -> str:
    return (START + timedelta(days=day)).date().isoformat()


@pytest.fixture
def daily(sandbox: Sandbox) -> Iterator[Daily]:
    mark = uuid4().hex[:8]
    sink = Daily(sandbox, f"daily-{mark}", sandbox.data / f"daily-{mark}.txt")
    sandbox.target.create_topic(sink.name)
    for day in range(-1, DAYS + 1):
        noon = int((START + timedelta(days=day)).timestamp() * 1000)
        values = [f"{_name(day)} {number}" for number in range(A_DAY)]
        sandbox.target.produce(sink.name, values, timestamps=[noon] * A_DAY)
    sandbox.connect.create(sink.name, file_sink_config(sink.name, sink.file))
    sink.wait_for(1)
    yield sink
    sandbox.connect.delete(sink.name)


@pytest.fixture
def scheduled(sandbox: Sandbox, daily: Daily, tmp_path: Path) -> Iterator[Scheduled]:
    dags = tmp_path / "dags"
    dags.mkdir()
    (dags / f"{DAG_ID}.py").write_text(DAG_FILE % daily.name)
    airflow = AirflowStandalone(sandbox, workspace=tmp_path / "workspace", dags=dags)
    real = Scheduled.started(airflow, START, TODAY)
    yield real
    print(real.at_its_end())  # noqa: T201 - shown by pytest if the test fails
    airflow.close()


@pytest.mark.processes
@pytest.mark.timeout(3600)
def test_each_time_all_intervals_are_delivered_once_more(daily: Daily, scheduled: Scheduled) -> None:
    """Catchup, a backfill and a backward backfill: one run rewinds to the earliest interval, the others are skipped."""
    scheduled.wait_for(cleared=0)
    daily.wait_for(2)
    first = scheduled.runs()[_name(0)]["dag_run_id"]
    assert scheduled.turns() == {_name(0): "success", _name(1): "skipped", _name(2): "skipped"}
    for day in (1, 2):
        log = scheduled.log(scheduled.runs()[_name(day)]["dag_run_id"], "turn")
        assert f"Nothing is left to do: run '{first}' rewound '{daily.name}' to {START.isoformat()}" in log

    scheduled.backfill()
    scheduled.wait_for(cleared=1)
    daily.wait_for(3)
    assert scheduled.turns() == {_name(0): "success", _name(1): "skipped", _name(2): "skipped"}

    scheduled.backfill("--run-backwards", "--max-active-runs", "1")
    scheduled.wait_for(cleared=2)
    daily.wait_for(4)
    assert scheduled.turns() == {_name(0): "success", _name(1): "skipped", _name(2): "skipped"}
    log = scheduled.log(scheduled.runs()[_name(2)]["dag_run_id"], "turn")
    assert "of an earlier interval is queued. When it rewinds" in log


def test_a_run_without_a_connector_fails_before_anything_is_touched(run_dag: Callable[..., Ran]) -> None:
    """The ready DAG has none until its file names one."""
    ran = run_dag(DAG_ID)

    assert (ran.state, ran.tasks["turn"]) == ("failed", "failed")
    assert "Nothing was changed: no connector is given." in ran.output
