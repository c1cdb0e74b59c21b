"""A change in single steps."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from airflow_provider_connect_offsets.workspace.outcome import Result
from tests.support.airflow.dag_runs import Ran
from tests.support.flows.flows import RECORDS, MirrorFlow, world
from tests.support.workers.altered_answers import altering_proxy, read_back_others

RunDag = Callable[..., Ran]


def test_the_steps_end_where_the_one_task_does(mirror: MirrorFlow, run_dag: RunDag) -> None:
    """Every step succeeds, records are delivered again as planned, the outcome says applied."""
    before = mirror.target_ends()

    ran = run_dag(
        "connector_offsets_stepwise", connector=mirror.name, to="offset", value="70", kafka_conn_id="kafka_source"
    )

    assert (ran.state, set(ran.tasks.values())) == ("success", {"success"})
    mirror.wait_until_caught_up()
    assert mirror.target_ends() == {partition: end + RECORDS - 70 for partition, end in before.items()}
    assert ran.outcome is not None
    assert (ran.outcome.result, ran.outcome.final_state) == (Result.APPLIED, "RUNNING")


def test_a_step_that_fails_is_undone_by_the_teardown(
    mirror: MirrorFlow, run_dag: RunDag, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The alter's read-back disagrees: the teardown restores offsets and state, and the run fails."""
    before = world(mirror.sandbox)
    with altering_proxy(mirror.sandbox.connect.url, read_back_others(times=1)) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        lied_to = {"conn_type": "kafka_connect", "schema": "http", "host": host, "port": int(port)}
        monkeypatch.setenv("AIRFLOW_CONN_LYING", json.dumps(lied_to))

        ran = run_dag(
            "connector_offsets_stepwise",
            connector=mirror.name,
            to="earliest",
            kafka_conn_id="kafka_source",
            connect_conn_id="lying",
        )

    assert ran.state == "failed"
    assert (ran.tasks["alter"], ran.tasks["resume"], ran.tasks["restore"]) == ("failed", "upstream_failed", "success")
    before.assert_stands()
    assert ran.outcome is not None
    assert ran.outcome.result is Result.RESTORED
