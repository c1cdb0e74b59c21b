"""Replays of data intervals under a real scheduler: the last day every night, and five days by Airflow's backfill."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_connect_offsets.workspace.layout import run_directory
from airflow_provider_connect_offsets.workspace.replay import ReplayOutcome
from sandbox import Sandbox
from sandbox.airflow import AirflowStandalone
from tests.support.airflow.scheduled import DAG_ID, Scheduled
from tests.support.flows.flows import Changer
from tests.support.flows.replays import A_DAY, DAYS, START, TODAY, Replayed, name_of

pytestmark = [pytest.mark.processes, pytest.mark.timeout(3600)]
DAG_FILE = f"""
from datetime import datetime

from airflow_provider_connect_offsets.dags import connector_offsets_backfill

dag = connector_offsets_backfill(
    start_date=datetime.fromisoformat("{START.isoformat()}"),
    params={{"connector": "%s", "mode": "replay", "kafka_conn_id": "kafka_target", "approval": False}},
)
"""


@dataclass(frozen=True)
class Nightly:
    """A sink with five days of records, whose days are replayed."""

    sink: Replayed
    scheduled: Scheduled
    workspace: Path

    def outcomes(self) -> dict[str, ReplayOutcome]:
        """The outcome of each day's run."""
        return {day: _outcome(self.workspace, run) for day, run in self.scheduled.runs().items()}


def _outcome(workspace: Path, run: dict[str, Any]) -> ReplayOutcome:
    directory = run_directory(workspace.as_uri(), dag_id=DAG_ID, run_id=run["dag_run_id"])
    outcome = ReplayOutcome.read(directory.outcome)
    assert outcome is not None
    return outcome


@pytest.fixture
def nightly(sandbox: Sandbox, tmp_path: Path) -> Iterator[Nightly]:
    workspace, dags = tmp_path / "workspace", tmp_path / "dags"
    spark: Any = None  # the DAG plans
    sink = Replayed.sink(sandbox, Changer(spark, workspace.as_uri(), sandbox.connect.url, sandbox.target))
    dags.mkdir()
    (dags / f"{DAG_ID}.py").write_text(DAG_FILE % sink.name)
    airflow = AirflowStandalone(sandbox, workspace=workspace, dags=dags)
    real = Scheduled.started(airflow, START, TODAY)
    yield Nightly(sink, real, workspace)
    print(real.at_its_end())  # noqa: T201 - shown by pytest if the test fails
    airflow.close()
    sandbox.connect.delete(sink.name)


def test_each_interval_is_delivered_in_its_own_run(nightly: Nightly) -> None:
    """Exactly its records, and what came beyond is counted: the file has no record that no run reports."""
    last = {name_of(DAYS - 1)}
    nightly.scheduled.wait_until_succeeded(last)
    first = nightly.outcomes()

    nightly.scheduled.backfill()
    nightly.scheduled.wait_for(cleared=0, timeout=900)

    outcomes, written = nightly.outcomes(), nightly.sink.delivered()
    # The first day's records are in both partitions.
    expected = {name_of(day): 2 * A_DAY if day == 0 else A_DAY for day in range(DAYS)}
    assert {day: outcome.delivered_count for day, outcome in outcomes.items()} == expected
    every = [*first.values(), *outcomes.values()]
    again = sum(outcome.delivered_count + (outcome.beyond_count or 0) for outcome in every)
    assert sum(written.values()) == (DAYS + 1) * A_DAY + again
    assert all(written[day] >= 2 * count for day, count in expected.items())
    assert nightly.sink.left() == []
