"""A change in single steps."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from airflow_provider_connect_offsets.offsets.document import parse_kip199
from airflow_provider_connect_offsets.workspace.files import read_bytes
from airflow_provider_connect_offsets.workspace.outcome import Approval, Result
from tests.support.airflow.dag_runs import Ran, params_of
from tests.support.flows.flows import RECORDS, MirrorFlow, world
from tests.support.workers.altered_answers import altering_proxy, read_back_others

RunDag = Callable[..., Ran]


def test_the_steps_end_where_the_one_task_does(
    mirror: MirrorFlow, run_dag: RunDag, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records are delivered again as planned; the outcome says applied, who approved it, and how to undo it."""
    before, stored = mirror.target_ends(), mirror.sandbox.connect.stored_offsets(mirror.name)
    answer = Approval("Approve", "ada", datetime(2026, 1, 31, tzinfo=UTC), "bob")
    monkeypatch.setattr(Approval, "read", lambda _: answer)

    ran = run_dag(
        "connector_offsets_stepwise", connector=mirror.name, to="offset", value="70", kafka_conn_id="kafka_source"
    )

    assert (ran.state, set(ran.tasks.values())) == ("success", {"success"})
    mirror.wait_until_caught_up()
    assert mirror.target_ends() == {partition: end + RECORDS - 70 for partition, end in before.items()}
    assert ran.outcome is not None
    assert (ran.outcome.result, ran.outcome.final_state) == (Result.APPLIED, "RUNNING")
    assert ran.outcome.approval == answer
    [moved] = {one.before for one in ran.outcome.offsets}
    back = params_of(ran.outcome.undo, "connector_offsets_change")
    [undone] = {entry.offset for entry in parse_kip199(json.loads(read_bytes(back["value"]) or b""))[mirror.name]}
    assert back["connector"] == mirror.name
    assert moved == undone == json.dumps(stored[0], separators=(",", ":"))


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
